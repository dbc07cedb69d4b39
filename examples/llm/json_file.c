#include "examples/llm/json_file.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

json_t *json_file(const char *dir, const char *name, bool optional, char *err) {
    enum { MAX_BYTES = 256 << 20 };
    char path[PATH_MAX];
    struct stat sb;
    *err = 0;
    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path) {
        llm_fail(err, "%s: name too long", name);
        return NULL;
    }
    if (stat(path, &sb)) {
        if (!optional || errno != ENOENT) llm_fail(err, "%s: %s", path, strerror(errno));
        return NULL;
    }
    if (!S_ISREG(sb.st_mode) || sb.st_size > MAX_BYTES) {
        llm_fail(err, "%s: not a regular file of at most 256 MB", path);
        return NULL;
    }
    json_error_t e;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &e);
    if (root && json_is_object(root)) return root;
    if (root)
        llm_fail(err, "%s: not a JSON object", path);
    else
        llm_fail(err, "%s: line %d: %s", path, e.line, e.text);
    json_decref(root);
    return NULL;
}

int32_t json_file_id(const json_t *j) {
    double v = json_is_real(j) ? json_real_value(j) : -1;
    return v >= 0 && v <= LLM_MAX_ID && v == (double)(int32_t)v ? (int32_t)v : -1;
}
