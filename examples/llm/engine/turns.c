#include "examples/llm/engine/turns.h"
#include <pthread.h>
#include <stdbool.h>

enum { SESSIONS = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static etrt_session *joined[SESSIONS];
static int count, running;
static bool changing, full; /* FULL: there were more than there is room for */
static etrt_residence *shared;
/* Who came first is first. */
static unsigned long next_turn, now;

/* ---- with the lock held ---- */

/* COUNT where it is none of them. */
static int place_of(const etrt_session *s) {
    int i = 0;
    while (i < count && joined[i] != s)
        i++;
    return i;
}

/* No launch runs, and none begins until `share`. The lock is let go meanwhile. */
static void stop_all(void) {
    while (changing)
        pthread_cond_wait(&changed, &lock);
    changing = true;
    while (running)
        pthread_cond_wait(&changed, &lock);
    etrt_residence_close(shared);
    shared = NULL;
}

static void share(void) {
    if (count > 1 && !full) etrt_residence_open_each(joined, NULL, count, &shared);
    changing = false;
    pthread_cond_broadcast(&changed);
}

/* ---- */

void turns_begin(void) {
    etrt_devices_share(1);
}

void turns_join(etrt_session *s) {
    pthread_mutex_lock(&lock);
    stop_all();
    full = full || count == SESSIONS;
    if (!full) joined[count++] = s;
    share();
    pthread_mutex_unlock(&lock);
}

void turns_leave(etrt_session *s) {
    pthread_mutex_lock(&lock);
    if (place_of(s) < count) {
        stop_all();
        joined[place_of(s)] = joined[count - 1];
        count--;
        share();
    }
    pthread_mutex_unlock(&lock);
}

int turns_are_shared(void) {
    pthread_mutex_lock(&lock);
    bool is = shared != NULL;
    pthread_mutex_unlock(&lock);
    return is;
}

void turns_take(void) {
    pthread_mutex_lock(&lock);
    unsigned long mine = next_turn++;
    while (mine != now || changing || (running && !shared))
        pthread_cond_wait(&changed, &lock);
    now++;
    running++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void turns_give(void) {
    pthread_mutex_lock(&lock);
    running--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}
