/* etbench - models, schedules and code objects side by side: counted, timed, predicted. */
#include "bench/etbench/etbench.h"
#include "ir/base/arena.h"
#include "runtime/files/output.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

bool eb_fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
    fputs("etbench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return false;
}

bool eb_fail_status(const char *what, etrt_status status) {
    return eb_fail("%s: %s: %s", what, etrt_status_text(status), etrt_last_error());
}

void *eb_alloc(size_t bytes) {
    void *p = malloc(bytes ? bytes : 1);
    if (p) return p;
    eb_fail("out of memory");
    exit(1);
}

char *eb_text(const char *format, ...) {
    va_list args;
    char *text;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n >= 0) return text;
    eb_fail("out of memory");
    exit(1);
}

void eb_progress(const struct eb_bench *b, int done, int total, const char *what) {
    enum { WIDTH = 30 };
    if (b->o->quiet || !isatty(STDERR_FILENO)) return;
    int full = total > 0 ? (int)((long)done * WIDTH / total) : 0;
    fprintf(stderr, "\r[%.*s%*s] ", full, "##############################", WIDTH - full, "");
    if (total) fprintf(stderr, "%d/%d ", done, total);
    fprintf(stderr, "%s\033[K", what);
    fflush(stderr);
}

void eb_progress_end(const struct eb_bench *b) {
    if (!b->o->quiet && isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}

static bool report(const struct eb_bench *b) {
    const struct eb_options *o = b->o;
    if (!o->quiet) eb_print_text(b, stdout);
    bool ok = !o->json || eb_write_json(b, o->json);
    ok &= !o->markdown || eb_write_markdown(b, o->markdown);
    ok &= !o->plot || eb_write_plot(b, o->plot);
    return ok;
}

static bool bench(const struct eb_options *o) {
    struct eb_bench b = {.o = o};
    bool ok = eb_columns_make(&b) && eb_points_make(&b) && eb_run(&b) && eb_write_timelines(&b);
    eb_progress_end(&b);
    ok = ok && report(&b);
    eb_points_free(&b);
    eb_columns_free(&b);
    return ok;
}

bool eb_do(const struct eb_options *o) {
    if (o->calibrate) return eb_calibrate(o);
    if (o->tune) return eb_tune(o);
    if (o->profile) return eb_profile(o);
    return o->overhead ? eb_overhead(o) : bench(o);
}

int main(int argc, char **argv) {
    struct eb_options o = {.device = "auto", .seed = 1, .repeat = -1, .warmup = -1, .variants = 2};
    et_on_give_up(et_remove_guarded);
    return cli_main(&eb_tool, argc, argv, &o);
}
