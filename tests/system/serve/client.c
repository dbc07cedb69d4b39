/* serve_client MODE http://127.0.0.1:PORT ...: clients of the server that curl cannot be.
 *
 * together ADDRESS CLIENTS REQUESTS [FILE]  every answer is the one that its request got alone;
 *                                    FILE: the bodies of requests, a line each
 * attack ADDRESS SECONDS HONEST [LONGER]  what HONEST clients wait alone, and beside those that
 *                                    harm; fails where one waits more than LONGER times as long
 * loading ADDRESS SECONDS CLIENTS FILE  every answer is the one that its request got alone, while
 *                                    models are loaded and unloaded
 * full ADDRESS CLIENTS               so many at once: some get 429, all others an answer
 * slow ADDRESS                       who does not say what it wants is let go
 * ends ADDRESS N                     N that say no more before they asked are let go soon
 * crowd ADDRESS MOST                 of more connections than MOST some are closed at once
 * lines ADDRESS N                    standard input to the server, its first N lines back
 * garbage ADDRESS                    bytes that are no HTTP end the connection or get status 4xx */
#include "tests/system/serve/client.h"
#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in address;

_Noreturn void die(const char *what) {
    fprintf(stderr, "serve_client: %s\n", what);
    exit(1);
}

double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int open_connection(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {.tv_sec = 600};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    for (int i = 0; i < 100; i++) {
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
        usleep(20000);
    }
    die("cannot connect");
}

bool send_all(int fd, const char *data, size_t bytes) {
    while (bytes) {
        ssize_t n = send(fd, data, bytes, MSG_NOSIGNAL);
        if (n <= 0) return false;
        data += n;
        bytes -= (size_t)n;
    }
    return true;
}

char *read_all(int fd, double *out_first) {
    size_t n = 0, cap = 4096;
    char *data = malloc(cap);
    double began = now();
    *out_first = 0;
    for (;;) {
        if (n + 2048 > cap) data = realloc(data, cap *= 2);
        if (!data) die("out of memory");
        ssize_t got = recv(fd, data + n, cap - n - 1, 0);
        if (got <= 0) break;
        n += (size_t)got;
        data[n] = 0;
        if (!*out_first && strstr(data, "\"text\":")) *out_first = now() - began;
    }
    data[n] = 0;
    return data;
}

/* ---- a request ---- */

static void take_choice(struct answer *a, const json_t *event) {
    const json_t *choice = json_array_get(json_object_get(event, "choices"), 0);
    const json_t *string = json_object_get(choice, "text");
    const char *text = json_string_value(string);
    const char *finish = json_string_value(json_object_get(choice, "finish_reason"));
    const json_t *tokens = json_object_get(json_object_get(event, "usage"), "completion_tokens");
    /* A text may have bytes 0, which are written as 1 here. */
    size_t n = strlen(a->text), more = text ? json_string_length(string) : 0;
    for (size_t i = 0; i < more && n + 1 < sizeof a->text; i++)
        a->text[n++] = text[i] ? text[i] : 1;
    if (finish) snprintf(a->finish, sizeof a->finish, "%s", finish);
    if (tokens) a->tokens = (long)json_integer_value(tokens);
    if (json_object_get(event, "error")) snprintf(a->finish, sizeof a->finish, "error");
}

static void take_events(struct answer *a, char *body) {
    char *rest = body;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        if (strncmp(line, "data: {", 7)) continue;
        json_t *event = json_loads(line + 6, JSON_ALLOW_NUL, NULL);
        if (!event) die("an event is not JSON");
        take_choice(a, event);
        json_decref(event);
    }
}

void request(const char *body, bool stream, struct answer *a) {
    char head[1024];
    int fd = open_connection();
    size_t bytes = strlen(body);
    /* STREAM takes the place of the brace that ends the body. */
    const char *more =
        stream ? ",\"stream\":true,\"stream_options\":{\"include_usage\":true}}" : "}";
    snprintf(head, sizeof head,
             "POST /v1/completions HTTP/1.0\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n%.*s%s",
             bytes - 1 + strlen(more), (int)bytes - 1, body, more);
    *a = (struct answer){0};
    double began = now();
    if (!send_all(fd, head, strlen(head))) die("cannot send");
    char *data = read_all(fd, &a->first);
    a->seconds = now() - began;
    close(fd);
    if (sscanf(data, "HTTP/1.%*d %d", &a->status) != 1) die("no answer");
    char *content = strstr(data, "\r\n\r\n");
    if (!content) die("no end of headers");
    content += 4;
    if (stream && a->status == 200) {
        bool done = strstr(content, "data: [DONE]") != NULL;
        take_events(a, content);
        if (!done) die("a stream ended early");
    } else {
        json_t *value = json_loads(content, JSON_ALLOW_NUL, NULL);
        if (!value) die("an answer is not JSON");
        take_choice(a, value);
        json_decref(value);
    }
    free(data);
}

int post(const char *path, const char *body, size_t bytes) {
    char head[256];
    int fd = open_connection(), status = 0;
    double first;
    snprintf(
        head, sizeof head,
        "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
        path, bytes);
    if (send_all(fd, head, strlen(head)) && send_all(fd, body, bytes)) {
        char *answer = read_all(fd, &first);
        if (sscanf(answer, "HTTP/1.%*d %d", &status) != 1) status = 0;
        free(answer);
    }
    close(fd);
    return status;
}

/* ---- threads ---- */

void run_threads(long clients, void *(*work)(void *)) {
    pthread_t *threads = calloc((size_t)clients, sizeof *threads);
    if (!threads) die("out of memory");
    for (long i = 0; i < clients; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(size_t)(i + 1)) != 0)
            die("cannot start a thread");
    for (long i = 0; i < clients; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

int smaller_first(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int port;
    signal(SIGPIPE, SIG_IGN);
    if (argc < 3 || sscanf(argv[2], "http://127.0.0.1:%d", &port) != 1)
        die("MODE http://127.0.0.1:PORT ...");
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!strcmp(argv[1], "together") && (argc == 5 || argc == 6))
        return together(strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10),
                        argc == 6 ? argv[5] : NULL);
    if (!strcmp(argv[1], "attack") && (argc == 5 || argc == 6))
        return attack(strtod(argv[3], NULL), strtol(argv[4], NULL, 10),
                      argc == 6 ? strtod(argv[5], NULL) : 0);
    if (!strcmp(argv[1], "loading") && argc == 6)
        return loading(strtod(argv[3], NULL), strtol(argv[4], NULL, 10), argv[5]);
    if (!strcmp(argv[1], "full") && argc == 4) return full(strtol(argv[3], NULL, 10));
    if (!strcmp(argv[1], "slow")) return slow();
    if (!strcmp(argv[1], "garbage")) return garbage();
    if (!strcmp(argv[1], "half")) return half();
    if (!strcmp(argv[1], "ends") && argc == 4) return ends(strtol(argv[3], NULL, 10));
    if (!strcmp(argv[1], "crowd") && argc == 4) return crowd(strtol(argv[3], NULL, 10));
    if (!strcmp(argv[1], "lines") && argc == 4) return lines(strtol(argv[3], NULL, 10));
    die("no such mode");
}
