/* Requests that the engine answers. Three threads meet here: the library's, which asks for what to
 * send; the engine's, which brings tokens; and the watcher's. */
#include "examples/llm/base/json_text.h"
#include "examples/llm/engine/lm.h"
#include "examples/llm/serve/server.h"
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { LATE = 32 };

struct source { /* one of the texts, as the engine knows it */
    struct generation *generation;
    int text;
    uint64_t id;
    double last;     /* when its last token came */
    atomic_int turn; /* enum engine_turn: is it known what may come? */
    /* Nothing that it is made of ends it, so that its tokens may become text when the next launch
     * runs: those that have not yet. Of the engine's thread. */
    bool late, over;
    int32_t ids[LATE];
    int nids;
};

struct generation {
    struct server *server;
    struct served *model;
    struct instance *has;          /* is kept awake for it, */
    bool dismiss;                  /* and not any longer */
    struct generation *next, **at; /* of the server's list, in order of NUMBER */
    uint64_t number;
    pthread_mutex_t lock; /* of what is below */
    int references;
    struct answer *answer;
    struct source *sources;
    pthread_mutex_t grammar;           /* of the answer's grammar */
    struct MHD_Connection *connection; /* NULL: the request is over */
    int fd;
    bool suspended; /* the library sleeps until it is resumed */
    bool complete, gone;
    bool silent;       /* the client says no more, which it also does when it leaves */
    double sent;       /* when something was sent last */
    uint64_t streamed; /* bytes */
};

const char *generation_id(const struct exchange *x) {
    return answer_id(x->generation->answer);
}

static void release(struct generation *g) {
    pthread_mutex_lock(&g->lock);
    bool last = --g->references == 0;
    pthread_mutex_unlock(&g->lock);
    if (!last) return;
    pthread_mutex_destroy(&g->lock);
    pthread_mutex_destroy(&g->grammar);
    answer_free(g->answer);
    if (g->has) instances_let_go(g->server, g->has, g->dismiss);
    free(g->sources);
    free(g);
}

/* With the lock held. */
static void wake(struct generation *g) {
    if (!g->suspended || !g->connection) return;
    g->suspended = false;
    MHD_resume_connection(g->connection);
}

static void cancel(struct generation *g) {
    for (int i = 0; i < answer_texts(g->answer); i++)
        engine_cancel(g->model->engine, g->sources[i].id);
}

/* ---- what may come, in threads of their own ---- */

static void advance(void *user) {
    struct source *source = user;
    struct generation *g = source->generation;
    pthread_mutex_lock(&g->grammar);
    bool more = answer_advance(g->answer, source->text);
    pthread_mutex_unlock(&g->grammar);
    source->turn = more ? TURN_GO : TURN_OVER;
    engine_wake(g->model->engine);
    release(g);
}

/* With the lock held. */
static void ask_grammar(struct source *source) {
    struct generation *g = source->generation;
    source->turn = TURN_WAIT;
    g->references++;
    if (pool_add(g->server->masks, advance, source)) return;
    g->references--;
    source->turn = TURN_OVER; /* no memory: no more can be written */
}

/* ---- in the engine's thread ---- */

static enum engine_turn ready(void *user) {
    struct source *source = user;
    return (enum engine_turn)source->turn;
}

static void take_vector(void *user, const float *values, int64_t width) {
    struct source *source = user;
    struct generation *g = source->generation;
    pthread_mutex_lock(&g->lock);
    answer_vector(g->answer, source->text, values, width);
    pthread_mutex_unlock(&g->lock);
}

static void take_prompt(void *user, size_t at, const struct engine_token *token) {
    struct source *source = user;
    struct generation *g = source->generation;
    pthread_mutex_lock(&g->lock);
    answer_prompt_token(g->answer, source->text, at, token);
    pthread_mutex_unlock(&g->lock);
}

static bool mask(void *user, float *logits, int64_t vocab) {
    struct source *source = user;
    (void)vocab;
    return answer_mask(source->generation->answer, source->text, logits);
}

/* With the lock held. */
static void make_text(struct source *source) {
    for (int i = 0; i < source->nids && !source->over; i++) {
        struct engine_token token = {.id = source->ids[i], .logprob = NAN};
        source->over = !answer_token(source->generation->answer, source->text, &token);
    }
    source->nids = 0;
}

static bool take_token(void *user, const struct engine_token *token) {
    struct source *source = user;
    struct generation *g = source->generation;
    double now = lm_now();
    if (source->last > 0)
        metrics_observe(&g->model->metrics, INTER_TOKEN_LATENCY, now - source->last);
    source->last = now;
    if (source->over) return false;
    if (source->late && source->nids < LATE) {
        source->ids[source->nids++] = token->id;
        return true;
    }
    pthread_mutex_lock(&g->lock);
    make_text(source);
    bool more = answer_token(g->answer, source->text, token);
    if (more && answer_owes(g->answer, source->text)) ask_grammar(source);
    pthread_mutex_unlock(&g->lock);
    return more;
}

static void send_later(void *user) {
    struct source *source = user;
    struct generation *g = source->generation;
    pthread_mutex_lock(&g->lock);
    make_text(source);
    if (answer_events(g->answer)->n) wake(g);
    pthread_mutex_unlock(&g->lock);
}

static void take_end(void *user, const struct engine_result *result) {
    struct source *source = user;
    struct generation *g = source->generation;
    metrics_end(&g->model->metrics, result);
    pthread_mutex_lock(&g->lock);
    make_text(source);
    g->complete = answer_end(g->answer, source->text, result);
    if (g->complete || answer_events(g->answer)->n) wake(g);
    pthread_mutex_unlock(&g->lock);
    release(g);
}

/* ---- in the library's threads ---- */

static ssize_t read_events(void *user, uint64_t at, char *out, size_t most) {
    struct generation *g = user;
    ssize_t n = 0;
    (void)at;
    pthread_mutex_lock(&g->lock);
    struct buffer *events = answer_events(g->answer);
    if (events->failed) {
        n = MHD_CONTENT_READER_END_WITH_ERROR;
    } else if (events->n) {
        n = (ssize_t)(events->n < most ? events->n : most);
        memcpy(out, events->data, (size_t)n);
        buffer_drop(events, (size_t)n);
        g->sent = lm_now();
        g->streamed += (uint64_t)n;
    } else if (g->complete) {
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else if (g->gone) {
        n = MHD_CONTENT_READER_END_WITH_ERROR;
    } else {
        g->suspended = true;
        MHD_suspend_connection(g->connection);
    }
    pthread_mutex_unlock(&g->lock);
    return n;
}

static void free_events(void *user) {
    release(user);
}

static enum MHD_Result stream(struct exchange *x) {
    struct generation *g = x->generation;
    struct MHD_Response *r =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, read_events, g, free_events);
    if (!r) return MHD_NO;
    pthread_mutex_lock(&g->lock);
    g->references++;
    pthread_mutex_unlock(&g->lock);
    bool lines = answer_request(g->answer)->dialect == DIALECT_OLLAMA;
    MHD_add_response_header(r, "Content-Type",
                            lines ? "application/x-ndjson" : "text/event-stream; charset=utf-8");
    MHD_add_response_header(r, "Cache-Control", "no-cache");
    MHD_add_response_header(r, "X-Accel-Buffering", "no");
    http_headers(x, r, 200);
    x->status = 200;
    x->answered = true;
    enum MHD_Result result = MHD_queue_response(x->connection, 200, r);
    MHD_destroy_response(r);
    return result;
}

enum MHD_Result generation_again(struct exchange *x) {
    struct generation *g = x->generation;
    struct buffer body = {0};
    int status = 0;
    pthread_mutex_lock(&g->lock);
    if (g->complete) {
        status = answer_body(g->answer, &body);
    } else if (!g->gone) {
        g->suspended = true;
        MHD_suspend_connection(g->connection);
    }
    bool gone = g->gone && !g->complete;
    pthread_mutex_unlock(&g->lock);
    if (gone) return MHD_NO;
    return status ? http_reply(x, status, "application/json", &body) : MHD_YES;
}

/* The engine takes all texts or none. */
static bool submit(struct generation *g, struct fault *f) {
    struct answer *a = g->answer;
    const struct request *r = answer_request(a);
    char err[LLM_ERR];
    int n = answer_texts(a);
    struct engine_job *jobs = calloc((size_t)n, sizeof *jobs);
    uint64_t *ids = calloc((size_t)n, sizeof *ids);
    g->sources = calloc((size_t)n, sizeof *g->sources);
    bool ok = (jobs && ids && g->sources) || fault_set(f, 500, NULL, NULL, "out of memory");
    for (int i = 0; ok && i < n; i++) {
        const struct ids *prompt = answer_prompt(a, i);
        g->sources[i].generation = g;
        g->sources[i].text = i;
        g->sources[i].turn = r->grammar ? TURN_WAIT : TURN_GO;
        g->sources[i].late = !r->grammar && !r->logprobs && !r->nstops && !r->nstop_ids;
        jobs[i] = (struct engine_job){.prompt = prompt->v,
                                      .n = prompt->n,
                                      .most = r->most,
                                      .least = r->least,
                                      .run_on = r->run_on,
                                      .top = r->logprobs ? (int)r->top : -1,
                                      .sampling = r->sampling,
                                      .tells_prompt = r->prompt_top >= 0,
                                      .prompt_top = (int)r->prompt_top,
                                      .vector = r->vectors,
                                      .second = r->vectors ? r->seconds[i] : 0,
                                      .sink = {.user = &g->sources[i],
                                               .token = take_token,
                                               .end = take_end,
                                               .mask = r->grammar ? mask : NULL,
                                               .ready = r->grammar ? ready : NULL,
                                               .later = send_later,
                                               .prompt = take_prompt,
                                               .vector = take_vector}};
        jobs[i].sampling.seed += (uint64_t)(i % (int)r->n);
    }
    if (ok) {
        /* Held until the ids are noted: the engine may bring tokens at once. */
        pthread_mutex_lock(&g->lock);
        g->references += n;
        enum engine_answer answer = engine_submit(g->model->engine, jobs, n, ids, err);
        if (answer != ENGINE_TAKEN) g->references -= n;
        for (int i = 0; i < n; i++)
            g->sources[i].id = ids[i];
        for (int i = 0; i < n && answer == ENGINE_TAKEN && r->grammar; i++)
            ask_grammar(&g->sources[i]);
        pthread_mutex_unlock(&g->lock);
        if (answer == ENGINE_FULL) ok = fault_set(f, 429, NULL, "queue_full", "%s: try again", err);
        if (answer == ENGINE_REFUSED) ok = fault_set(f, 400, NULL, NULL, "%s", err);
    }
    free(jobs);
    free(ids);
    return ok;
}

static void enlist(struct generation *g) {
    struct server *s = g->server;
    pthread_mutex_lock(&s->lock);
    g->number = ++s->ngenerations;
    g->at = s->last_generation;
    *g->at = g;
    s->last_generation = &g->next;
    pthread_mutex_unlock(&s->lock);
}

static void delist(struct generation *g) {
    struct server *s = g->server;
    pthread_mutex_lock(&s->lock);
    *g->at = g->next;
    if (g->next)
        g->next->at = g->at;
    else
        s->last_generation = g->at;
    if (!s->generations) pthread_cond_broadcast(&s->idle);
    pthread_mutex_unlock(&s->lock);
}

static bool prepare(struct exchange *x, enum dialect dialect, struct fault *f) {
    struct server *s = x->server;
    struct request *r;
    json_error_t why;
    json_t *body = json_text(x->body.data ? x->body.data : "", x->body.n,
                             JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!body)
        return fault_set(f, 400, NULL, "invalid_json",
                         "the body is not JSON: line %d, column %d: %s", why.line, why.column,
                         why.text);
    struct served *m = models_choose(s, body, f);
    bool dismiss = dialect == DIALECT_OLLAMA && others_dismisses(body);
    if (m && dialect == DIALECT_OLLAMA && others_asks_nothing(x, body) && dismiss) {
        instances_dismiss(s, m->instance);
        others_loaded(x, m, false);
        json_decref(body);
        return false;
    }
    if (!m || !instances_have(x, m, f)) {
        json_decref(body);
        return false;
    }
    if (dialect == DIALECT_OLLAMA && others_asks_nothing(x, body)) {
        others_loaded(x, m, true);
        json_decref(body);
        return false;
    }
    buffer_free(&x->body);
    if (dialect == DIALECT_OLLAMA && !strcmp(x->path, "/api/generate"))
        json_object_set_new(body, "api_generate", json_true());
    if (!strcmp(x->path, "/infill")) json_object_set_new(body, "infill", json_true());
    if (!request_read(&m->model, dialect, body, &r, f)) return false;
    struct generation *g = calloc(1, sizeof *g);
    if (!g) {
        request_free(r);
        return fault_set(f, 500, NULL, NULL, "out of memory");
    }
    g->answer = answer_make(&m->model, r);
    if (!g->answer) {
        free(g);
        return fault_set(f, 500, NULL, NULL, "out of memory");
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    pthread_mutex_init(&g->lock, NULL);
    pthread_mutex_init(&g->grammar, NULL);
    g->server = s;
    g->model = m;
    g->references = 1;
    g->connection = x->connection;
    g->fd = info ? info->connect_fd : -1;
    g->sent = lm_now();
    g->has = x->has;
    g->dismiss = dismiss;
    x->has = NULL;
    x->generation = g;
    return true;
}

enum MHD_Result generation_start(struct exchange *x, enum dialect dialect) {
    struct fault f;
    if (!prepare(x, dialect, &f)) return x->wants || x->reply_status ? MHD_YES : http_fault(x, &f);
    enlist(x->generation);
    if (!submit(x->generation, &f)) {
        delist(x->generation);
        release(x->generation);
        x->generation = NULL;
        return http_fault(x, &f);
    }
    return MHD_YES;
}

enum MHD_Result generation_begin(struct exchange *x) {
    return answer_request(x->generation->answer)->stream ? stream(x) : generation_again(x);
}

void generation_leave(struct exchange *x) {
    struct generation *g = x->generation;
    struct usage usage = {0};
    if (g) {
        delist(g);
        pthread_mutex_lock(&g->lock);
        g->connection = NULL;
        g->gone = true;
        bool complete = g->complete;
        answer_usage(g->answer, &usage);
        x->sent += g->streamed;
        pthread_mutex_unlock(&g->lock);
        if (!complete) cancel(g);
    }
    if (x->answered || g) log_exchange(x->server->log, x, &usage);
    if (g) release(g);
}

/* ---- in the watcher's thread ---- */

/* The library does not look at a connection that is suspended. A client that closes its half of it
 * may still read, or may be gone: TCP tells only once something was sent to it. To a stream a ping
 * can be sent; before an answer that comes as a whole nothing can be, and the client counts as
 * gone. */
static bool left(struct generation *g) {
    struct pollfd p = {.fd = g->fd, .events = POLLRDHUP};
    if (g->fd < 0 || poll(&p, 1, 0) != 1) return false;
    if (p.revents & (POLLHUP | POLLERR)) return true;
    if (!(p.revents & POLLRDHUP)) return false;
    if (!answer_request(g->answer)->stream) return true;
    if (!g->silent) g->sent = -INFINITY; /* a ping is due */
    g->silent = true;
    return false;
}

static void watch(struct generation *g, double now) {
    struct server *s = g->server;
    pthread_mutex_lock(&g->lock);
    bool leaves = g->connection && !g->complete && !g->gone && left(g);
    if (leaves) {
        g->gone = true;
        wake(g);
    } else if (!g->complete && answer_request(g->answer)->stream &&
               now - g->sent > (g->silent ? 1 : (double)s->o->ping)) {
        g->sent = now;
        bool lines = answer_request(g->answer)->dialect == DIALECT_OLLAMA;
        buffer_text(answer_events(g->answer), lines ? "\n" : ": ping\n\n");
        wake(g);
    }
    pthread_mutex_unlock(&g->lock);
    if (leaves) cancel(g);
}

/* The first of the server's, or the one after G, whose reference goes with it; NULL: no more. The
 * server's lock is not held meanwhile: the library calls us with locks of its own. */
static struct generation *after(struct server *s, struct generation *g) {
    pthread_mutex_lock(&s->lock);
    struct generation *next = s->generations;
    for (; next && next->number <= (g ? g->number : 0); next = next->next) {
    }
    if (next) {
        pthread_mutex_lock(&next->lock);
        next->references++;
        pthread_mutex_unlock(&next->lock);
    }
    pthread_mutex_unlock(&s->lock);
    if (g) release(g);
    return next;
}

void generation_watch(struct server *s) {
    double now = lm_now();
    for (struct generation *g = after(s, NULL); g; g = after(s, g))
        watch(g, now);
}

void generation_cancel_all(struct server *s) {
    for (struct generation *g = after(s, NULL); g; g = after(s, g))
        cancel(g);
}
