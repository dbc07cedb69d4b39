/* classes.c - a configuration is completed by what the class of its architecture has.
 *
 * classes.json is made of several versions of the library by tests/unit/import/classes.py. A class
 * there has `fields`, of the last version, `names`, other names of these fields, and `earlier`, the
 * newest first: fields that were something else up to one of the versions looked at and are not
 * from the next one looked at on. What they were in between is not known. */
#include "frontend/import/import.h"
#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

__asm__(".pushsection .rodata\n"
        "imp_classes_json: .incbin \"" CLASSES "\"\n"
        ".byte 0\n"
        ".popsection");
extern const char imp_classes_json[];

/* "4.57.0.dev0": a number that is greater for a later version; what comes before a release is less
 * than it. False where it is no version. */
static bool version_of(const char *text, int64_t *out) {
    const char *p = text;
    *out = 0;
    for (int i = 0; i < 3; i++) {
        char *end = (char *)p;
        long n = isdigit((unsigned char)*p) ? strtol(p, &end, 10) : 0;
        if (n > 99999 || (!i && end == p)) return false;
        *out = *out * 100000 + n;
        p = *end == '.' && isdigit((unsigned char)end[1]) ? end + 1 : end;
    }
    *out = *out * 2 - (*p != 0);
    return true;
}

/* The version that wrote the file; -1 where it does not say. */
static int64_t written_by(const struct imp_config *c) {
    const char *text = json_string_value(json_object_get(c->root, "transformers_version"));
    int64_t version;
    return text && version_of(text, &version) ? version : -1;
}

/* Does the file say field NAME, be it null, by this name or another? */
static bool is_said(const struct imp_config *c, const json_t *class, const char *name) {
    const char *other;
    json_t *field;
    if (json_object_get(c->root, name)) return true;
    json_object_foreach(json_object_get(class, "names"), other, field) {
        if (!strcmp(json_string_value(field), name) && json_object_get(c->root, other)) return true;
    }
    return false;
}

static const char *spelled(struct imp_config *c, const json_t *value) {
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    if (!text) et_no_memory();
    const char *copy = et_strdup(c->arena, text);
    free(text);
    return copy;
}

/* What field NAME is in VERSION; NULL after setting *OUT_WHY where that is not known. */
static json_t *value_in(struct imp_config *c, const json_t *class, const char *name,
                        int64_t version, const char **out_why) {
    json_t *value = json_object_get(json_object_get(class, "fields"), name), *era;
    size_t i;
    json_array_foreach(json_object_get(class, "earlier"), i, era) {
        json_t *old = json_object_get(json_object_get(era, "fields"), name);
        const char *until = json_string_value(json_object_get(era, "until"));
        const char *after = json_string_value(json_object_get(era, "after"));
        int64_t last = 0, next = 0;
        if (!old) continue;
        version_of(until, &last);
        version_of(after, &next);
        if (version >= next) break;
        if (version < 0 || version > last) {
            *out_why = et_printf(c->arena,
                                 "is missing: it is %s up to transformers %s, %s from %s on, and "
                                 "\"transformers_version\" "
                                 "does not tell which; write the field",
                                 spelled(c, old), until, spelled(c, value), after);
            return NULL;
        }
        value = old;
    }
    return value;
}

static void add(struct imp_config *c, const json_t *class, const char *name, int64_t version) {
    const char *why = NULL;
    json_t *value = value_in(c, class, name, version, &why);
    ET_GROW(c->arena, c->defaults, c->ndefaults, c->cdefaults);
    c->defaults[c->ndefaults++] = (struct imp_default){.name = et_strdup(c->arena, name),
                                                       .unsure = why,
                                                       .value = value ? spelled(c, value) : NULL};
    if (value && json_object_set_new(c->root, name, json_deep_copy(value))) et_no_memory();
}

/* A field that the file says by two names has to be the same by both. */
static bool names_agree(struct imp_config *c, const json_t *class) {
    const char *other;
    json_t *field;
    bool ok = true;
    json_object_foreach(json_object_get(class, "names"), other, field) {
        const char *name = json_string_value(field);
        const json_t *a = json_object_get(c->root, name), *b = json_object_get(c->root, other);
        if (!a || !b || json_is_null(a) || json_is_null(b) || json_equal(a, b)) continue;
        imp_error(c->report, c->path,
                  "fields \"%s\" and \"%s\" are two names of one field, and differ; leave one out",
                  name, other);
        ok = false;
    }
    return ok;
}

/* Read once: that takes longer than all else here. Nobody changes it. */
static const json_t *classes(void) {
    static json_t *all;
    if (!all) all = json_loads(imp_classes_json, 0, NULL);
    if (!all) et_no_memory(); /* the text is right: the tests read it */
    return all;
}

bool imp_config_complete(struct imp_config *c, const char *architecture) {
    const json_t *all = classes();
    json_t *value;
    const json_t *class = json_object_get(json_object_get(all, "classes"), architecture);
    json_t *versions = json_object_get(all, "versions");
    const char *last = json_string_value(json_array_get(versions, json_array_size(versions) - 1)),
               *name;
    int64_t version = written_by(c);
    bool ok = names_agree(c, class);
    c->library = et_printf(c->arena, "transformers %s", last);
    json_object_foreach(json_object_get(class, "fields"), name, value) {
        if (!is_said(c, class, name)) add(c, class, name, version);
    }
    return ok;
}

struct imp_default *imp_config_default(const struct imp_config *c, const char *path) {
    size_t n = strcspn(path, ".");
    for (int i = 0; i < c->ndefaults; i++)
        if (strlen(c->defaults[i].name) == n && !strncmp(c->defaults[i].name, path, n))
            return &c->defaults[i];
    return NULL;
}

void imp_config_defaults_note(const struct imp_config *c) {
    const char *list = "";
    for (int i = 0; i < c->ndefaults; i++)
        if (c->defaults[i].read && c->defaults[i].value &&
            strcmp(c->defaults[i].value, "null") != 0)
            list = et_printf(c->arena, "%s%s%s %s", list, *list ? ", " : "", c->defaults[i].name,
                             c->defaults[i].value);
    if (*list)
        imp_note(c->path, "left out, and so as the class of the architecture has them (%s): %s",
                 c->library, list);
}
