/* What the library receives goes through here: it has no way to be given bytes, nor to show those
 * it was sent, so that its calls of recv are answered by this one. All other sockets are passed on.
 *
 * A request that is not right is answered here, once nothing else is being answered, and the
 * library is told that the client says no more. */
#include "examples/llm/engine/lm.h"
#include "examples/llm/serve/server.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { MOST_FDS = 1 << 16 };
static struct client *_Atomic clients[MOST_FDS];

bool receive_begin(struct client *c) {
    if (c->fd < 0 || c->fd >= MOST_FDS) return false;
    clients[c->fd] = c;
    return true;
}

void receive_end(struct client *c) {
    if (c->fd >= 0 && c->fd < MOST_FDS) clients[c->fd] = NULL;
}

void receive_refuse(struct client *c) {
    struct buffer body = {0}, head = {0};
    struct fault f;
    fault_set(&f, c->frame.status, NULL, NULL, "the request is no HTTP that is taken here: %s",
              c->frame.why);
    buffer_json(&body, fault_json(&f, false));
    buffer_format(&head,
                  "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nConnection: close\r\n"
                  "Content-Length: %zu\r\n\r\n",
                  f.status, MHD_get_reason_phrase_for((unsigned)f.status), body.n);
    buffer_add(&head, body.data ? body.data : "", body.n);
    if (!head.failed && !body.failed) send(c->fd, head.data, head.n, MSG_NOSIGNAL | MSG_DONTWAIT);
    buffer_free(&head);
    buffer_free(&body);
    shutdown(c->fd, SHUT_RDWR);
    c->refused = true;
    http_metrics_answer(&c->server->metrics, f.status, false);
}

/* Called where a request is not right. With the server's lock held it is known whether the library
 * still answers one before it: then the watcher ends the connection after that. */
static ssize_t give_up(struct client *c, size_t whole) {
    pthread_mutex_lock(&c->server->lock);
    c->wrong = true;
    if (!whole && c->waiting > 0 && !c->refused) receive_refuse(c);
    pthread_mutex_unlock(&c->server->lock);
    return (ssize_t)whole;
}

/* As libc's, for the library, which finds it before libc's. */
__attribute__((visibility("default"))) ssize_t recv(int fd, void *out, size_t n, int flags) {
    struct client *c = fd >= 0 && fd < MOST_FDS ? clients[fd] : NULL;
    if (c && c->frame.status) return give_up(c, 0);
    ssize_t got = recvfrom(fd, out, n, flags, NULL, NULL);
    if (!c || got <= 0 || (flags & MSG_PEEK)) return got;
    c->heard = true;
    size_t right = frame_take(&c->frame, out, (size_t)got);
    return right < (size_t)got ? give_up(c, right) : got;
}
