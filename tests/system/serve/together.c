/* Requests whose answers are known, and more of them than there is room for. */
#include "tests/system/serve/client.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WANTS = 14, MOST_WANTS = 256 };
struct want wants[MOST_WANTS];
int nwants;
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

void read_wants(const char *file) {
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

bool is_wanted(const struct answer *a, const struct want *w) {
    if (a->status == 200 && !strcmp(a->text, w->text) && !strcmp(a->finish, w->finish)) return true;
    fprintf(stderr, "status %d, %s: '%s', alone %s: '%s'\n", a->status, a->finish, a->text,
            w->finish, w->text);
    return false;
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
        bool same = is_wanted(&a, w);
        pthread_mutex_lock(&lock);
        seconds[at] = a.seconds;
        firsts[at] = a.first;
        tokens += a.tokens;
        wrong += !same;
        pthread_mutex_unlock(&lock);
    }
}

int together(long clients, long requests, const char *file) {
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
int full(long clients) {
    clients += 8;
    run_threads(clients, ask_once);
    printf("%ld answered, %ld refused of %ld\n", taken, refused, clients);
    return taken + refused == clients && refused > 0 && taken >= 17 ? 0 : 1;
}
