/* What honest clients wait beside those that harm. */
#include "tests/system/serve/client.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- what harms ---- */

static atomic_bool harmless; /* those that harm are to end */
static atomic_long harms;

/* BEFORE, then UNIT as often as fits into MOST bytes, then BEHIND. In UNIT, "%d" is a number that
 * was not there yet. */
static char *large(const char *before, const char *unit, const char *behind, size_t most,
                   size_t *out) {
    static atomic_long fresh;
    size_t k = strlen(before), room = k + most + strlen(unit) + strlen(behind) + 32;
    const char *hole = strstr(unit, "%d");
    char *body = malloc(room), one[64];
    if (!body) die("out of memory");
    memcpy(body, before, k + 1);
    for (size_t u; k < most; k += u) {
        if (hole)
            snprintf(one, sizeof one, "%.*s%ld%s", (int)(hole - unit), unit, fresh++, hole + 2);
        else
            snprintf(one, sizeof one, "%s", unit);
        u = strlen(one);
        memcpy(body + k, one, u + 1);
    }
    memcpy(body + k, behind, strlen(behind) + 1);
    *out = k + strlen(behind);
    return body;
}

/* Prompts and messages of 8 MB, schemas whose states are many, and enums that nobody sent before.
 */
static void *harm_by_size(void *user) {
    static const struct {
        const char *path, *before, *unit, *behind;
        size_t bytes;
    } rows[] = {
        {"/v1/completions", "{\"max_tokens\":2,\"prompt\":\"", "word ", "\"}", 8000000},
        {"/v1/chat/completions",
         "{\"max_tokens\":2,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}",
         ",{\"role\":\"user\",\"content\":\"x\"}", "]}", 7000000},
        {"/v1/completions", "{\"max_tokens\":12,\"prompt\":\"x\",\"guided_json\":{\"enum\":[\"w\"",
         ",\"w%d\"", "]}}", 200000},
        {"/tokenize", "{\"content\":\"", "ab ", "\"}", 8000000},
        {"/v1/completions", "{\"max_tokens\":2,\"prompt\":\"x\",\"guided_json\":{\"anyOf\":[true",
         ",{\"type\":\"string\",\"maxLength\":4096}", "]}}", 100000},
        {"/v1/completions", "{\"max_tokens\":2,\"prompt\":\"x\",\"stop\":[\"x\"", ",\"stop%d\"",
         "]}", 1000000},
    };
    for (size_t i = (size_t)user; !harmless; i++) {
        size_t n, k = i % (sizeof rows / sizeof *rows);
        char *body = large(rows[k].before, rows[k].unit, rows[k].behind, rows[k].bytes, &n);
        post(rows[k].path, body, n);
        free(body);
        harms++;
    }
    return NULL;
}

/* Connections that end early, say nothing, are of a page elsewhere, or say what may be read in two
 * ways. */
static void *harm_by_lines(void *user) {
    static const char *const rows[] = {
        "G",
        "",
        "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
        "GET / HTTP/1.1\nHost: x\n\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nab",
        "GET /v1/models HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n\r\n",
        "\x16\x03\x01junk",
    };
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

/* ---- those that are honest ---- */

enum { MOST_HONEST = 64, MOST_WAITS = 20000 };
struct waits {
    double *seconds; /* of the requests of a client, one after the other */
    long n;
};
struct phase {
    const char *name;
    struct waits of[MOST_HONEST];
    double median, p99, longest;
    double medians[MOST_HONEST];
};
static struct phase *phase; /* in which answers are counted */
static double until;

static void *be_honest(void *user) {
    unsigned state = (unsigned)(size_t)user;
    struct waits *w = &phase->of[state - 1];
    while (now() < until) {
        struct answer a;
        request("{\"prompt\":\"Once upon a time\",\"max_tokens\":8,\"temperature\":0}", true, &a);
        if (a.status != 200) die("an honest request fails");
        if (w->n < MOST_WAITS) w->seconds[w->n++] = a.seconds;
        usleep((useconds_t)(rand_r(&state) % 50000));
    }
    return NULL;
}

static void run_honest(struct phase *p, long honest, double seconds) {
    phase = p;
    until = now() + seconds;
    run_threads(honest, be_honest);
}

static void conclude(struct phase *p, long honest) {
    long n = 0;
    double *all = calloc((size_t)honest * MOST_WAITS, sizeof *all);
    if (!all) die("out of memory");
    for (long i = 0; i < honest; i++) {
        struct waits *w = &p->of[i];
        if (!w->n) die("an honest client had no answer");
        memcpy(all + n, w->seconds, (size_t)w->n * sizeof *all);
        n += w->n;
        qsort(w->seconds, (size_t)w->n, sizeof *w->seconds, smaller_first);
        p->medians[i] = w->seconds[w->n / 2];
    }
    qsort(all, (size_t)n, sizeof *all, smaller_first);
    p->median = all[n / 2];
    p->p99 = all[n * 99 / 100];
    p->longest = all[n - 1];
    printf("%s: %ld requests of %ld clients, p50 %.3f s, p99 %.3f s, longest %.3f s\n", p->name, n,
           honest, p->median, p->p99, p->longest);
    free(all);
}

static void run_beside(struct phase *p, long honest, double seconds) {
    enum { BY_SIZE = 4, BY_LINES = 4 };
    pthread_t threads[BY_SIZE + BY_LINES];
    harmless = false;
    for (size_t i = 0; i < BY_SIZE + BY_LINES; i++)
        if (pthread_create(&threads[i], NULL, i < BY_SIZE ? harm_by_size : harm_by_lines,
                           (void *)i))
            die("cannot start a thread");
    run_honest(p, honest, seconds);
    harmless = true;
    for (size_t i = 0; i < BY_SIZE + BY_LINES; i++)
        pthread_join(threads[i], NULL);
}

/* By turns, so that what else the machine does is in both. */
int attack(double seconds, long honest, double longer) {
    enum { TURNS = 3 };
    static struct phase alone = {.name = "alone"}, beside = {.name = "beside attacks"};
    if (honest < 1 || honest > MOST_HONEST) die("1 to 64 honest clients");
    for (long i = 0; i < honest; i++) {
        alone.of[i].seconds = calloc(MOST_WAITS, sizeof(double));
        beside.of[i].seconds = calloc(MOST_WAITS, sizeof(double));
        if (!alone.of[i].seconds || !beside.of[i].seconds) die("out of memory");
    }
    for (int i = 0; i < TURNS; i++) {
        run_honest(&alone, honest, seconds / TURNS);
        run_beside(&beside, honest, seconds / TURNS);
    }
    conclude(&alone, honest);
    conclude(&beside, honest);
    double most = 0;
    for (long i = 0; i < honest; i++)
        most = beside.medians[i] / alone.medians[i] > most ? beside.medians[i] / alone.medians[i]
                                                           : most;
    printf("%ld attacks; beside them %.2f times as long, p99 %.2f, the client that waits longest "
           "%.2f\n",
           (long)harms, beside.median / alone.median, beside.p99 / alone.p99, most);
    return longer > 0 && most > longer;
}
