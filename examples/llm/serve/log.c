#include "examples/llm/engine/lm.h"
#include "examples/llm/serve/server.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct log {
    pthread_mutex_t lock;
    char *file; /* NULL: standard error */
    int fd;
    bool cut; /* the last line was not written to its end */
    atomic_int_fast64_t lost;
};

static int open_file(const char *file) {
    return open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640);
}

bool log_open(const char *file, struct log **out, char *err) {
    struct log *l = calloc(1, sizeof *l);
    *out = NULL;
    if (!l) return llm_fail(err, "out of memory");
    pthread_mutex_init(&l->lock, NULL);
    l->fd = STDERR_FILENO;
    if (file && (!(l->file = strdup(file)) || (l->fd = open_file(file)) < 0)) {
        llm_fail(err, "%s: %s", file, strerror(errno));
        log_close(l);
        return false;
    }
    *out = l;
    return true;
}

void log_close(struct log *l) {
    if (!l) return;
    if (l->file && l->fd >= 0) close(l->fd);
    pthread_mutex_destroy(&l->lock);
    free(l->file);
    free(l);
}

/* The file was moved away, and a new one shall be begun. */
void log_reopen(struct log *l) {
    if (!l->file) return;
    int fd = open_file(l->file);
    if (fd < 0) return;
    pthread_mutex_lock(&l->lock);
    if (l->fd >= 0) close(l->fd);
    l->fd = fd;
    l->cut = false;
    pthread_mutex_unlock(&l->lock);
}

int64_t log_lost(const struct log *l) {
    return l->lost;
}

/* A disk that is full, or a pipe that nobody reads, costs lines and not answers. */
static void put(struct log *l, const char *line, size_t bytes) {
    pthread_mutex_lock(&l->lock);
    struct pollfd ready = {.fd = l->fd, .events = POLLOUT};
    bool ok = poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT);
    if (ok && l->cut) ok = write(l->fd, "\n", 1) == 1;
    if (ok) {
        ssize_t n = write(l->fd, line, bytes);
        ok = n == (ssize_t)bytes;
        l->cut = n > 0 && !ok;
    }
    l->lost += !ok;
    pthread_mutex_unlock(&l->lock);
}

static void peer(const struct exchange *x, char *out, size_t bytes) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *a = info ? info->client_addr : NULL;
    snprintf(out, bytes, "-");
    if (a && a->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)a)->sin_addr, out, (socklen_t)bytes);
    if (a && a->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)a)->sin6_addr, out, (socklen_t)bytes);
}

/* What a client sent must not make lines of its own, nor end the quotes. */
static void plain(const char *in, char *out, size_t bytes) {
    size_t n = 0;
    for (; *in && n + 1 < bytes; in++)
        out[n++] = *in > ' ' && *in < 127 && *in != '"' && *in != '\\' ? *in : '?';
    out[n] = 0;
}

void log_exchange(struct log *l, const struct exchange *x, const struct usage *u) {
    char address[64], path[160], method[24], when[40], dropped[40] = "", line[600];
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
    peer(x, address, sizeof address);
    plain(x->path, path, sizeof path);
    plain(x->method, method, sizeof method);
    if (u->dropped) snprintf(dropped, sizeof dropped, " dropped=%lld", (long long)u->dropped);
    int n = snprintf(line, sizeof line,
                     "%s.%03ldZ %s \"%s %s\" %d bytes=%llu seconds=%.3f prompt=%lld cached=%lld "
                     "generated=%lld%s\n",
                     when, now.tv_nsec / 1000000, address, method, path, x->status,
                     (unsigned long long)x->sent, lm_now() - x->began, (long long)u->prompt,
                     (long long)u->cached, (long long)u->generated, dropped);
    if (n > 0) put(l, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}
