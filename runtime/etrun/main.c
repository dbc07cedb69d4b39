/* etrun - run a compiled model from the command line, or replay a captured launch. */
#include "runtime/etrun/etrun.h"

#include <stdarg.h>

bool fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("etrun: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return false;
}

bool fail_status(etrt_status status) {
    return fail("%s: %s", etrt_status_text(status), etrt_last_error());
}

int main(int argc, char **argv) {
    struct options o;
    enum parsed parsed = options_parse(argc, argv, &o);
    bool ok = parsed == PARSED_DONE;
    if (parsed == PARSED_RUN)
        ok = o.list ? list_model(o.model) : o.replay ? replay_launch(&o) : run_model(&o);
    options_free(&o);
    if (fflush(stdout) != 0 && ok) ok = fail("cannot write the standard output");
    return parsed == PARSED_BAD ? 2 : ok ? 0 : 1;
}
