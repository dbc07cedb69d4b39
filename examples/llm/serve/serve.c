/* etllm serve, from start to end: listens, loads, serves, drains. */
#include "examples/llm/serve/serve.h"
#include "examples/llm/api/tools/tools.h"
#include "examples/llm/engine/lm.h"
#include "examples/llm/serve/server.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

const char *serve_tool_style(int i) {
    static const char *const first[] = {"none", "auto"};
    if (i < 2) return i < 0 ? NULL : first[i];
    const struct tool_format *f = tool_format(i - 2);
    return f ? f->name : NULL;
}

const char *serve_thought_style(int i) {
    static const char *const first[] = {"none", "auto"};
    if (i < 2) return i < 0 ? NULL : first[i];
    const struct thought_format *f = thought_format(i - 2);
    return f ? f->name : NULL;
}

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...) {
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    fprintf(stderr, "etllm: %s\n", line);
}

/* ---- signals, which no other thread takes ---- */

static void begin_drain(struct server *s) {
    pthread_mutex_lock(&s->lock);
    if (s->state == STATE_READY) s->state = STATE_DRAINING;
    s->quit = true;
    pthread_cond_broadcast(&s->idle);
    pthread_mutex_unlock(&s->lock);
}

static void *take_signals(void *user) {
    struct server *s = user;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    for (int interrupts = 0;;) {
        int signal = 0;
        if (sigwait(&set, &signal) != 0) continue;
        if (signal == SIGHUP) {
            log_reopen(s->log);
            continue;
        }
        interrupts += signal == SIGINT;
        /* While it loads there is nothing to finish. */
        if (s->state == STATE_LOADING || interrupts > 1) {
            listen_remove(s->o);
            _exit(128 + signal);
        }
        if (!s->quit) say("stopping: what runs is finished first");
        begin_drain(s);
    }
    return NULL;
}

static bool start_signals(struct server *s) {
    sigset_t set;
    pthread_t thread;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    /* Threads that are made from here on inherit it. */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return pthread_create(&thread, NULL, take_signals, s) == 0 && pthread_detach(thread) == 0;
}

/* ---- the watcher ---- */

/* Says no more, and all that it said was read. What was read may be whole and not yet passed on: it
 * is looked at twice. */
static bool has_ended(struct client *c, double now) {
    const double again = 0.15;
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
    int unread = 0;
    if (poll(&p, 1, 0) != 1 || !(p.revents & (POLLRDHUP | POLLHUP | POLLERR))) return false;
    if (ioctl(c->fd, FIONREAD, &unread) == 0 && unread > 0) return false;
    if (!c->silent) c->silent = now;
    return now - c->silent >= again;
}

/* A client that opened a connection and does not say what it wants, or has left before it did,
 * holds a place. */
static void drop_idle(struct server *s) {
    double now = lm_now();
    pthread_mutex_lock(&s->lock);
    for (struct client *c = s->clients; c; c = c->next) {
        if (!c->waiting || c->refused) continue;
        bool late = now - c->waiting > (double)s->o->timeout;
        if (c->wrong) receive_refuse(c);
        if (c->refused || !(late || has_ended(c, now))) continue;
        c->waiting = now; /* once is enough; the library closes it */
        shutdown(c->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&s->lock);
}

void *serve_watch(void *user) {
    struct server *s = user;
    const struct timespec pause = {0, 200000000};
    while (!s->unwatched) {
        generation_watch(s);
        drop_idle(s);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* ---- from start to end ---- */

/* Listens before it loads, so that who asks is told what the matter is. */
static bool begin(struct server *s, char *err) {
    const struct serve_options *o = s->o;
    if (o->key_file && !keys_read(o->key_file, &s->keys, err)) return false;
    if (!log_open(o->access_log, &s->log, err)) return false;
    if (!listen_open(o, &s->listener, s->where, sizeof s->where, err)) return false;
    if (!start_signals(s)) return llm_fail(err, "cannot start a thread");
    if (!http_start(s, err)) {
        close(s->listener);
        return false;
    }
    say("listening on %s", s->where);
    s->has_watcher = pthread_create(&s->watcher, NULL, serve_watch, s) == 0;
    if (!s->has_watcher) return llm_fail(err, "cannot start a thread");
    if (!models_load(s, err) || !instances_start(s, err)) return false;
    s->state = STATE_READY;
    if (o->make) say("ready: %d models, each loaded when it is asked for", s->nmodels);
    return true;
}

/* True: all that ran was finished. */
static bool wait_for_end(struct server *s) {
    struct timespec until;
    bool done = true;
    pthread_mutex_lock(&s->lock);
    while (!s->quit)
        pthread_cond_wait(&s->idle, &s->lock);
    s->state = STATE_DRAINING;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += s->o->drain_timeout;
    while (s->generations && done)
        done = pthread_cond_timedwait(&s->idle, &s->lock, &until) != ETIMEDOUT;
    pthread_mutex_unlock(&s->lock);
    if (done) return true;
    say("not all was finished in %lld seconds", (long long)s->o->drain_timeout);
    generation_cancel_all(s);
    pthread_mutex_lock(&s->lock);
    until.tv_sec += 5;
    for (int status = 0; s->generations && status != ETIMEDOUT;)
        status = pthread_cond_timedwait(&s->idle, &s->lock, &until);
    bool empty = !s->generations;
    pthread_mutex_unlock(&s->lock);
    /* A response that cannot be sent keeps the library from ending. */
    if (!empty) {
        listen_remove(s->o);
        _exit(1);
    }
    return false;
}

static void end(struct server *s) {
    s->unwatched = true;
    instances_stop(s); /* requests that it keeps are answered */
    if (s->has_watcher) pthread_join(s->watcher, NULL);
    http_stop(s);
    models_free(s);
    keys_free(s->keys);
}

int serve(const struct serve_options *o) {
    static struct server s; /* outlives the thread that takes signals */
    char err[LLM_ERR];
    s.o = o;
    s.began = lm_now();
    s.created = (int64_t)time(NULL);
    s.last_generation = &s.generations;
    s.listener = -1;
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.idle, NULL);
    pthread_mutex_init(&s.loading, NULL);
    pthread_cond_init(&s.changed, NULL);
    http_metrics_init(&s.metrics);
    bool ok = models_name(&s, err) && begin(&s, err);
    if (!ok) llm_complain("%s", err);
    if (ok) ok = wait_for_end(&s);
    end(&s);
    if (s.listener >= 0) listen_remove(o);
    if (ok) say("stopped");
    return ok ? 0 : 1;
}
