/* serve_client MODE http://127.0.0.1:PORT ...: clients of the server that curl cannot be.
 *
 * together ADDRESS CLIENTS REQUESTS [FILE]  every answer is the one that its request got alone;
 *                                    FILE: the bodies of requests, a line each
 * attack ADDRESS SECONDS HONEST      what HONEST clients wait alone, and beside those that harm
 * full ADDRESS CLIENTS               so many at once: some get 429, all others an answer
 * slow ADDRESS                       who does not say what it wants is let go
 * ends ADDRESS N                     N that say no more before they asked are let go soon
 * crowd ADDRESS MOST                 of more connections than MOST some are closed at once
 * lines ADDRESS N                    standard input to the server, its first N lines back
 * garbage ADDRESS                    bytes that are no HTTP end the connection or get status 4xx */
#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in address;

_Noreturn static void die(const char *what) {
    fprintf(stderr, "serve_client: %s\n", what);
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int open_connection(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {.tv_sec = 600};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    for (int i = 0; i < 100; i++) {
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
        usleep(20000);
    }
    die("cannot connect");
}

static bool send_all(int fd, const char *data, size_t bytes) {
    while (bytes) {
        ssize_t n = send(fd, data, bytes, MSG_NOSIGNAL);
        if (n <= 0) return false;
        data += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* All that comes until the other side closes; *FIRST: seconds until something did after the
 * headers. */
static char *read_all(int fd, double *out_first) {
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

struct want {
    char body[512];
    char text[4096], finish[32];
};

struct answer {
    int status;
    char text[4096], finish[32];
    double seconds, first;
    long tokens;
};

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

static void request(const char *body, bool stream, struct answer *a) {
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

/* ---- many at once ---- */

enum { WANTS = 14, MOST_WANTS = 256 };
static struct want wants[MOST_WANTS];
static int nwants;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long next, total, wrong;
static long tokens;
static double *seconds, *firsts;

/* What the request W gets alone. */
static void take_want(struct want *w) {
    struct answer a;
    request(w->body, false, &a);
    if (a.status != 200) die("a request alone fails");
    snprintf(w->text, sizeof w->text, "%s", a.text);
    snprintf(w->finish, sizeof w->finish, "%s", a.finish);
}

static void read_wants(const char *file) {
    FILE *f = fopen(file, "r");
    if (!f) die("cannot read the file of requests");
    while (nwants < MOST_WANTS && fgets(wants[nwants].body, sizeof wants->body, f)) {
        wants[nwants].body[strcspn(wants[nwants].body, "\n")] = 0;
        if (*wants[nwants].body) take_want(&wants[nwants++]);
    }
    fclose(f);
    if (!nwants) die("the file has no requests");
}

static void make_wants(void) {
    static const char *const prompts[] = {"Once upon a time", "A fox and a turtle",
                                          "One rainy morning, a shy girl named",
                                          "It was a snowy day. Leo, a proud boy, was", "The"};
    srandom(7);
    for (int i = 0; i < WANTS; i++) {
        snprintf(wants[i].body, sizeof wants[i].body,
                 "{\"prompt\":\"%s\",\"max_tokens\":%ld,\"temperature\":%s,\"seed\":%d,\"stop\":"
                 "\"garden\",\"ignore_eos\":%s}",
                 prompts[random() % 5], 3 + random() % 18, i % 2 ? "1.2" : "0", i,
                 i % 3 ? "false" : "true");
        take_want(&wants[i]);
    }
    nwants = WANTS;
}

static void *ask_some(void *user) {
    unsigned state = (unsigned)(size_t)user;
    for (;;) {
        pthread_mutex_lock(&lock);
        long at = next++;
        pthread_mutex_unlock(&lock);
        if (at >= total) return NULL;
        const struct want *w = &wants[rand_r(&state) % nwants];
        struct answer a;
        bool stream = rand_r(&state) % 2;
        request(w->body, stream, &a);
        bool same = a.status == 200 && !strcmp(a.text, w->text) && !strcmp(a.finish, w->finish);
        pthread_mutex_lock(&lock);
        seconds[at] = a.seconds;
        firsts[at] = a.first;
        tokens += a.tokens;
        if (!same) {
            wrong++;
            fprintf(stderr, "status %d, %s: '%s', alone %s: '%s'\n", a.status, a.finish, a.text,
                    w->finish, w->text);
        }
        pthread_mutex_unlock(&lock);
    }
}

static int smaller_first(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run_threads(long clients, void *(*work)(void *)) {
    pthread_t *threads = calloc((size_t)clients, sizeof *threads);
    if (!threads) die("out of memory");
    for (long i = 0; i < clients; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(size_t)(i + 1)) != 0)
            die("cannot start a thread");
    for (long i = 0; i < clients; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

static int together(long clients, long requests, const char *file) {
    total = requests;
    seconds = calloc((size_t)requests, sizeof *seconds);
    firsts = calloc((size_t)requests, sizeof *firsts);
    if (!seconds || !firsts || requests < 1) die("out of memory");
    if (file)
        read_wants(file);
    else
        make_wants();
    double began = now();
    run_threads(clients, ask_some);
    double took = now() - began;
    qsort(seconds, (size_t)requests, sizeof *seconds, smaller_first);
    qsort(firsts, (size_t)requests, sizeof *firsts, smaller_first);
    printf("%ld requests of %ld clients: %ld wrong; %.1f s, %.1f tokens/s; seconds p50 %.3f, p99 "
           "%.3f; to the first token p50 %.3f, p99 %.3f\n",
           requests, clients, wrong, took, (double)tokens / took, seconds[requests / 2],
           seconds[requests * 99 / 100], firsts[requests / 2], firsts[requests * 99 / 100]);
    return wrong ? 1 : 0;
}

/* ---- too many ---- */

static long taken, refused;

static void *ask_once(void *user) {
    struct answer a;
    (void)user;
    request("{\"prompt\":\"Once\",\"max_tokens\":90,\"ignore_eos\":true}", false, &a);
    pthread_mutex_lock(&lock);
    taken += a.status == 200 && !strcmp(a.finish, "length");
    refused += a.status == 429;
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* More than the slots and the queue hold: the rest is told so, and nobody else. */
static int full(long clients) {
    clients += 8;
    run_threads(clients, ask_once);
    printf("%ld answered, %ld refused of %ld\n", taken, refused, clients);
    return taken + refused == clients && refused > 0 && taken >= 17 ? 0 : 1;
}

/* ---- those that misbehave ---- */

/* Is the connection closed within SECONDS? */
static bool closed_within(int fd, int limit) {
    struct timeval t = {.tv_sec = limit};
    char byte[512];
    ssize_t n;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    while ((n = recv(fd, byte, sizeof byte, 0)) > 0) {
    }
    return n == 0 || errno == ECONNRESET;
}

static int slow(void) {
    static const char *const beginnings[] = {
        "", "POST /v1/comp", "POST /v1/completions HTTP/1.1\r\nContent-Le",
        "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{\"prompt"};
    int fds[5];
    for (int i = 0; i < 4; i++) {
        fds[i] = open_connection();
        send_all(fds[i], beginnings[i], strlen(beginnings[i]));
    }
    /* One sends a byte of a header now and then, for ever. */
    fds[4] = open_connection();
    send_all(fds[4], "GET / HTTP/1.1\r\nX: ", 19);
    bool open = true;
    for (int i = 0; open && i < 40; i++) {
        usleep(150000);
        open = send_all(fds[4], "x", 1);
    }
    if (open) die("a byte now and then keeps a connection");
    for (int i = 0; i < 4; i++)
        if (!closed_within(fds[i], 8)) die("who says nothing keeps a connection");
    for (int i = 0; i < 5; i++)
        close(fds[i]);
    return 0;
}

static int garbage(void) {
    srandom(3);
    for (int i = 0; i < 60; i++) {
        unsigned char bytes[600];
        double first;
        int n = (int)(random() % 600), fd = open_connection(), status = 0;
        for (int k = 0; k < n; k++)
            bytes[k] = (unsigned char)random();
        if (i % 3 == 0)
            n = snprintf((char *)bytes, sizeof bytes,
                         "POST /v1/completions HTTP/1.%d\r\nContent-Length: %s\r\n\r\n{}", i % 10,
                         i % 2 ? "-5" : "99999999999999999999999");
        if (i % 3 == 1) memcpy(bytes, "GET /%zz\0 HTTP/1.1\r\n\r\n", n < 22 ? (size_t)n : 22);
        send_all(fd, (char *)bytes, (size_t)n);
        shutdown(fd, SHUT_WR);
        char *answer = read_all(fd, &first);
        if (sscanf(answer, "HTTP/1.%*d %d", &status) == 1 && (status < 400 || status >= 500) &&
            status != 505)
            die("rubbish is answered otherwise than with 4xx");
        free(answer);
        close(fd);
    }
    return 0;
}

/* A client that says no more once it has asked, which is not one that has left: it is told all. */
static int half(void) {
    static const char body[] =
        "{\"prompt\":\"Once\",\"max_tokens\":30,\"ignore_eos\":true,\"stream\":true}";
    char head[256];
    double first;
    int fd = open_connection();
    snprintf(head, sizeof head,
             "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %zu\r\n\r\n",
             sizeof body - 1);
    if (!send_all(fd, head, strlen(head)) || !send_all(fd, body, sizeof body - 1))
        die("cannot send");
    /* The library is to see the request before its end, which may come in one piece with it. */
    usleep(100000);
    shutdown(fd, SHUT_WR);
    char *answer = read_all(fd, &first);
    if (!strstr(answer, "data: [DONE]")) die("who says no more is not answered to the end");
    free(answer);
    close(fd);
    return 0;
}

/* They keep their own side open, or the end would be seen without the server's looking for it. */
static int ends(long n) {
    static const char *const beginnings[] = {
        "", "G", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{"};
    for (long i = 0; i < n; i += 20) {
        int fds[20];
        for (int k = 0; k < 20; k++) {
            fds[k] = open_connection();
            send_all(fds[k], beginnings[k % 4], strlen(beginnings[k % 4]));
            shutdown(fds[k], SHUT_WR);
        }
        for (int k = 0; k < 20; k++) {
            if (!closed_within(fds[k], 10)) die("who ends before it asked keeps a connection");
            close(fds[k]);
        }
    }
    return 0;
}

static int crowd(long most) {
    enum { MORE = 10, ALL = 1000 };
    int fds[ALL], closed = 0;
    if (most + MORE > ALL) die("too many");
    for (long i = 0; i < most + MORE; i++)
        fds[i] = open_connection();
    usleep(300000);
    for (long i = 0; i < most + MORE; i++) {
        char byte;
        ssize_t n = recv(fds[i], &byte, 1, MSG_DONTWAIT);
        closed += n == 0 || (n < 0 && errno == ECONNRESET);
        close(fds[i]);
    }
    if (closed < MORE) die("an address has more connections than it may");
    return 0;
}

/* Standard input to the server, and the first N lines that come back. */
static int lines(long n) {
    char bytes[4096];
    int fd = open_connection();
    size_t got = fread(bytes, 1, sizeof bytes, stdin);
    if (!send_all(fd, bytes, got)) die("cannot send");
    while (n > 0 && recv(fd, bytes, 1, 0) == 1) {
        putchar(bytes[0]);
        n -= bytes[0] == '\n';
    }
    close(fd);
    return n ? 1 : 0;
}

/* ---- what harms ---- */

static atomic_bool harmless; /* those that harm are to end */
static atomic_long harms;

/* A body of N bytes, given to PATH; whatever comes back. */
static void give(const char *path, const char *body, size_t n) {
    char head[256];
    int fd = open_connection();
    snprintf(
        head, sizeof head,
        "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
        path, n);
    double first;
    if (send_all(fd, head, strlen(head)) && send_all(fd, body, n)) free(read_all(fd, &first));
    close(fd);
    harms++;
}

/* BEFORE, then UNIT as often as fits into MOST bytes, then BEHIND. */
static char *large(const char *before, const char *unit, const char *behind, size_t most,
                   size_t *out) {
    size_t k = strlen(before), u = strlen(unit), b = strlen(behind);
    char *body = malloc(k + most + u + b + 1);
    if (!body) die("out of memory");
    memcpy(body, before, k);
    while (k + u <= most) {
        memcpy(body + k, unit, u);
        k += u;
    }
    memcpy(body + k, behind, b + 1);
    *out = k + b;
    return body;
}

/* Prompts and messages of 8 MB, and schemas whose states are many. */
static void *harm_by_size(void *user) {
    static const struct {
        const char *path, *before, *unit, *behind;
        size_t bytes;
    } rows[] = {
        {"/v1/completions", "{\"max_tokens\":2,\"prompt\":\"", "word ", "\"}", 8000000},
        {"/v1/chat/completions",
         "{\"max_tokens\":2,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}",
         ",{\"role\":\"user\",\"content\":\"x\"}", "]}", 7000000},
        {"/tokenize", "{\"content\":\"", "ab ", "\"}", 8000000},
        {"/v1/completions", "{\"max_tokens\":2,\"prompt\":\"x\",\"guided_json\":{\"anyOf\":[true",
         ",{\"type\":\"string\",\"maxLength\":4096}", "]}}", 100000},
    };
    for (size_t i = (size_t)user; !harmless; i++) {
        size_t n, k = i % (sizeof rows / sizeof *rows);
        char *body = large(rows[k].before, rows[k].unit, rows[k].behind, rows[k].bytes, &n);
        give(rows[k].path, body, n);
        free(body);
    }
    return NULL;
}

/* Connections that end early, say nothing, or say what is no request. */
static void *harm_by_lines(void *user) {
    static const char *const rows[] = {
        "G", "", "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
        "GET / HTTP/1.1\nHost: x\n\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"};
    for (size_t i = (size_t)user; !harmless; i++) {
        const char *row = rows[i % (sizeof rows / sizeof *rows)];
        int fd = open_connection();
        send_all(fd, row, strlen(row));
        shutdown(fd, SHUT_WR);
        usleep(4000);
        close(fd);
        harms++;
    }
    return NULL;
}

static double honest_for;
static double *waits;
static atomic_long nwaits;
enum { MOST_WAITS = 100000 };

/* Short requests, one after the other, for as long as HONEST_FOR. */
static void *be_honest(void *user) {
    double began = now();
    unsigned state = (unsigned)(size_t)user;
    while (now() - began < honest_for) {
        struct answer a;
        request("{\"prompt\":\"Once upon a time\",\"max_tokens\":8,\"temperature\":0}", true, &a);
        if (a.status != 200) die("an honest request fails");
        long at = nwaits++;
        if (at < MOST_WAITS) waits[at] = a.seconds;
        usleep((useconds_t)(rand_r(&state) % 50000));
    }
    return NULL;
}

/* Median and 99th percentile of what honest clients wait. */
static void measure(long honest, const char *name, double out[2]) {
    nwaits = 0;
    run_threads(honest, be_honest);
    long n = nwaits < MOST_WAITS ? nwaits : MOST_WAITS;
    qsort(waits, (size_t)n, sizeof *waits, smaller_first);
    out[0] = waits[n / 2];
    out[1] = waits[n * 99 / 100];
    printf("%s: %ld requests of %ld clients, p50 %.3f s, p99 %.3f s, longest %.3f s\n", name, n,
           honest, out[0], out[1], waits[n - 1]);
    fflush(stdout);
}

static int attack(double length, long honest) {
    enum { BY_SIZE = 4, BY_LINES = 4 };
    pthread_t threads[BY_SIZE + BY_LINES];
    double alone[2], beside[2];
    waits = calloc(MOST_WAITS, sizeof *waits);
    if (!waits) die("out of memory");
    honest_for = length;
    measure(honest, "alone", alone);
    for (size_t i = 0; i < BY_SIZE + BY_LINES; i++)
        if (pthread_create(&threads[i], NULL, i < BY_SIZE ? harm_by_size : harm_by_lines,
                           (void *)i))
            die("cannot start a thread");
    measure(honest, "beside attacks", beside);
    harmless = true;
    for (size_t i = 0; i < BY_SIZE + BY_LINES; i++)
        pthread_join(threads[i], NULL);
    printf("%ld attacks; beside them %.2f times as long, p99 %.2f\n", (long)harms,
           beside[0] / alone[0], beside[1] / alone[1]);
    return 0;
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
    if (!strcmp(argv[1], "attack") && argc == 5)
        return attack(strtod(argv[3], NULL), strtol(argv[4], NULL, 10));
    if (!strcmp(argv[1], "full") && argc == 4) return full(strtol(argv[3], NULL, 10));
    if (!strcmp(argv[1], "slow")) return slow();
    if (!strcmp(argv[1], "garbage")) return garbage();
    if (!strcmp(argv[1], "half")) return half();
    if (!strcmp(argv[1], "ends") && argc == 4) return ends(strtol(argv[3], NULL, 10));
    if (!strcmp(argv[1], "crowd") && argc == 4) return crowd(strtol(argv[3], NULL, 10));
    if (!strcmp(argv[1], "lines") && argc == 4) return lines(strtol(argv[3], NULL, 10));
    die("no such mode");
}
