/* Being told that a launch has ended: a thread of the session's own waits for it, and then writes
 * to a descriptor and calls back. While it waits the ticket and what is known of the launch's
 * silence are that thread's; etrt_wait asks for them back first. */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/base/error.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

struct etrt_watch {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum { IDLE, WATCHING, ENDED } state;
    bool quit;
    int fd;
    etrt_done tell;
    void *user;
};

static void *watch(void *of) {
    etrt_session *s = of;
    struct etrt_watch *w = s->watch;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->state != WATCHING && !w->quit)
            pthread_cond_wait(&w->changed, &w->lock);
        if (w->state != WATCHING) break;
        pthread_mutex_unlock(&w->lock);
        etrt_launch_look(s->model->device, s->ticket, s->wait_limit, &s->patience, INFINITY);
        pthread_mutex_lock(&w->lock);
        w->state = ENDED;
        etrt_done tell = w->tell;
        void *user = w->user;
        eventfd_write(w->fd, 1);
        pthread_cond_broadcast(&w->changed);
        if (!tell) continue;
        pthread_mutex_unlock(&w->lock);
        tell(user);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Signals are for the program's own threads. */
static int start_thread(etrt_session *s, struct etrt_watch *w) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&w->thread, NULL, watch, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static etrt_status begin(etrt_session *s) {
    if (s->watch) return ETRT_OK;
    struct etrt_watch *w = calloc(1, sizeof *w);
    if (!w) return etrt_no_memory();
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&w->lock, NULL);
    w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int error = w->fd < 0 ? errno : 0;
    s->watch = w;
    if (!error) error = start_thread(s, w);
    if (!error) return ETRT_OK;
    if (w->fd >= 0) close(w->fd);
    s->watch = NULL;
    free(w);
    return etrt_fail(ETRT_NO_MEMORY, "cannot watch launches: %s", strerror(error));
}

/* A child of fork has the descriptor, and neither the thread nor a lock it could take. */
void etrt_watch_end(etrt_session *s) {
    struct etrt_watch *w = s->watch;
    if (!w) return;
    if (etrt_device_owned(s->model->device)) {
        pthread_mutex_lock(&w->lock);
        w->quit = true;
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
        pthread_cond_destroy(&w->changed);
        pthread_mutex_destroy(&w->lock);
    }
    close(w->fd);
    free(w);
    s->watch = NULL;
}

void etrt_watch_launch(etrt_session *s) {
    struct etrt_watch *w = s->watch;
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->state = WATCHING;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* The clock of conditions is that of etrt_now. */
static struct timespec clock_at(double seconds) {
    time_t whole = (time_t)seconds;
    return (struct timespec){.tv_sec = whole, .tv_nsec = (long)((seconds - (double)whole) * 1e9)};
}

bool etrt_watch_has(etrt_session *s, bool *out_ended) {
    struct etrt_watch *w = s->watch;
    if (!w) return false;
    pthread_mutex_lock(&w->lock);
    bool has = w->state != IDLE;
    *out_ended = w->state == ENDED;
    pthread_mutex_unlock(&w->lock);
    return has;
}

bool etrt_watch_yield(etrt_session *s, double seconds) {
    struct etrt_watch *w = s->watch;
    if (!w) return true;
    const double century = 3e9;
    struct timespec until = clock_at(etrt_now() + (seconds < century ? seconds : century));
    eventfd_t told;
    pthread_mutex_lock(&w->lock);
    while (w->state == WATCHING &&
           pthread_cond_timedwait(&w->changed, &w->lock, &until) != ETIMEDOUT)
        continue;
    bool mine = w->state != WATCHING;
    if (mine) {
        w->state = IDLE;
        eventfd_read(w->fd, &told);
    }
    pthread_mutex_unlock(&w->lock);
    return mine;
}

etrt_status etrt_session_fd(etrt_session *s, int *out_fd) {
    if (!out_fd) return etrt_fail(ETRT_INVALID, "etrt_session_fd: no place for the descriptor");
    *out_fd = -1;
    etrt_status st = etrt_session_idle(s, "etrt_session_fd");
    if (st == ETRT_OK) st = begin(s);
    if (st == ETRT_OK) *out_fd = s->watch->fd;
    return st;
}

etrt_status etrt_session_notify(etrt_session *s, etrt_done tell, void *user) {
    etrt_status st = etrt_session_idle(s, "etrt_session_notify");
    if (st == ETRT_OK && tell) st = begin(s);
    if (st != ETRT_OK || !s->watch) return st;
    pthread_mutex_lock(&s->watch->lock);
    s->watch->tell = tell;
    s->watch->user = user;
    pthread_mutex_unlock(&s->watch->lock);
    return ETRT_OK;
}
