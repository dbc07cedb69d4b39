/* test_aborts KERNEL CHECKPOINT DEVICE COUNT: COUNT launches that are ended while they run, and the
 * engine is as it was: the same text, no more memory, descriptors or threads. */
#include "examples/llm/engine/engine.h"
#include "examples/llm/engine/lm.h"
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TOKENS = 12, WARM = 50 };

struct text {
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool done;
    enum engine_end end;
    char why[256];
    int32_t ids[TOKENS + 1];
    int n;
};

_Noreturn static void die(const char *what, const char *detail) {
    fprintf(stderr, "test_aborts: %s %s\n", what, detail);
    exit(1);
}

static bool take_token(void *user, const struct engine_token *token) {
    struct text *t = user;
    if (t->n < TOKENS) t->ids[t->n++] = token->id;
    return true;
}

static void take_end(void *user, const struct engine_result *r) {
    struct text *t = user;
    pthread_mutex_lock(&t->lock);
    t->done = true;
    t->end = r->end;
    snprintf(t->why, sizeof t->why, "%s", r->why ? r->why : "");
    pthread_cond_signal(&t->over);
    pthread_mutex_unlock(&t->lock);
}

/* PATIENCE: microseconds after which it is not wanted any more; negative: it is wanted. */
static void write_text(struct engine *e, struct text *t, int64_t most, long patience) {
    static const int32_t prompt[] = {1, 20, 33, 46, 59, 72, 25, 38, 51, 64};
    struct engine_job job = {
        .prompt = prompt, .n = sizeof prompt / sizeof *prompt, .most = most, .top = -1};
    char err[LLM_ERR];
    uint64_t id;
    t->done = false;
    t->n = 0;
    job.run_on = true;
    job.sampling = sampling_greedy();
    job.sink = (struct engine_sink){.user = t, .token = take_token, .end = take_end};
    if (engine_submit(e, &job, 1, &id, err) != ENGINE_TAKEN) die("not taken:", err);
    if (patience >= 0) {
        usleep((useconds_t)patience);
        engine_cancel(e, id);
    }
    pthread_mutex_lock(&t->lock);
    while (!t->done)
        pthread_cond_wait(&t->over, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

static long count_entries(const char *folder) {
    DIR *d = opendir(folder);
    long n = 0;
    if (!d) die("cannot read", folder);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

struct use {
    long kilobytes, descriptors, threads;
};

static struct use measure(void) {
    long pages = 0, all = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &all, &pages) != 2) die("cannot read", "/proc/self/statm");
    fclose(f);
    return (struct use){pages * (sysconf(_SC_PAGESIZE) / 1024), count_entries("/proc/self/fd"),
                        count_entries("/proc/self/task")};
}

int main(int argc, char **argv) {
    struct text t = {.lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};
    struct engine_options o = {0};
    struct engine *e;
    struct engine_stats s = {0};
    int32_t want[TOKENS];
    char err[LLM_ERR];
    if (argc != 5) die("KERNEL CHECKPOINT DEVICE COUNT", "");
    o.kernel = argv[1];
    struct engine_model m = {.weights = argv[2]};
    o.device = argv[3];
    long count = strtol(argv[4], NULL, 10);
    if (!engine_open(&o, &m, 1, &e, err)) die("cannot open:", err);
    write_text(e, &t, TOKENS, -1);
    if (t.end != ENGINE_LENGTH) die("no text:", t.why);
    memcpy(want, t.ids, sizeof want);

    struct use before = {0};
    double began = lm_now(), longest = 0;
    for (long i = 0; s.cancelled < count; i++) {
        if (s.cancelled < WARM) before = measure();
        if (i > count * 20) die("too few launches are ended early", "");
        double from = lm_now();
        write_text(e, &t, 400, random() % 4000);
        if (t.end != ENGINE_CANCELLED) die("an end that nobody asked for:", t.why);
        if (lm_now() - from > longest) longest = lm_now() - from;
        engine_stats(e, &s);
    }
    struct use after = measure();
    write_text(e, &t, TOKENS, -1);
    if (t.end != ENGINE_LENGTH || memcmp(t.ids, want, sizeof want) != 0) die("another text", t.why);
    engine_stats(e, &s);
    engine_close(e);
    printf("%lld launches ended early in %.1f s, the longest wait %.3f s; memory %ld KB, then %ld; "
           "descriptors %ld, %ld; threads %ld, %ld\n",
           (long long)s.cancelled, lm_now() - began, longest, before.kilobytes, after.kilobytes,
           before.descriptors, after.descriptors, before.threads, after.threads);
    if (s.failures) die("a launch failed", "");
    if (after.descriptors > before.descriptors || after.threads > before.threads)
        die("descriptors or threads are left", "");
    /* Allocators settle; a leak of a hundred bytes for each of 10,000 would be seen. */
    if (after.kilobytes > before.kilobytes + 1024) die("memory grows", "");
    return 0;
}
