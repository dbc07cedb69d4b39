/* check_cases - templates of our own against what jinja2 made of them.
 *
 *     check_cases FOLDER
 *
 * FOLDER/constructs/NAME.json: pairs of a template and its text, or a template, null and its error;
 * FOLDER/constructs/NAME.txt: the same in sections (README.md). All of them with the variables of
 * constructs/variables.json. FOLDER/chats/NAME.jinja: with the variables of each NAME.CASE.json it
 * gives NAME.CASE.txt, byte for byte, or fails with NAME.CASE.err. The time is 2025-03-07 15:04:05.
 */
#include "examples/llm/template/template.h"
#include "runtime/files/input.h"
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checked, failed;

static char *read_all(const char *path, size_t *n) {
    char why[ET_WHY];
    char *text = et_file_read(path, 16 << 20, n, why);
    if (!text) {
        fprintf(stderr, "%s: %s\n", path, why);
        exit(1);
    }
    return text;
}

static json_t *read_json(const char *path) {
    json_error_t e;
    size_t n;
    char *text = read_all(path, &n);
    json_t *j = json_loadb(text, n, JSON_ALLOW_NUL, &e);
    free(text);
    if (!j) {
        fprintf(stderr, "%s:%d: %s\n", path, e.line, e.text);
        exit(1);
    }
    return j;
}

/* The text TEMPLATE gives, or "LINE:COLUMN: MESSAGE" with *FAILS; *N bytes, for free(). */
static char *render(const char *template, size_t bytes, const json_t *variables, size_t *n,
                    bool *fails) {
    static const struct tm now = {.tm_year = 125,
                                  .tm_mon = 2,
                                  .tm_mday = 7,
                                  .tm_hour = 15,
                                  .tm_min = 4,
                                  .tm_sec = 5,
                                  .tm_wday = 5,
                                  .tm_yday = 65};
    const lm_template_options options = {.now = &now};
    lm_template_error e;
    char *text = NULL;
    lm_template *t = lm_template_parse(template, bytes, &e);
    if (t) text = lm_template_render(t, variables, &options, n, &e);
    lm_template_free(t);
    *fails = !text;
    if (text) return text;
    text = malloc(sizeof e.message + 40);
    if (!text) exit(1);
    *n = (size_t)sprintf(text, "%d:%d: %s", e.line, e.column, e.message);
    return text;
}

static void check(const char *where, const char *template, size_t bytes, const json_t *variables,
                  const char *wanted, size_t wanted_n, bool error) {
    bool fails;
    size_t n;
    char *text = render(template, bytes, variables, &n, &fails);
    checked++;
    if (fails != error || n != wanted_n || memcmp(text, wanted, n) != 0) {
        failed++;
        fprintf(stderr, "%s\n--- template\n%.*s\n--- wanted%s\n%.*s\n--- got%s\n%.*s\n", where,
                (int)(bytes < 2000 ? bytes : 2000), template, error ? ", an error" : "",
                (int)wanted_n, wanted, fails ? ", an error" : "", (int)n, text);
    }
    free(text);
}

static void check_pairs(const char *path, const json_t *variables) {
    json_t *pairs = read_json(path), *pair;
    size_t i;
    json_array_foreach(pairs, i, pair) {
        const json_t *t = json_array_get(pair, 0), *text = json_array_get(pair, 1);
        bool error = json_is_null(text);
        if (error) text = json_array_get(pair, 2);
        check(path, json_string_value(t), json_string_length(t), variables, json_string_value(text),
              json_string_length(text), error);
    }
    json_decref(pairs);
}

/* The section that begins at *P with "=== NAME"; its text, with *P behind it. */
static const char *section(char **p, const char **name, size_t *n) {
    char *line = *p, *text = strchr(line, '\n'), *end;
    if (strncmp(line, "=== ", 4) != 0 || !text) return NULL;
    *text++ = 0;
    *name = line + 4;
    end = !strncmp(text, "=== ", 4) ? text : strstr(text, "\n=== ");
    if (!end) end = text + strlen(text) - 1; /* the last newline */
    *n = (size_t)(end - text);
    *p = end + (end != text || *end == '\n');
    return text;
}

static void check_sections(const char *path, const json_t *variables) {
    size_t bytes, n, wanted_n;
    char *all = read_all(path, &bytes), *p = all;
    const char *template, *wanted, *name;
    while (*p) {
        char where[PATH_MAX + 64];
        template = section(&p, &name, &n);
        snprintf(where, sizeof where, "%s: %s", path, template ? name : "not a section");
        wanted = template ? section(&p, &name, &wanted_n) : NULL;
        if (!wanted) {
            fprintf(stderr, "%s: section without its text\n", where);
            exit(1);
        }
        check(where, template, n, variables, wanted, wanted_n, !strcmp(name, "error"));
    }
    free(all);
}

static bool exists(const char *path) {
    FILE *f = fopen(path, "r");
    if (f) fclose(f);
    return f;
}

/* PATH is that of the variables, FOLDER/NAME.CASE.json. */
static void check_chat(const char *path) {
    char template_path[PATH_MAX], wanted_path[PATH_MAX];
    json_t *variables = read_json(path);
    const char *base = strrchr(path, '/') + 1;
    int stem = (int)(strlen(path) - strlen(".json"));
    snprintf(template_path, sizeof template_path, "%.*s.jinja",
             (int)strcspn(base, ".") + (int)(base - path), path);
    snprintf(wanted_path, sizeof wanted_path, "%.*s.err", stem, path);
    bool error = exists(wanted_path);
    if (!error) snprintf(wanted_path, sizeof wanted_path, "%.*s.txt", stem, path);
    size_t n, wanted_n;
    char *template = read_all(template_path, &n), *wanted = read_all(wanted_path, &wanted_n);
    check(path, template, n, variables, wanted, wanted_n - (error && wanted_n), error);
    free(template);
    free(wanted);
    json_decref(variables);
}

int main(int argc, char **argv) {
    char pattern[PATH_MAX];
    glob_t g;
    if (argc != 2) return 2;
    snprintf(pattern, sizeof pattern, "%s/constructs/variables.json", argv[1]);
    json_t *variables = read_json(pattern);
    snprintf(pattern, sizeof pattern, "%s/constructs/*.*", argv[1]);
    if (glob(pattern, 0, NULL, &g)) return 1;
    for (size_t i = 0; i < g.gl_pathc; i++) {
        const char *path = g.gl_pathv[i], *end = strrchr(path, '.');
        if (strstr(path, "/variables.json")) continue;
        (strcmp(end, ".json") ? check_sections : check_pairs)(path, variables);
    }
    globfree(&g);
    json_decref(variables);
    snprintf(pattern, sizeof pattern, "%s/chats/*.json", argv[1]);
    if (glob(pattern, 0, NULL, &g)) return 1;
    for (size_t i = 0; i < g.gl_pathc; i++)
        check_chat(g.gl_pathv[i]);
    globfree(&g);
    printf("%d templates, %d failed\n", checked, failed);
    return failed || checked < 100;
}
