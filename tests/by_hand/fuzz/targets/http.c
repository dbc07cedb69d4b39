/* Bytes as they come through a socket: requests, one or several, cut off or damaged anywhere. The
 * server is the real one down to the engine, in whose place tokens are made up. A connection whose
 * client says no more is answered or not, and closed, soon; what is answered is HTTP. */
#include "examples/llm/serve/server.h"
#include "tests/by_hand/fuzz/fuzz.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { VOCAB = 1024, CONTEXT = 512, SLOTS = 4, MOST = 6, SECONDS = 20 };

/* ---- an engine that knows no kernel ---- */

struct made_up {
    struct made_up *next;
    uint64_t id;
    bool cancelled;
    struct engine_job job;
};

struct engine {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct made_up *first, **last, *running;
    uint64_t nids;
    bool stop;
};

static void write_text(struct engine *e, struct made_up *m) {
    static float logits[VOCAB];
    const struct engine_sink *sink = &m->job.sink;
    struct engine_result result = {.end = ENGINE_LENGTH, .prompt = (int64_t)m->job.n};
    while (result.generated < m->job.most && result.generated < MOST) {
        struct likelihood top[2] = {{5, -1}, {6, -2}};
        struct engine_token token = {.logprob = -0.5f, .top = top, .ntop = 2};
        pthread_mutex_lock(&e->lock);
        bool cancelled = m->cancelled;
        pthread_mutex_unlock(&e->lock);
        result.end = cancelled ? ENGINE_CANCELLED : ENGINE_STOP;
        memset(logits, 0, sizeof logits);
        while (!cancelled && sink->ready && sink->ready(sink->user) == TURN_WAIT)
            sched_yield();
        if (!cancelled && sink->ready && sink->ready(sink->user) == TURN_OVER) break;
        if (cancelled || (sink->mask && !sink->mask(sink->user, logits, VOCAB))) break;
        token.id = (int32_t)(20 + result.generated * 7);
        for (int i = 0; i < VOCAB && logits[token.id] < 0; i++)
            token.id = (token.id + 1) % VOCAB;
        result.generated++;
        if (logits[token.id] < 0 || !sink->token(sink->user, &token)) break;
        if (sink->later) sink->later(sink->user);
        result.end = ENGINE_LENGTH;
    }
    sink->end(sink->user, &result);
}

static void *work(void *user) {
    struct engine *e = user;
    pthread_mutex_lock(&e->lock);
    while (!e->stop || e->first) {
        struct made_up *m = e->running = e->first;
        if (!m) {
            pthread_cond_wait(&e->wake, &e->lock);
            continue;
        }
        e->first = m->next;
        if (!e->first) e->last = &e->first;
        pthread_mutex_unlock(&e->lock);
        write_text(e, m);
        pthread_mutex_lock(&e->lock);
        e->running = NULL;
        free(m);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

bool engine_open(const struct engine_options *o, const struct engine_model *models, int n,
                 struct engine **out, char *err) {
    (void)o;
    (void)models;
    struct engine *e = out[0] = calloc(1, sizeof *e);
    if (!e || n != 1) return llm_fail(err, "out of memory");
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->wake, NULL);
    e->last = &e->first;
    return pthread_create(&e->thread, NULL, work, e) == 0;
}

void engine_close(struct engine *e) {
    if (!e) return;
    pthread_mutex_lock(&e->lock);
    e->stop = true;
    pthread_cond_signal(&e->wake);
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->thread, NULL);
    free(e);
}

void engine_sizes(const struct engine *e, struct engine_sizes *out) {
    (void)e;
    *out = (struct engine_sizes){
        .vocab = VOCAB, .context = CONTEXT, .slots = SLOTS, .max_tokens = SLOTS, .device = "none"};
}

enum engine_answer engine_submit(struct engine *e, const struct engine_job *jobs, int njobs,
                                 uint64_t *out_ids, char *err) {
    (void)err;
    pthread_mutex_lock(&e->lock);
    for (int i = 0; i < njobs; i++) {
        struct made_up *m = calloc(1, sizeof *m);
        FUZZ_EXPECT(m);
        /* What the engine copies of a job is not used here. */
        m->job = jobs[i];
        m->id = out_ids[i] = ++e->nids;
        *e->last = m;
        e->last = &m->next;
    }
    pthread_cond_signal(&e->wake);
    pthread_mutex_unlock(&e->lock);
    return ENGINE_TAKEN;
}

void engine_wake(struct engine *e) {
    (void)e;
}

void engine_cancel(struct engine *e, uint64_t id) {
    pthread_mutex_lock(&e->lock);
    if (e->running && e->running->id == id) e->running->cancelled = true;
    for (struct made_up *m = e->first; m; m = m->next)
        if (m->id == id) m->cancelled = true;
    pthread_mutex_unlock(&e->lock);
}

void engine_stats(struct engine *e, struct engine_stats *out) {
    (void)e;
    *out = (struct engine_stats){.launches = 1};
}

void engine_slots(struct engine *e, struct engine_slot *out) {
    (void)e;
    memset(out, 0, SLOTS * sizeof *out);
}

/* ---- the server ---- */

static struct server server;

static void finish(void) {
    server.unwatched = true;
    pthread_join(server.watcher, NULL);
    http_stop(&server);
    models_free(&server);
    log_close(server.log);
    keys_free(server.keys);
}

static bool begin(void) {
    static struct serve_options o = {.kernel = "",
                                     .device = "",
                                     .models = {{.folder = FUZZ_CHECKPOINT}},
                                     .nmodels = 1,
                                     .name = "stories-llama",
                                     .access_log = "/dev/null",
                                     .queue = 8,
                                     .tools = 2, /* hermes */
                                     .reasoning = true,
                                     .body_limit = 1 << 16,
                                     .connections = 16,
                                     /* The library may not see that a client which has not said
                                      * all says no more: then it is one that is slow. */
                                     .timeout = 1,
                                     .ping = SECONDS};
    static bool begun;
    char err[LLM_ERR];
    if (begun) return true;
    server.o = &o;
    o.unix_path = strdup(fuzz_path("http"));
    server.last_generation = &server.generations;
    pthread_mutex_init(&server.lock, NULL);
    pthread_cond_init(&server.idle, NULL);
    http_metrics_init(&server.metrics);
    begun = o.unix_path && models_name(&server, err) && log_open(o.access_log, &server.log, err) &&
            listen_open(&o, &server.listener, server.where, sizeof server.where, err) &&
            models_load(&server, err) && http_start(&server, err) &&
            pthread_create(&server.watcher, NULL, serve_watch, &server) == 0;
    server.state = STATE_READY;
    if (!begun) fprintf(stderr, "fuzz_http: %s\n", err);
    if (begun) atexit(finish);
    return begun;
}

static int connect_to(const char *path) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = SECONDS};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    FUZZ_EXPECT(connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    return fd;
}

static void send_all(int fd, const uint8_t *data, size_t bytes) {
    while (bytes) {
        ssize_t n = send(fd, data, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break; /* the server wants no more of it */
        data += n;
        bytes -= (size_t)n;
    }
    shutdown(fd, SHUT_WR);
}

/* A timer of whoever runs this may interrupt it. */
static ssize_t receive(int fd, char *out, size_t bytes) {
    ssize_t n;
    do
        n = recv(fd, out, bytes, 0);
    while (n < 0 && errno == EINTR);
    return n;
}

/* The client has said that it says no more, and the library may see that before the answer is made:
 * then the client counts as gone. No other failure is the server's own. */
static bool is_right(const char *answer) {
    int status = 0;
    if (sscanf(answer, "HTTP/1.%*1[01] %3d", &status) != 1) return false;
    if (status == 500) return strstr(answer, "the answer was given up");
    return status >= 100 && status < 600;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char answer[4096] = "", more[4096];
    size_t got = 0;
    ssize_t n;
    if (!begin()) return -1;
    int fd = connect_to(server.o->unix_path);
    send_all(fd, data, bytes);
    while ((n = receive(fd, more, sizeof more)) > 0)
        for (ssize_t i = 0; i < n && got + 1 < sizeof answer; i++)
            answer[got++] = more[i];
    FUZZ_EXPECT(n == 0 || errno == ECONNRESET);
    close(fd);
    FUZZ_EXPECT(!got || is_right(answer));
    return 0;
}
