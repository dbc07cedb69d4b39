/* fields.c - the fields of one component of a file: of the right type, and none but the known. */
#include "examples/llm/tokenizer/parts.h"
#include <string.h>

const char *type_of(const json_t *j) {
    const char *type = json_string_value(json_object_get(j, "type"));
    return type ? type : "";
}

bool fields_known(const json_t *j, const char *what, const char *names, char *err) {
    const char *key;
    json_t *value;
    if (!json_is_object(j)) return llm_fail(err, "%s is not an object", what);
    json_object_foreach((json_t *)(uintptr_t)j, key, value) {
        size_t n = strlen(key);
        const char *at = names;
        while (at && (strncmp(at, key, n) || (at[n] && at[n] != ' '))) {
            at = strchr(at, ' ');
            at += at != NULL;
        }
        if (!at || !n) return llm_fail(err, "%s: \"%.80s\" is not known", what, key);
    }
    return true;
}

bool field_flag(const json_t *j, const char *what, const char *key, bool otherwise, bool *out,
                char *err) {
    const json_t *v = json_object_get(j, key);
    *out = json_is_boolean(v) ? json_is_true(v) : otherwise;
    return !v || json_is_boolean(v) || json_is_null(v) ||
           llm_fail(err, "%s: \"%s\" is not true or false", what, key);
}

bool field_text(const json_t *j, const char *what, const char *key, struct span *out, char *err) {
    const json_t *v = json_object_get(j, key);
    *out = (struct span){json_string_value(v), json_string_length(v)};
    return json_is_string(v) || llm_fail(err, "%s has no text \"%s\"", what, key);
}

bool field_count(const json_t *j, const char *what, const char *key, int32_t *out, char *err) {
    *out = json_file_id(json_object_get(j, key));
    return *out >= 0 ||
           llm_fail(err, "%s: \"%s\" is not a number from 0 to %d", what, key, LLM_MAX_ID);
}

bool field_char(const json_t *j, const char *what, const char *key, struct span *out, char *err) {
    if (!field_text(j, what, key, out, err)) return false;
    return (out->n && utf8_scan(out->p, out->n) == (int)out->n) ||
           llm_fail(err, "%s: \"%s\" is not one character", what, key);
}
