/* programs [--programs N] [--seconds S] [--first SEED] [--interpreters] [--big] [--flag-in-data]
 * [--narrow] [--keep FOLDER]
 *          [--kind any|mixed|chains|odd|shapes|wide|dims|scans] [--device NAME|--record FOLDER
 * --target ISA]
 *          [--tries N] [--not-finite N] | --show SEED | --file FILE [--first SEED]
 *
 * Random legal programs (generate.h): each must compile, and the graph interpreter, the task
 * interpreter and the kernels of two GPUs must agree (check.h). What fails is made smaller
 * (shrink.h) and kept. Programs run in a process of their own, which is replaced when it dies. With
 * --record kernels are not launched: FOLDER/SEED.code and FOLDER/SEED.safetensors are for
 * ../device/play.c. */
#include "codegen/codegen.h"
#include "tests/by_hand/programs/check.h"
#include "tests/by_hand/programs/generate.h"
#include "tests/by_hand/programs/shrink.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS_PER_PROGRAM = 20, RESULTS = CHECK_DIED + 1, MEMORY_GIB = 8 };

struct options {
    uint64_t programs, first, show;
    double seconds;
    const char *keep, *file, *device, *record, *target;
    int tries;
    long not_finite; /* so many results are, or -1 */
    bool interpreters, big, flags, narrow;
    gen_kind kind;
    char kernel[4096];
};

/* What the process that checks tells the one that counts. */
struct shared {
    uint64_t next;
    check_result result; /* of `next`, when the process has ended */
    check_totals totals;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static char *program_of(const struct options *o, uint64_t seed) {
    et_arena *a = et_arena_create();
    char *text = strdup(gen_program(a, seed, o->kind, o->big));
    et_arena_destroy(a);
    return text;
}

/* A GPU's driver has addresses for all of its memory. */
static void limit(const struct options *o) {
    struct rlimit memory = {(rlim_t)MEMORY_GIB << 30, (rlim_t)MEMORY_GIB << 30}, core = {0, 0};
#ifndef __SANITIZE_ADDRESS__
    if (!o->device) setrlimit(RLIMIT_AS, &memory);
#endif
    (void)memory, (void)o;
    setrlimit(RLIMIT_CORE, &core);
}

static check_result check(const struct options *o, const char *text, uint64_t seed, FILE *why,
                          check_totals *n) {
    char recorded[4096];
    snprintf(recorded, sizeof recorded, "%s/%llu.code", o->record ? o->record : "",
             (unsigned long long)seed);
    check_options c = {.seed = seed,
                       .kernel = o->record ? recorded : o->kernel,
                       .record = o->record,
                       .interpreters = o->interpreters,
                       .flags = o->flags,
                       .narrow = o->narrow,
                       .device = o->device,
                       .target = o->target,
                       .why = why};
    struct itimerval most = {.it_value.tv_sec = SECONDS_PER_PROGRAM};
    setitimer(ITIMER_PROF, &most, NULL); /* of a processor, however busy the machine is */
    return check_program(text, &c, n);
}

/* Check seeds until one fails, or all are done, or the time is up. */
static void work(const struct options *o, struct shared *s, double until) {
    limit(o);
    while (s->next - o->first < o->programs && now() < until) {
        char *text = program_of(o, s->next);
        s->result = CHECK_DIED; /* unless it comes back */
        s->result = check(o, text, s->next, stdout, &s->totals);
        free(text);
        if (s->result) break;
        s->next++;
    }
    fflush(stdout);
    _exit(0);
}

/* The result of a process that left with STATUS, and with SAID where it came to an end. */
static check_result result_of(int status, check_result said) {
    if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGPROF ? CHECK_SLOW : CHECK_DIED;
    return WIFEXITED(status) && WEXITSTATUS(status) < RESULTS ? said : CHECK_DIED;
}

/* The result of PROGRAM in a process of its own. */
static check_result apart(const struct options *o, const char *text, uint64_t seed, FILE *why) {
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        check_totals n = {0};
        limit(o);
        if (!why && !freopen("/dev/null", "w", stderr)) _exit(CHECK_DIED);
        check_result r = check(o, text, seed, why, &n);
        fflush(NULL);
        _exit((int)r);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) < 0) return CHECK_DIED;
    return result_of(status, (check_result)WEXITSTATUS(status));
}

struct failing {
    const struct options *o;
    uint64_t seed;
    check_result as;
};

static bool fails(void *ctx, const char *text) {
    const struct failing *f = ctx;
    return apart(f->o, text, f->seed, NULL) == f->as;
}

static void keep(const struct options *o, uint64_t seed, const char *kind, const char *text) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%llu.%s.etg", o->keep, (unsigned long long)seed, kind);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) printf("cannot write %s\n", path);
}

static void tell(const struct options *o, uint64_t seed, check_result r) {
    char *text = program_of(o, seed);
    printf("program %llu: %s\n", (unsigned long long)seed, check_name(r));
    if (o->keep) keep(o, seed, check_name(r), text);
    if (r != CHECK_ILLEGAL && r != CHECK_SLOW && o->tries) {
        struct failing f = {o, seed, r};
        char *small = shrink(text, o->tries, fails, &f);
        printf("%s", small);
        if (o->keep) keep(o, seed, "small", small);
        apart(o, small, seed, stdout);
        free(small);
    }
    fflush(stdout);
    free(text);
}

static int run(const struct options *o, struct shared *s) {
    uint64_t count[RESULTS] = {0}, wrong = 0;
    double from = now(), until = o->seconds > 0 ? from + o->seconds : 1e300;
    s->next = o->first;
    while (s->next - o->first < o->programs && now() < until) {
        s->result = CHECK_SAME;
        fflush(NULL);
        pid_t child = fork();
        if (!child) work(o, s, until);
        int status;
        if (child < 0 || waitpid(child, &status, 0) < 0) return 2;
        check_result r = result_of(status, s->result);
        if (r == CHECK_SAME) continue;
        count[r]++;
        wrong++;
        tell(o, s->next, r);
        s->next++;
    }
    double took = now() - from;
    uint64_t n = s->next - o->first;
    const check_totals *t = &s->totals;
    printf("%llu programs from seed %llu, %.1f tasks each: %llu kernels, %llu launches; %.2f "
           "programs/s\n",
           (unsigned long long)n, (unsigned long long)o->first,
           (double)s->totals.groups / (double)(2 * n + !n), (unsigned long long)s->totals.kernels,
           (unsigned long long)s->totals.launches, (double)n / took);
    printf("%llu results, %llu not finite\n", (unsigned long long)t->results,
           (unsigned long long)t->not_finite);
    for (int r = CHECK_ILLEGAL; r < RESULTS; r++)
        printf("%llu %s%s", (unsigned long long)count[r], check_name((check_result)r),
               r + 1 < RESULTS ? ", " : "\n");
    /* Nothing is left out: every program has its kernels, every kernel its launches. */
    uint64_t launches = o->record ? 0 : CHECK_LAUNCHES * t->kernels;
    bool all =
        o->interpreters || (t->kernels == (o->target ? n : 2 * n) && t->launches == launches);
    if (!wrong && !all) printf("kernels or launches are missing\n");
    bool pinned = o->not_finite < 0 || t->not_finite == (uint64_t)o->not_finite;
    if (!pinned) printf("%ld results were to be not finite\n", o->not_finite);
    return wrong || !n || !all || !pinned;
}

static char *read_all(const char *path) {
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (!f || !text || !fread(text, 1, (1 << 20) - 1, f)) printf("cannot read %s\n", path);
    if (f) fclose(f);
    return text;
}

static bool options(struct options *o, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *v = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--interpreters") || !strcmp(argv[i], "--big")) {
            *(argv[i][2] == 'i' ? &o->interpreters : &o->big) = true;
            continue;
        }
        if (!strcmp(argv[i], "--flag-in-data") || !strcmp(argv[i], "--narrow")) {
            *(argv[i][2] == 'f' ? &o->flags : &o->narrow) = true;
            continue;
        }
        i++;
        if (!strcmp(argv[i - 1], "--programs"))
            o->programs = strtoull(v, NULL, 10);
        else if (!strcmp(argv[i - 1], "--first"))
            o->first = strtoull(v, NULL, 10);
        else if (!strcmp(argv[i - 1], "--show"))
            o->show = strtoull(v, NULL, 10);
        else if (!strcmp(argv[i - 1], "--seconds"))
            o->seconds = atof(v);
        else if (!strcmp(argv[i - 1], "--not-finite"))
            o->not_finite = strtol(v, NULL, 10);
        else if (!strcmp(argv[i - 1], "--tries"))
            o->tries = atoi(v);
        else if (!strcmp(argv[i - 1], "--keep"))
            o->keep = v;
        else if (!strcmp(argv[i - 1], "--device"))
            o->device = v;
        else if (!strcmp(argv[i - 1], "--record"))
            o->record = v;
        else if (!strcmp(argv[i - 1], "--target"))
            o->target = v;
        else if (!strcmp(argv[i - 1], "--file"))
            o->file = v;
        else if (!strcmp(argv[i - 1], "--kind") && gen_kind_named(v) >= 0)
            o->kind = (gen_kind)gen_kind_named(v);
        else
            return false;
    }
    bool elsewhere = o->device || o->record;
    return elsewhere == (o->target != NULL) && (!o->target || et_target_find(o->target));
}

static int show(const struct options *o) {
    char *text = program_of(o, o->show);
    bool failed = fputs(text, stdout) < 0;
    free(text);
    return failed;
}

int main(int argc, char **argv) {
    struct options o = {.programs = UINT64_MAX, .first = 1, .tries = 400, .not_finite = -1};
    if (!options(&o, argc, argv)) return printf("usage: see the head of programs.c\n"), 2;
    if (o.show) return show(&o);
    const char *tmp = getenv("TMPDIR");
    char dir[4000];
    snprintf(dir, sizeof dir, "%s/etcc-programs-XXXXXX", tmp ? tmp : P_tmpdir);
    if (!mkdtemp(dir)) return printf("no folder for kernels\n"), 2;
    snprintf(o.kernel, sizeof o.kernel, "%s/k.hsaco", dir);
    struct shared *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int failed = 0;
    if (o.file) {
        char *text = read_all(o.file);
        check_result r = apart(&o, text, o.first, stdout);
        printf("%s\n", check_name(r));
        failed = r != CHECK_SAME;
        free(text);
    } else {
        failed = run(&o, s);
    }
    unlink(o.kernel);
    rmdir(dir);
    return failed;
}
