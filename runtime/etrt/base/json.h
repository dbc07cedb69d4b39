/* json.h - reading untrusted JSON with messages that say where. */
#ifndef ETRT_JSON_H
#define ETRT_JSON_H

#include "runtime/etrt.h"

#include <jansson.h>
#include <stdint.h>

/* Where we are, for messages: a chain of steps on the callers' stacks. */
struct etrt_json_at {
    const struct etrt_json_at *up;
    const char *key; /* NULL: an array element, INDEX */
    size_t index;
};

etrt_status etrt_json_fail(const struct etrt_json_at *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Parse a text whose top level must be an object. */
etrt_status etrt_json_parse(const char *text, size_t bytes, json_t **out);

/* Members of an object; a missing or mistyped one, a value out of [LO, HI], or a string that is
 * empty, longer than 255 bytes or holds control characters fails. */
etrt_status etrt_json_int(const struct etrt_json_at *, json_t *object, const char *key, int64_t lo,
                          int64_t hi, int64_t *out);
etrt_status etrt_json_string(const struct etrt_json_at *, json_t *object, const char *key,
                             const char **out);
etrt_status etrt_json_array(const struct etrt_json_at *, json_t *object, const char *key,
                            size_t max_count, json_t **out);
etrt_status etrt_json_object(const struct etrt_json_at *, json_t *object, const char *key,
                             json_t **out);
/* The same checks for a value at hand. */
etrt_status etrt_json_check_string(const struct etrt_json_at *, json_t *value, const char **out);
etrt_status etrt_json_check_int(const struct etrt_json_at *, json_t *value, int64_t lo, int64_t hi,
                                int64_t *out);

#endif
