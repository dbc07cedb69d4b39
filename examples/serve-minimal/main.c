/* serve_minimal KERNEL.hsaco WEIGHTS PORT [DEVICE]: the smallest server on libetrt. A client sends
 * a line of token ids and gets the most likely ids that follow, a line each, until it closes or the
 * context is full. Every launch takes what is waiting of all clients: prompts and next tokens
 * alike. */
#include "etrt.h"
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 64 }; /* clients at once, if the kernel has as many slots */

struct client {
    int fd; /* 0: the slot is free */
    char line[8192];
    size_t bytes;
    int32_t *ids; /* [context] */
    int64_t n, fed, row;
};

static struct client clients[MOST];
static etrt_session *session;
static int64_t most, slots, context, vocab;

static void need(etrt_status status, const char *what) {
    if (status == ETRT_OK) return;
    fprintf(stderr, "serve_minimal: %s: %s: %s\n", what, etrt_status_text(status),
            etrt_last_error());
    exit(1);
}

static void drop(struct client *c) {
    close(c->fd);
    c->fd = 0;
}

/* What came of a client's line; once it is whole, its ids. */
static void receive(struct client *c) {
    ssize_t got = recv(c->fd, c->line + c->bytes, sizeof c->line - 1 - c->bytes, MSG_DONTWAIT);
    if (got <= 0) {
        drop(c);
        return;
    }
    c->bytes += (size_t)got;
    c->line[c->bytes] = 0;
    if (c->n) return;
    if (c->bytes == sizeof c->line - 1) drop(c);
    if (!strchr(c->line, '\n')) return;
    char *at = c->line, *end;
    for (long id = strtol(at, &end, 10); end != at; at = end, id = strtol(at, &end, 10))
        if (id >= 0 && id < vocab && c->n < context) c->ids[c->n++] = (int32_t)id;
    c->bytes = 0;
    if (!c->n) drop(c);
}

static void welcome(int listener) {
    int fd = accept(listener, NULL, NULL);
    for (int64_t i = 0; i < slots && fd > 0; i++)
        if (!clients[i].fd) {
            int32_t *ids = clients[i].ids;
            clients[i] = (struct client){.fd = fd, .ids = ids};
            return;
        }
    if (fd >= 0) close(fd);
}

/* One launch of all that there is to feed, and the next token of each whose end was fed. */
static void launch(int32_t *tokens, int32_t *positions, int32_t *slot, float *logits) {
    int64_t n = 0;
    for (int64_t i = 0; i < slots; i++) {
        struct client *c = &clients[i];
        for (c->row = -1; c->fd && c->fed < c->n && n < most; n++) {
            tokens[n] = c->ids[c->fed];
            positions[n] = (int32_t)c->fed++;
            slot[n] = (int32_t)i;
            c->row = c->fed == c->n ? n : -1;
        }
    }
    size_t bytes = (size_t)n * sizeof *tokens;
    if (!n) return;
    need(etrt_set_dim(session, "N", n), "N");
    need(etrt_bind(session, "tokens", tokens, bytes), "tokens");
    need(etrt_bind(session, "positions", positions, bytes), "positions");
    need(etrt_bind(session, "slots", slot, bytes), "slots");
    need(etrt_run(session), "launch");
    need(etrt_read(session, "logits", logits, (size_t)(n * vocab) * sizeof *logits), "logits");
    for (int64_t i = 0; i < slots; i++) {
        struct client *c = &clients[i];
        if (!c->fd || c->row < 0) continue;
        const float *row = logits + c->row * vocab;
        int32_t best = 0;
        for (int32_t v = 1; v < vocab; v++)
            if (row[v] > row[best]) best = v;
        if (dprintf(c->fd, "%d\n", best) < 0 || c->n == context)
            drop(c);
        else
            c->ids[c->n++] = best;
    }
}

int main(int argc, char **argv) {
    if (argc < 4) return fprintf(stderr, "serve_minimal KERNEL.hsaco WEIGHTS PORT [DEVICE]\n"), 2;
    etrt_device *device;
    etrt_model *model;
    etrt_dim_info dim;
    int64_t cache[ETRT_MAX_RANK], out[ETRT_MAX_RANK];
    int rank, on = 1;
    need(etrt_device_open(argc > 4 ? argv[4] : "auto", &device), "device");
    need(etrt_model_load(device, argv[1], &model), argv[1]);
    need(etrt_model_weights_file(model, argv[2]), argv[2]);
    need(etrt_session_create(model, &session), "session");
    for (int i = 0; etrt_model_dim(model, i, &dim) == ETRT_OK; i++)
        if (!strcmp(dim.name, "N")) most = dim.hi;
    need(etrt_set_dim(session, "N", most), "N");
    need(etrt_shape(session, "kc", cache, &rank), "kc");
    need(etrt_shape(session, "logits", out, &rank), "logits");
    slots = cache[1] < MOST ? cache[1] : MOST;
    context = cache[3];
    vocab = out[1];
    for (int64_t i = 0; i < slots; i++)
        clients[i].ids = calloc((size_t)context, sizeof(int32_t));
    int32_t *in = calloc((size_t)most * 3, sizeof *in);
    float *logits = calloc((size_t)(most * vocab), sizeof *logits);

    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[3]))};
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    signal(SIGPIPE, SIG_IGN);
    if (bind(listener, (struct sockaddr *)&here, sizeof here) || listen(listener, MOST))
        return perror("serve_minimal"), 1;
    for (;;) {
        struct pollfd fds[MOST + 1] = {{.fd = listener, .events = POLLIN}};
        int busy = 0;
        for (int64_t i = 0; i < slots; i++) {
            fds[i + 1] = (struct pollfd){clients[i].fd ? clients[i].fd : -1, POLLIN, 0};
            busy |= clients[i].fd && clients[i].fed < clients[i].n;
        }
        if (poll(fds, (nfds_t)slots + 1, busy ? 0 : -1) < 0) continue;
        for (int64_t i = 0; i < slots; i++)
            if (clients[i].fd && fds[i + 1].revents) receive(&clients[i]);
        if (fds[0].revents) welcome(listener);
        launch(in, in + most, in + 2 * most, logits);
    }
}
