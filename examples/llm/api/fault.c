#include "examples/llm/api/fault.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Messages quote what clients sent: what is no UTF-8, or was cut inside a character, becomes '?'.
 */
static void clean(char *text) {
    json_t *whole = json_string(text);
    if (!whole)
        for (char *c = text; *c; c++)
            if ((unsigned char)*c >= 0x80) *c = '?';
    json_decref(whole);
}

bool fault_set(struct fault *f, int status, const char *param, const char *code, const char *fmt,
               ...) {
    va_list ap;
    f->status = status;
    snprintf(f->param, sizeof f->param, "%s", param ? param : "");
    snprintf(f->code, sizeof f->code, "%s", code ? code : "");
    va_start(ap, fmt);
    vsnprintf(f->message, sizeof f->message, fmt, ap);
    va_end(ap);
    clean(f->param);
    clean(f->message);
    return false;
}

static const char *type_of(int status, bool anthropic) {
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return anthropic ? "not_found_error" : "invalid_request_error";
    case 413:
        return anthropic ? "request_too_large" : "invalid_request_error";
    case 429:
        return "rate_limit_error";
    case 503:
        return anthropic ? "overloaded_error" : "service_unavailable_error";
    default:
        break;
    }
    if (status < 500) return "invalid_request_error";
    return anthropic ? "api_error" : "server_error";
}

json_t *fault_json(const struct fault *f, bool anthropic) {
    const char *type = type_of(f->status, anthropic);
    if (anthropic)
        return json_pack("{s:s, s:{s:s, s:s}}", "type", "error", "error", "type", type, "message",
                         f->message);
    return json_pack("{s:{s:s, s:s, s:s?, s:s?}}", "error", "message", f->message, "type", type,
                     "param", *f->param ? f->param : NULL, "code", *f->code ? f->code : NULL);
}
