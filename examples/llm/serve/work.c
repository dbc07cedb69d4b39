/* Threads that do what takes long, so that it keeps nobody waiting who only streams. */
#include "examples/llm/serve/server.h"
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct item {
    struct item *next;
    void (*run)(void *);
    void *user;
};

enum { MOST_THREADS = 8 };

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct item *first, **last;
    pthread_t threads[MOST_THREADS];
    int n, nice;
    bool stop;
};

static void *work(void *user) {
    struct pool *p = user;
    /* Of this thread alone; that it cannot be is no harm. */
    if (p->nice) setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), p->nice);
    pthread_mutex_lock(&p->lock);
    while (p->first || !p->stop) {
        struct item *item = p->first;
        if (!item) {
            pthread_cond_wait(&p->wake, &p->lock);
            continue;
        }
        p->first = item->next;
        if (!p->first) p->last = &p->first;
        pthread_mutex_unlock(&p->lock);
        item->run(item->user);
        free(item);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct pool *pool_make(int threads, int nice) {
    struct pool *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    p->last = &p->first;
    p->nice = nice;
    while (p->n < threads && p->n < MOST_THREADS &&
           pthread_create(&p->threads[p->n], NULL, work, p) == 0)
        p->n++;
    if (p->n) return p;
    pool_close(p);
    return NULL;
}

bool pool_add(struct pool *p, void (*run)(void *), void *user) {
    struct item *item = malloc(sizeof *item);
    if (!item) return false;
    *item = (struct item){NULL, run, user};
    pthread_mutex_lock(&p->lock);
    *p->last = item;
    p->last = &item->next;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    return true;
}

void pool_close(struct pool *p) {
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->n; i++)
        pthread_join(p->threads[i], NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->wake);
    free(p);
}
