/* test_instances [REQUESTS]: requests, unloading and engines that fall asleep by themselves, of
 * more models than may be awake: never are more, and every request has what it asked for. The
 * engines are made up; what says who may have one is the server's. */
#include "examples/llm/engine/lm.h"
#include "examples/llm/serve/server.h"
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MODELS = 5, MOST = 2, CLIENTS = 12 };

struct engine {
    pthread_mutex_t lock;
    bool awake;
    int running;
};
static struct engine engines[MODELS];
static struct server server;
static atomic_int awake, most_awake, wrong, refused;
static atomic_long served, unloads;
static atomic_bool over;
static long enough = 4000;

static void pause_up_to(unsigned *state, int microseconds) {
    usleep((useconds_t)(rand_r(state) % microseconds));
}

/* ---- what the server's file calls ---- */

/* With its lock held. */
static void wake(struct engine *e) {
    if (e->awake) return;
    e->awake = true;
    int now = ++awake, was = most_awake;
    while (now > was && !atomic_compare_exchange_weak(&most_awake, &was, now)) {
    }
}

static bool fall_asleep(struct engine *e) {
    pthread_mutex_lock(&e->lock);
    bool idle = !e->running;
    if (idle && e->awake) {
        e->awake = false;
        awake--;
    }
    pthread_mutex_unlock(&e->lock);
    return idle;
}

bool engine_sleep(struct engine *e, char *err) {
    return fall_asleep(e) || llm_fail(err, "busy");
}

bool engine_rouse(struct engine *e, char *err) {
    (void)err;
    pthread_mutex_lock(&e->lock);
    wake(e);
    pthread_mutex_unlock(&e->lock);
    return true;
}

void engine_stats(struct engine *e, struct engine_stats *out) {
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&e->lock);
    out->asleep = !e->awake;
    pthread_mutex_unlock(&e->lock);
}

bool models_open(struct server *s, struct instance *k, char *err) {
    usleep(2000);
    s->models[k->first].open = true;
    return engine_rouse(s->models[k->first].engine, err);
}

void listen_remove(const struct serve_options *o) {
    (void)o;
}

/* What a request waits for here, in place of a connection. */
struct ask {
    struct exchange x;
    sem_t again;
};

void route_again(struct exchange *x) {
    sem_post(&((struct ask *)x)->again);
}

/* ---- those that ask ---- */

static void run_request(struct engine *e, unsigned *state) {
    pause_up_to(state, 300); /* it has it and does not run yet */
    pthread_mutex_lock(&e->lock);
    wake(e);
    e->running++;
    pthread_mutex_unlock(&e->lock);
    pause_up_to(state, 2000);
    pthread_mutex_lock(&e->lock);
    e->running--;
    pthread_mutex_unlock(&e->lock);
}

static void ask_once(unsigned *state) {
    struct ask a = {.x.server = &server};
    struct served *m = &server.models[rand_r(state) % MODELS];
    struct fault f;
    sem_init(&a.again, 0, 0);
    while (!instances_have(&a.x, m, &f)) {
        if (!a.x.wants) break;
        instances_park(&a.x);
        while (sem_wait(&a.again) != 0) {
        }
    }
    if (a.x.has) {
        if (a.x.has != m->instance) wrong++;
        run_request(m->engine, state);
        instances_let_go(&server, a.x.has, rand_r(state) % 16 == 0);
        served++;
    } else {
        refused++;
        free(a.x.unloaded);
    }
    sem_destroy(&a.again);
}

static void *be_client(void *user) {
    unsigned state = (unsigned)(size_t)user;
    while (served < enough) {
        ask_once(&state);
        pause_up_to(&state, 500);
    }
    over = true;
    return NULL;
}

static void *unload(void *user) {
    unsigned state = (unsigned)(size_t)user;
    char err[LLM_ERR];
    while (!over) {
        unloads += instances_unload(&server, &server.instances[rand_r(&state) % MODELS], err);
        pause_up_to(&state, 300);
    }
    return NULL;
}

static void *be_idle(void *user) {
    unsigned state = (unsigned)(size_t)user;
    while (!over) {
        fall_asleep(&engines[rand_r(&state) % MODELS]);
        pause_up_to(&state, 500);
    }
    return NULL;
}

int main(int argc, char **argv) {
    static struct serve_options o = {.loaded = MOST};
    pthread_t threads[CLIENTS + 3];
    char err[LLM_ERR];
    if (argc > 1) enough = strtol(argv[1], NULL, 10);
    server.o = &o;
    server.nmodels = server.ninstances = MODELS;
    pthread_mutex_init(&server.loading, NULL);
    pthread_cond_init(&server.changed, NULL);
    for (int i = 0; i < MODELS; i++) {
        pthread_mutex_init(&engines[i].lock, NULL);
        server.instances[i] = (struct instance){.first = i, .n = 1};
        server.models[i].engine = &engines[i];
        server.models[i].instance = &server.instances[i];
    }
    if (!instances_start(&server, err)) return 1;
    for (size_t i = 0; i < CLIENTS + 3; i++)
        if (pthread_create(&threads[i], NULL,
                           i < CLIENTS    ? be_client
                           : i <= CLIENTS ? be_idle
                                          : unload,
                           (void *)(i + 1)))
            return 1;
    for (int i = 0; i < CLIENTS + 3; i++)
        pthread_join(threads[i], NULL);
    instances_stop(&server);
    printf("%ld requests, %d refused, %ld unloads; %d awake at most\n", (long)served, refused,
           (long)unloads, most_awake);
    return most_awake == MOST && !wrong && !refused && unloads > 5 ? 0 : 1;
}
