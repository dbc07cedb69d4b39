/* verify_program FILE.etg...: lower each to a scheduled program and verify it; print what was
 * looked at. For timing and for trying things. */
#include "ir/verify/verify.h"
#include "passes/passes.h"
#include "tests/support/random_model.h"
#include <time.h>

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool verify(const char *path) {
    et_arena *a = et_arena_create();
    et_diags *d = et_diags_create(a);
    et_pass_options opt = {.machine = et_machine_for("gfx942")};
    et_graph *g = tm_parse(a, d, path);
    et_program *p = NULL;
    bool ok = g && et_passes_run(g, &opt, &p);
    et_verify_options options = {.dies = opt.machine->dies};
    et_verify_report r = {0};
    size_t before = et_arena_bytes(a);
    double start = seconds();
    ok = ok && et_verify(p, &options, d, &r);
    et_diag_print(d, stderr);
    printf("%s: %s, %lld values%s, up to %lld tasks, %lld pairs, %lld steps, %.0f ms, %zu bytes\n",
           path, ok ? "verified" : "failed", (long long)r.values,
           r.exhaustive ? " (all)"
           : r.proved   ? " (enough)"
                        : "",
           (long long)r.tasks, (long long)r.pairs, (long long)r.work, 1e3 * (seconds() - start),
           et_arena_bytes(a) - before);
    et_arena_destroy(a);
    return ok;
}

int main(int argc, char **argv) {
    bool ok = argc > 1;
    for (int i = 1; i < argc; i++)
        ok &= verify(argv[i]);
    return !ok;
}
