#include "runtime/etrt/base/json.h"

#include "runtime/etrt/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { MAX_STRING = 1024 }; /* as in the language, whose strings name tensors of checkpoints */

/* Stands in for libc's stdin in the jansson linked into libetrt (CMakeLists.txt says why). */
extern FILE *etrt_json_stdin;
FILE *etrt_json_stdin;

/* And for what jansson seeds its hash tables by, which is larger: files are untrusted, so nobody
 * may know the seed. */
extern volatile uint32_t hashtable_seed;
volatile uint32_t hashtable_seed;

void json_object_seed(size_t seed) {
    uint32_t word = (uint32_t)seed;
    if (!word) (void)!getrandom(&word, sizeof word, 0); /* so few bytes are not interrupted */
    hashtable_seed = word | 1;
}

static size_t path_text(const struct etrt_json_at *at, char *buf, size_t bytes) {
    if (!at || !bytes) return 0;
    size_t used = path_text(at->up, buf, bytes);
    int n = at->key ? snprintf(buf + used, bytes - used, "%s%s", used ? "." : "", at->key)
                    : snprintf(buf + used, bytes - used, "[%zu]", at->index);
    used += n > 0 ? (size_t)n : 0;
    return used < bytes ? used : bytes - 1;
}

etrt_status etrt_json_fail(const struct etrt_json_at *at, const char *format, ...) {
    char where[512] = "", text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    path_text(at, where, sizeof where);
    return etrt_fail(ETRT_FORMAT, "%s%s%s", where, *where ? ": " : "", text);
}

etrt_status etrt_json_parse(const char *text, size_t bytes, json_t **out) {
    json_error_t err;
    *out = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &err);
    if (!*out)
        return etrt_fail(ETRT_FORMAT, "not JSON: line %d, column %d: %s", err.line, err.column,
                         err.text);
    if (json_is_object(*out)) return ETRT_OK;
    json_decref(*out);
    *out = NULL;
    return etrt_fail(ETRT_FORMAT, "not a JSON object");
}

etrt_status etrt_json_check_int(const struct etrt_json_at *at, json_t *value, int64_t lo,
                                int64_t hi, int64_t *out) {
    if (!json_is_integer(value)) return etrt_json_fail(at, "must be an integer");
    *out = json_integer_value(value);
    if (*out < lo || *out > hi)
        return etrt_json_fail(at, "%lld is outside %lld..%lld", (long long)*out, (long long)lo,
                              (long long)hi);
    return ETRT_OK;
}

etrt_status etrt_json_check_string(const struct etrt_json_at *at, json_t *value, const char **out) {
    if (!json_is_string(value)) return etrt_json_fail(at, "must be a string");
    *out = json_string_value(value);
    size_t n = json_string_length(value);
    if (n == 0 || n > MAX_STRING)
        return etrt_json_fail(at, "must have 1 to %d bytes, has %zu", MAX_STRING, n);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)(*out)[i] < 0x20 || (*out)[i] == 0x7f)
            return etrt_json_fail(at, "holds a control character");
    return ETRT_OK;
}

/* AT is filled in for the member. */
static etrt_status member(const struct etrt_json_at *up, json_t *object, const char *key,
                          struct etrt_json_at *at, json_t **out) {
    *at = (struct etrt_json_at){up, key, 0};
    *out = json_object_get(object, key);
    return *out ? ETRT_OK : etrt_json_fail(at, "is missing");
}

etrt_status etrt_json_int(const struct etrt_json_at *up, json_t *object, const char *key,
                          int64_t lo, int64_t hi, int64_t *out) {
    struct etrt_json_at at;
    json_t *v;
    etrt_status st = member(up, object, key, &at, &v);
    return st == ETRT_OK ? etrt_json_check_int(&at, v, lo, hi, out) : st;
}

etrt_status etrt_json_string(const struct etrt_json_at *up, json_t *object, const char *key,
                             const char **out) {
    struct etrt_json_at at;
    json_t *v;
    etrt_status st = member(up, object, key, &at, &v);
    return st == ETRT_OK ? etrt_json_check_string(&at, v, out) : st;
}

etrt_status etrt_json_array(const struct etrt_json_at *up, json_t *object, const char *key,
                            size_t max_count, json_t **out) {
    struct etrt_json_at at;
    etrt_status st = member(up, object, key, &at, out);
    if (st != ETRT_OK) return st;
    if (!json_is_array(*out)) return etrt_json_fail(&at, "must be an array");
    if (json_array_size(*out) > max_count)
        return etrt_json_fail(&at, "has %zu elements, %zu at most", json_array_size(*out),
                              max_count);
    return ETRT_OK;
}

etrt_status etrt_json_object(const struct etrt_json_at *up, json_t *object, const char *key,
                             json_t **out) {
    struct etrt_json_at at;
    etrt_status st = member(up, object, key, &at, out);
    if (st != ETRT_OK) return st;
    return json_is_object(*out) ? ETRT_OK : etrt_json_fail(&at, "must be an object");
}
