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
    struct options o = {.device = "auto", .repeat = 1, .capture_limit = 16};
    return cli_main(&etrun_tool, argc, argv, &o);
}
