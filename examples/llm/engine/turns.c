#include "examples/llm/engine/turns.h"
#include <pthread.h>

/* Who came first is first. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned long next_turn, now;

void turns_take(void) {
    pthread_mutex_lock(&lock);
    unsigned long mine = next_turn++;
    while (mine != now)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

void turns_give(void) {
    pthread_mutex_lock(&lock);
    now++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}
