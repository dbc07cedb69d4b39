#include "examples/llm/base/json_file.h"
#include "runtime/files/input.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static json_t *read(const char *dir, const char *name, bool optional, bool list, char *err) {
    enum { MAX_BYTES = 256 << 20 };
    char path[PATH_MAX], why[ET_WHY];
    struct stat sb;
    size_t bytes;
    *err = 0;
    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path) {
        llm_fail(err, "%s: name too long", name);
        return NULL;
    }
    if (optional && stat(path, &sb) != 0 && errno == ENOENT) return NULL;
    char *text = et_file_read(path, MAX_BYTES, &bytes, why);
    if (!text) {
        llm_fail(err, "%s: %s", path, why);
        return NULL;
    }
    json_error_t e;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &e);
    free(text);
    if (root && (list ? json_is_array(root) : json_is_object(root))) return root;
    if (root)
        llm_fail(err, "%s: not a JSON %s", path, list ? "array" : "object");
    else
        llm_fail(err, "%s: line %d: %s", path, e.line, e.text);
    json_decref(root);
    return NULL;
}

json_t *json_file(const char *dir, const char *name, bool optional, char *err) {
    return read(dir, name, optional, false, err);
}

json_t *json_file_list(const char *dir, const char *name, bool optional, char *err) {
    return read(dir, name, optional, true, err);
}

int32_t json_file_id(const json_t *j) {
    double v = json_is_real(j) ? json_real_value(j) : -1;
    return v >= 0 && v <= LLM_MAX_ID && v == (double)(int32_t)v ? (int32_t)v : -1;
}
