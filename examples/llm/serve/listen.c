#include "examples/llm/serve/server.h"
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

static bool ready(int fd, const struct sockaddr *address, socklen_t bytes) {
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return bind(fd, address, bytes) == 0 && listen(fd, BACKLOG) == 0;
}

/* The port, where any was asked for. */
static int port_of(int fd) {
    struct sockaddr_storage a = {0};
    socklen_t bytes = sizeof a;
    getsockname(fd, (struct sockaddr *)&a, &bytes);
    return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
                                         : ((struct sockaddr_in *)&a)->sin_port);
}

static bool open_tcp(const struct serve_options *o, int *out_fd, char *where, size_t bytes,
                     char *err) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    char port[16];
    snprintf(port, sizeof port, "%lld", (long long)o->port);
    int status = getaddrinfo(o->host, port, &hints, &found);
    if (status) return llm_fail(err, "--host %s: %s", o->host, gai_strerror(status));
    int fd = -1, why = 0;
    for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && ready(fd, a->ai_addr, a->ai_addrlen)) break;
        why = errno;
        if (fd >= 0) close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    if (fd < 0)
        return llm_fail(err, "cannot listen to %s, port %lld: %s", o->host, (long long)o->port,
                        strerror(why));
    bool six = strchr(o->host, ':') != NULL;
    snprintf(where, bytes, six ? "http://[%s]:%d" : "http://%s:%d", o->host, port_of(fd));
    *out_fd = fd;
    return true;
}

/* A socket that nobody listens to any more is in the way; anything else is left alone. */
static bool remove_stale(const struct sockaddr_un *a) {
    struct stat st;
    if (lstat(a->sun_path, &st) != 0) return true;
    if (!S_ISSOCK(st.st_mode)) return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool stale = connect(fd, (const struct sockaddr *)a, sizeof *a) != 0 && errno == ECONNREFUSED;
    close(fd);
    return stale && unlink(a->sun_path) == 0;
}

static bool open_unix(const struct serve_options *o, int *out_fd, char *where, size_t bytes,
                      char *err) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (strlen(o->unix_path) >= sizeof a.sun_path)
        return llm_fail(err, "%s: longer than a socket's path can be", o->unix_path);
    strcpy(a.sun_path, o->unix_path);
    if (!remove_stale(&a)) return llm_fail(err, "%s is there already", o->unix_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || !ready(fd, (struct sockaddr *)&a, sizeof a)) {
        llm_fail(err, "cannot listen to %s: %s", o->unix_path, strerror(errno));
        if (fd >= 0) close(fd);
        return false;
    }
    snprintf(where, bytes, "unix:%s", o->unix_path);
    *out_fd = fd;
    return true;
}

bool listen_open(const struct serve_options *o, int *out_fd, char *where, size_t bytes, char *err) {
    *out_fd = -1;
    return o->unix_path ? open_unix(o, out_fd, where, bytes, err)
                        : open_tcp(o, out_fd, where, bytes, err);
}

void listen_remove(const struct serve_options *o) {
    if (o->unix_path) unlink(o->unix_path);
}
