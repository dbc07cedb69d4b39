/* Requests in and responses out, over libmicrohttpd. */
#include "examples/llm/engine/lm.h"
#include "examples/llm/serve/server.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS = 4, /* that take requests and send answers; */
    READERS = 3, /* that read JSON, render templates and cut texts to tokens; */
    PATIENT = 2,
    BEHIND = 10,                   /* the same of large requests, and how far these stand back; */
    MASKS = 2,                     /* that ask grammars */
    CONNECTION_MEMORY = 64 * 1024, /* headers must fit */
};

/* ---- responses ---- */

static bool header(struct MHD_Response *r, const char *name, const char *value) {
    return MHD_add_response_header(r, name, value) == MHD_YES;
}

void http_headers(struct exchange *x, struct MHD_Response *r, int status) {
    struct server *s = x->server;
    if (s->o->cors) {
        const char *origin = hosts_origin(
            s, MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ORIGIN));
        if (origin) header(r, "Access-Control-Allow-Origin", origin);
        if (origin) header(r, "Access-Control-Expose-Headers", "x-request-id, Retry-After");
        header(r, "Vary", "Origin");
    }
    if (x->allow[0]) header(r, "Allow", x->allow);
    if (x->generation) header(r, "x-request-id", generation_id(x));
    if (status == 429 || status == 503) header(r, "Retry-After", status == 429 ? "1" : "5");
    if (status == 401) header(r, "WWW-Authenticate", "Bearer");
    header(r, "X-Content-Type-Options", "nosniff");
    header(r, "X-Frame-Options", "DENY");
    /* What was not read of a body would be taken for the next request. */
    if (x->oversized || s->state == STATE_DRAINING) header(r, "Connection", "close");
}

enum MHD_Result http_reply(struct exchange *x, int status, const char *type, struct buffer *body) {
    struct MHD_Response *r;
    if (x->working) {
        /* Another thread must not call the library: it is given when that asks again. */
        x->reply = *body;
        x->reply_type = type;
        x->reply_status = status;
        *body = (struct buffer){0};
        return MHD_YES;
    }
    if (body->failed) {
        buffer_free(body);
        return MHD_NO;
    }
    x->sent = body->n;
    r = MHD_create_response_from_buffer(body->n, body->data ? body->data : strdup(""),
                                        MHD_RESPMEM_MUST_FREE);
    if (!r) {
        buffer_free(body);
        return MHD_NO;
    }
    *body = (struct buffer){0};
    if (type) header(r, "Content-Type", type);
    http_headers(x, r, status);
    x->status = status;
    x->answered = true;
    enum MHD_Result result = MHD_queue_response(x->connection, (unsigned)status, r);
    MHD_destroy_response(r);
    return result;
}

enum MHD_Result http_json(struct exchange *x, int status, json_t *value) {
    struct buffer b = {0};
    buffer_json(&b, value);
    return http_reply(x, status, "application/json", &b);
}

enum MHD_Result http_fault(struct exchange *x, const struct fault *f) {
    bool anthropic = !strncmp(x->path, "/v1/messages", 12);
    return http_json(x, f->status, fault_json(f, anthropic));
}

/* ---- requests ---- */

static void client_waits(struct exchange *x, bool waits) {
    pthread_mutex_lock(&x->server->lock);
    if (x->client) {
        x->client->waiting = waits ? lm_now() : 0;
        x->client->silent = 0;
    }
    pthread_mutex_unlock(&x->server->lock);
}

static struct exchange *begin(struct server *s, struct MHD_Connection *c, const char *method,
                              const char *url) {
    struct exchange *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    x->server = s;
    x->connection = c;
    x->client = info ? info->socket_context : NULL;
    x->method = method;
    x->began = lm_now();
    x->wrong_target = !hosts_target(url, x->authority, sizeof x->authority, &url);
    snprintf(x->path, sizeof x->path, "%s", url);
    return x;
}

static void add_body(struct exchange *x, const char *data, size_t bytes) {
    if (x->body.n + bytes > (size_t)x->server->o->body_limit) {
        x->oversized = true;
        buffer_free(&x->body);
        return;
    }
    buffer_add(&x->body, data, bytes);
}

/* A length that is too large is told before the body comes, or a client would send all of it. */
static bool announces_too_much(const struct exchange *x) {
    const char *length =
        MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return length && strtoull(length, NULL, 10) > (unsigned long long)x->server->o->body_limit;
}

static enum MHD_Result too_large(struct exchange *x) {
    struct fault f;
    x->oversized = true;
    fault_set(&f, 413, NULL, NULL, "the body is larger than %lld bytes",
              (long long)x->server->o->body_limit);
    return http_fault(x, &f);
}

static enum MHD_Result after_work(struct exchange *x) {
    x->worked = false;
    if (x->reply_status) return http_reply(x, x->reply_status, x->reply_type, &x->reply);
    return x->generation ? generation_begin(x) : MHD_NO;
}

static enum MHD_Result handle(void *user, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *bytes, void **request) {
    struct exchange *x = *request;
    (void)version;
    if (!x) {
        *request = x = begin(user, c, method, url);
        /* What nobody has looked at is not answered. */
        if (!x || !x->client || !x->client->heard) return MHD_NO;
        return announces_too_much(x) ? too_large(x) : MHD_YES;
    }
    if (*bytes) {
        if (!x->oversized) add_body(x, data, *bytes);
        *bytes = 0;
        return MHD_YES;
    }
    if (x->answered) return MHD_YES;
    if (x->worked) return after_work(x);
    if (x->generation) return generation_again(x);
    client_waits(x, false);
    return x->oversized ? too_large(x) : route(x);
}

static void completed(void *user, struct MHD_Connection *c, void **request,
                      enum MHD_RequestTerminationCode code) {
    struct exchange *x = *request;
    struct server *s = user;
    (void)c;
    (void)code;
    if (!x) return;
    *request = NULL;
    client_waits(x, true);
    http_metrics_answer(&s->metrics, x->status, x->status == 429);
    generation_leave(x);
    if (x->has) instances_let_go(s, x->has, false);
    free(x->unloaded);
    buffer_free(&x->body);
    buffer_free(&x->reply);
    free(x);
}

/* ---- connections ---- */

static void client_begin(struct server *s, struct MHD_Connection *c, void **context) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct client *client = calloc(1, sizeof *client);
    *context = client;
    if (!client || !info) return;
    client->server = s;
    client->fd = info->connect_fd;
    client->waiting = lm_now();
    receive_begin(client);
    pthread_mutex_lock(&s->lock);
    client->next = s->clients;
    client->at = &s->clients;
    if (client->next) client->next->at = &client->next;
    s->clients = client;
    pthread_mutex_unlock(&s->lock);
}

static void client_end(struct server *s, struct client *client) {
    if (!client) return;
    receive_end(client);
    pthread_mutex_lock(&s->lock);
    if (client->at) *client->at = client->next;
    if (client->next) client->next->at = client->at;
    pthread_mutex_unlock(&s->lock);
    free(client);
}

static void connection(void *user, struct MHD_Connection *c, void **context,
                       enum MHD_ConnectionNotificationCode code) {
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        client_begin(user, c, context);
    else
        client_end(user, *context);
}

/* What the library would print is of clients, and not worth a line each. */
static void silent(void *user, const char *fmt, va_list ap) {
    (void)user;
    (void)fmt;
    (void)ap;
}

bool http_start(struct server *s, char *err) {
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    unsigned connections = (unsigned)s->o->connections;
    unsigned threads = connections < THREADS ? 1 : THREADS;
    s->readers = pool_make(READERS, 0);
    s->patient = pool_make(PATIENT, BEHIND);
    s->masks = pool_make(MASKS, 0);
    if (!s->readers || !s->patient || !s->masks) return llm_fail(err, "cannot start a thread");
    s->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, handle, s, MHD_OPTION_EXTERNAL_LOGGER, silent, NULL,
        MHD_OPTION_LISTEN_SOCKET, s->listener, MHD_OPTION_THREAD_POOL_SIZE, threads,
        MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        (unsigned)s->o->address_connections, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)s->o->timeout, MHD_OPTION_NOTIFY_COMPLETED,
        completed, s, MHD_OPTION_NOTIFY_CONNECTION, connection, s, MHD_OPTION_END);
    return s->daemon || llm_fail(err, "cannot start the HTTP server");
}

void http_stop(struct server *s) {
    pool_close(s->readers); /* what they still read wakes connections */
    pool_close(s->patient);
    s->readers = s->patient = NULL;
    if (s->daemon) MHD_stop_daemon(s->daemon);
    s->daemon = NULL;
}
