/* Output files, written under a temporary name and renamed when complete. */
#include "passes/timeline/int.h"

#include <errno.h>
#include <string.h>

static bool failed(const char *path, char err[TIMELINE_ERR]) {
    snprintf(err, TIMELINE_ERR, "%s: %s", path, strerror(errno));
    return false;
}

bool timeline_open(et_output *f, const char *path, char err[TIMELINE_ERR]) {
    return et_output_open(f, path) || failed(path, err);
}

bool timeline_close(et_output *f, char err[TIMELINE_ERR]) {
    return et_output_close(f, true) || failed(f->path, err);
}
