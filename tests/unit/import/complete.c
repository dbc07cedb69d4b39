/* complete SOURCE_TREE CHECKPOINTS: a field that config.json leaves out means what the class of the
 * architecture has.
 *
 * completed.json holds what the classes themselves make of configurations, whole and without one
 * field, or one of an object in it, by completed.py. The model of a configuration without a field
 * has to be, to the byte, that of the configuration that the class makes of it: every field of
 * every architecture. Then other names of fields, and what depends on the version that wrote the
 * file. */
#include "frontend/import/import.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static int failures;
static struct { int same, refused, impossible; } counts;
static const char *tree, *checkpoints;

#define FAIL(...) (printf("FAIL " __VA_ARGS__), putchar('\n'), failures++)

static json_t *load(const char *folder, const char *name, const char *file) {
    char path[4096];
    json_error_t e;
    snprintf(path, sizeof path, "%s/%s/%s", folder, name, file);
    json_t *j = json_load_file(path, 0, &e);
    if (j) return j;
    printf("%s: %s\n", path, e.text);
    exit(1);
}

static int64_t context = 128; /* more than any window, where a configuration has as much */

/* The text of the model of CONFIG, which is taken; NULL where it is refused. */
static char *model_of(json_t *config) {
    struct imp_report report = {0, 0};
    struct imp_options o = {
        .checkpoint = "checkpoint", .name = "m", .max_tokens = 4, .slots = 1, .context = context};
    struct imp_source from;
    struct imp_filled filled;
    char *text = NULL;
    bool is_type;
    et_arena *arena = et_arena_create();
    struct imp_config c = {
        .arena = arena, .path = "config.json", .report = &report, .root = config};
    const char *said = imp_config_architecture(&c, &is_type);
    if (said && (said = imp_model_of(arena, said, is_type, &from)) &&
        imp_config_complete(&c, said) && imp_template_fill(&from, &c, &o, NULL, said, &filled) &&
        imp_config_unused(&c, &o, said))
        text = strdup(filled.text);
    imp_config_close(&c);
    et_arena_destroy(arena);
    return text;
}

/* Are both the same text, or both refused? */
static void same(char *a, char *b, const char *what, const char *name, const char *field) {
    if (!a != !b)
        FAIL("%s: %s: %s is %s, but what the class makes of it is not", name, what, field,
             a ? "accepted" : "refused");
    else if (a && strcmp(a, b) != 0)
        FAIL("%s: %s: %s gives another model than what the class makes of it:\n%s\n---\n%s", name,
             what, field, a, b);
    else
        ++*(a ? &counts.same : &counts.refused);
    free(a);
    free(b);
}

/* Refused, though the class has an answer: Qwen2-MoE's rule for windows without "layer_types"
 * differs by version. */
static bool is_refusal(const char *name, const char *field) {
    return !strcmp(name, "qwen2_moe") && !strcmp(field, "layer_types");
}

static void expect_refusal(char *text, const char *name, const char *field) {
    if (text) FAIL("%s without %s is accepted", name, field);
    counts.refused++;
    free(text);
}

/* The configuration of ROW as its file has it. */
static json_t *written(const json_t *row) {
    json_t *config =
        load(checkpoints, json_string_value(json_object_get(row, "golden")), "config.json");
    json_object_del(config, "quantization_config");
    json_object_update(config, json_object_get(row, "variant"));
    return config;
}

/* What the class makes of it, where that differs by CHANGES from WHOLE. */
static json_t *made(const json_t *row, const json_t *changes) {
    json_t *config = written(row);
    json_object_update(config, json_object_get(row, "whole"));
    json_object_update(config, (json_t *)changes);
    return config;
}

/* Is what the importer takes for FIELD, which CONFIG leaves out, what the class takes? Null is what
 * the class computes, and some classes change what they were given by null or an object. CONFIG is
 * taken. */
static void check_value(json_t *config, const json_t *row, const json_t *changes,
                        const char *field) {
    struct imp_report report = {0, 0};
    et_arena *arena = et_arena_create();
    struct imp_config c = {
        .arena = arena, .path = "config.json", .report = &report, .root = config};
    json_t *made = json_object_get(changes, field);
    if (!made) made = json_object_get(json_object_get(row, "whole"), field);
    if (!imp_config_complete(&c, json_string_value(json_object_get(row, "architecture"))))
        FAIL("%s without %s", json_string_value(json_object_get(row, "golden")), field);
    const json_t *value = json_object_get(c.root, field);
    bool number = json_is_number(value) && json_is_number(made);
    bool same =
        number ? json_number_value(value) == json_number_value(made) : json_equal(value, made);
    /* Qwen2-MoE's class makes a window that is switched off 0. */
    if (!strcmp(field, "sliding_window") && json_is_integer(made) && !json_integer_value(made))
        same = true;
    if (json_is_null(value) && json_is_boolean(made))
        FAIL("%s: %s has a default", json_string_value(json_object_get(row, "golden")), field);
    if (value && !json_is_null(value) && !json_is_object(value) && made && !json_is_null(made) &&
        !same)
        FAIL("%s: the default of %s is another one than the class's",
             json_string_value(json_object_get(row, "golden")), field);
    imp_config_close(&c);
    et_arena_destroy(arena);
}

/* PATH ("rope_parameters.factor") less its last name; *OUT_LAST is that. */
static json_t *owner_of(json_t *config, const char *path, const char **out_last) {
    char name[128];
    const char *dot;
    while ((dot = strchr(path, '.'))) {
        snprintf(name, sizeof name, "%.*s", (int)(dot - path), path);
        config = json_object_get(config, name);
        path = dot + 1;
    }
    *out_last = path;
    return config;
}

/* A field of an object that the class has no answer for: the model is not the one of another value,
 * or does not depend on it. */
static void check_inside(const json_t *row) {
    const char *name = json_string_value(json_object_get(row, "golden")), *path, *last;
    json_t *changes;
    json_object_foreach(json_object_get(row, "inside"), path, changes) {
        json_t *shared = written(row), *less = json_deep_copy(shared);
        json_t *owner = owner_of(less, path, &last);
        json_decref(shared);
        json_object_del(owner, last);
        char *got = model_of(less);
        if (json_is_null(changes) && got)
            same(got, model_of(written(row)), "without, which the class refuses", name, path);
        else if (json_is_null(changes))
            counts.impossible++;
        else
            same(got, model_of(made(row, changes)), "without", name, path);
    }
}

static void check_row(const json_t *row) {
    const char *name = json_string_value(json_object_get(row, "golden")), *field;
    json_t *changes;
    json_t *most = json_object_get(json_object_get(row, "whole"), "max_position_embeddings");
    context = json_integer_value(most) > 8192 ? 8192 : 128;
    char *whole = model_of(written(row));
    if (!whole) FAIL("%s is refused", name);
    free(whole);
    json_object_foreach(json_object_get(row, "without"), field, changes) {
        if (json_is_null(changes)) {
            counts.impossible++;
            continue;
        }
        json_t *less = written(row);
        json_object_del(less, field);
        check_value(json_deep_copy(less), row, changes, field);
        if (is_refusal(name, field) &&
            json_object_get(json_object_get(row, "variant"), "use_sliding_window"))
            expect_refusal(model_of(less), name, field);
        else
            same(model_of(less), model_of(made(row, changes)), "without", name, field);
    }
    check_inside(row);
}

/* Other names of fields are as good. */
static void check_names(const json_t *class, const json_t *row) {
    const char *name = json_string_value(json_object_get(row, "golden")), *other;
    json_t *field;
    json_object_foreach(json_object_get(class, "names"), other, field) {
        json_t *config = written(row), *value = json_object_get(config, json_string_value(field));
        if (value) {
            json_object_set(config, other, value);
            json_object_del(config, json_string_value(field));
            same(model_of(config), model_of(written(row)), "by another name", name, other);
        } else
            json_decref(config);
    }
}

/* Every field of the class is one that the template knows, whatever the golden configuration has.
 */
static void check_fields(const json_t *class, const json_t *row) {
    const char *name = json_string_value(json_object_get(row, "golden")), *field;
    json_t *value;
    json_object_foreach(json_object_get(class, "fields"), field, value) {
        json_t *config = written(row), *less = written(row);
        json_object_set(config, field, value);
        json_object_del(less, field);
        const char *other;
        json_t *to;
        json_object_foreach(json_object_get(class, "names"), other, to) {
            if (strcmp(json_string_value(to), field) != 0) continue;
            json_object_del(config, other);
            json_object_del(less, other);
        }
        same(model_of(less), model_of(config), "with its default written", name, field);
    }
}

/* VERSION NULL: the file does not say. WANT NULL: refused. */
static void check_version(const char *golden, const char *field, const char *version,
                          const char *want) {
    json_t *config = load(checkpoints, golden, "config.json");
    json_object_del(config, "quantization_config");
    json_object_del(config, "layer_types");
    json_object_del(config, field);
    json_object_set_new(config, "transformers_version",
                        version ? json_string(version) : json_null());
    char *text = model_of(config);
    if (!text != !want || (text && !strstr(text, want)))
        FAIL("%s without %s, written by %s: expected %s, not:\n%s", golden, field,
             version ? version : "no version", want ? want : "a refusal",
             text ? text : "a refusal");
    free(text);
}

/* Are two classes alike but for what only those that sort into classes read? Models with other
 * heads share one then. */
static bool alike(const json_t *a, const json_t *b) {
    json_t *x = json_deep_copy(a), *y = json_deep_copy(b);
    json_object_del(json_object_get(x, "fields"), "num_labels");
    json_object_del(json_object_get(y, "fields"), "num_labels");
    bool same = x && y && json_equal(x, y);
    json_decref(x);
    json_decref(y);
    return same;
}

int main(int argc, char **argv) {
    size_t i, at = 0;
    json_t *row;
    const char *name;
    if (argc < 3 || !freopen("/dev/null", "w", stderr)) return 2;
    tree = argv[1], checkpoints = argv[2];
    json_t *rows = load(tree, "tests/unit/import", "completed.json");
    json_t *all = load(tree, "frontend/import", "classes.json"),
           *classes = json_object_get(all, "classes");
    et_arena *arena = et_arena_create();
    json_array_foreach(rows, i, row) {
        json_t *class =
            json_object_get(classes, json_string_value(json_object_get(row, "architecture")));
        check_row(row);
        check_names(class, row);
        check_fields(class, row);
    }
    while ((name = imp_model_next(arena, &at))) {
        bool found = false;
        /* The code of Alibaba's first GTE is beside its checkpoints, and not in the library. */
        if (!strncmp(name, "New", 3)) continue;
        json_array_foreach(rows, i, row) {
            const char *other = json_string_value(json_object_get(row, "architecture"));
            found = found || !strcmp(name, other) ||
                    alike(json_object_get(classes, name), json_object_get(classes, other));
        }
        if (!found) FAIL("%s is not in completed.json: run tests/unit/import/completed.py", name);
        if (!json_object_get(classes, name))
            FAIL("%s is not in classes.json: run tests/unit/import/classes.py", name);
    }
    context = 128;
    check_version("cohere", "rope_parameters", "4.38.0", "theta=10000)");
    check_version("cohere", "rope_parameters", "4.57.6", "theta=10000)");
    check_version("cohere", "rope_parameters", "5.0.0.dev0", NULL);
    check_version("cohere", "rope_parameters", "5.0.0rc1", NULL);
    check_version("cohere", "rope_parameters", "5.0.0", "theta=500000)");
    check_version("cohere", "rope_parameters", "6.1", "theta=500000)");
    check_version("cohere", "rope_parameters", NULL, NULL);
    check_version("cohere", "rope_parameters", "new", NULL);
    check_version("gpt_oss", "rope_parameters", "4.55.4", "original_context=256");
    check_version("gpt_oss", "rope_parameters", "4.56.0", NULL);
    check_version("gpt_oss", "rope_parameters", "4.57.6", "original_context=4096");
    check_version("gpt_oss", "rope_parameters", "5.24.0", "original_context=4096");
    check_version("gpt_oss", "rope_parameters", NULL, NULL);
    check_version("gemma2", "query_pre_attn_scalar", "4.45.2", "scale=0.0668");
    check_version("gemma2", "query_pre_attn_scalar", "5.0.0", "scale=0.0625");
    check_version("gemma2", "query_pre_attn_scalar", NULL, NULL);
    printf("%zu configurations: %d models the same, %d refused both ways, %d refused by the class; "
           "%d failures\n",
           json_array_size(rows), counts.same, counts.refused, counts.impossible, failures);
    et_arena_destroy(arena);
    json_decref(rows);
    json_decref(all);
    return failures || counts.same < 20 * (int)json_array_size(rows);
}
