#include "examples/llm/template/chat.h"
#include "examples/llm/base/json_file.h"
#include "examples/llm/base/json_text.h"
#include "runtime/files/input.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_TEMPLATES = 16, MAX_BYTES = 1 << 20 };

struct named_template {
    char *name, *text;
    lm_template *template;
};

struct lm_chat {
    struct named_template templates[MAX_TEMPLATES];
    size_t n;
    json_t *tokens; /* object: bos_token and its like, to text */
};

/* ---- templates ---- */

static bool add(lm_chat *c, const char *where, const char *name, const char *text, size_t n,
                char *err) {
    lm_template_error e;
    if (c->n == MAX_TEMPLATES) return llm_fail(err, "%s: too many chat templates", where);
    lm_template *t = lm_template_parse(text, n, &e);
    if (!t)
        return e.line ? llm_fail(err, "%s: %s: line %d, column %d: %s", where, name, e.line,
                                 e.column, e.message)
                      : llm_fail(err, "%s: %s: %s", where, name, e.message);
    struct named_template *new = &c->templates[c->n++];
    *new = (struct named_template){strdup(name), strndup(text, n), t};
    return (new->name &&new->text) || llm_fail(err, "out of memory");
}

static bool add_file(lm_chat *c, const char *path, const char *name, char *err) {
    char why[ET_WHY];
    size_t n;
    char *text = et_file_read(path, MAX_BYTES, &n, why);
    if (!text) return llm_fail(err, "%s: %s", path, why);
    bool ok = add(c, path, name, text, n, err);
    free(text);
    return ok;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct named_template *)a)->name,
                  ((const struct named_template *)b)->name);
}

/* DIR/additional_chat_templates/NAME.jinja */
static bool add_folder(lm_chat *c, const char *dir, char *err) {
    char folder[PATH_MAX], path[PATH_MAX], name[NAME_MAX + 1];
    bool ok = true;
    if (snprintf(folder, sizeof folder, "%s/additional_chat_templates", dir) >= (int)sizeof folder)
        return llm_fail(err, "%s: name too long", dir);
    DIR *d = opendir(folder);
    if (!d) return true;
    size_t first = c->n;
    for (struct dirent *e; ok && (e = readdir(d));) {
        size_t n = strlen(e->d_name), stem = n > 6 ? n - 6 : 0;
        if (!stem || strcmp(e->d_name + stem, ".jinja") != 0) continue;
        snprintf(name, sizeof name, "%.*s", (int)stem, e->d_name);
        ok = snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < (int)sizeof path
                 ? add_file(c, path, name, err)
                 : llm_fail(err, "%s: name too long", folder);
    }
    closedir(d);
    qsort(c->templates + first, c->n - first, sizeof *c->templates, by_name);
    return ok;
}

/* "chat_template" of a JSON file: text, or a list of {"name", "template"}. */
static bool add_json(lm_chat *c, const char *where, const json_t *j, char *err) {
    if (json_is_string(j))
        return add(c, where, "default", json_string_value(j), json_string_length(j), err);
    if (!json_is_array(j)) return llm_fail(err, "%s: \"chat_template\" is no template", where);
    for (size_t i = 0; i < json_array_size(j); i++) {
        const json_t *entry = json_array_get(j, i), *text = json_object_get(entry, "template");
        const char *name = json_string_value(json_object_get(entry, "name"));
        if (!name || !json_is_string(text))
            return llm_fail(err, "%s: \"chat_template\": entry %zu has no name and template", where,
                            i);
        if (!add(c, where, name, json_string_value(text), json_string_length(text), err))
            return false;
    }
    return true;
}

static bool add_templates(lm_chat *c, const char *dir, const json_t *config, char *err) {
    char path[PATH_MAX];
    struct stat sb;
    if (snprintf(path, sizeof path, "%s/chat_template.jinja", dir) >= (int)sizeof path)
        return llm_fail(err, "%s: name too long", dir);
    if (stat(path, &sb) == 0) return add_file(c, path, "default", err) && add_folder(c, dir, err);
    if (errno != ENOENT) return llm_fail(err, "%s: %s", path, strerror(errno));
    const json_t *j = json_object_get(config, "chat_template");
    if (j && !json_is_null(j)) return add_json(c, "tokenizer_config.json", j, err);
    json_t *other = json_file(dir, "chat_template.json", true, err);
    if (*err) return false;
    j = json_object_get(other, "chat_template");
    bool ok = j ? add_json(c, "chat_template.json", j, err)
                : llm_fail(err, "%s: the checkpoint has no chat template", dir);
    json_decref(other);
    return ok;
}

/* ---- special tokens ---- */

static const json_t *token_text(const json_t *j) {
    if (json_is_object(j)) j = json_object_get(j, "content");
    return json_is_string(j) ? j : NULL;
}

/* What FROM says of them where nothing is known yet. */
static bool add_tokens(json_t *tokens, const json_t *from) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)from, key, value) {
        size_t n = strlen(key), i;
        const json_t *text = token_text(value);
        json_t *entry;
        if (json_object_get(tokens, key)) continue;
        if (text && n > 6 && !strcmp(key + n - 6, "_token") &&
            json_object_set(tokens, key, (json_t *)text) != 0)
            return false;
        if (strcmp(key, "additional_special_tokens") != 0 || !json_is_array(value)) continue;
        json_t *list = json_array();
        json_array_foreach(value, i, entry) {
            if (token_text(entry) && json_array_append(list, (json_t *)token_text(entry)) != 0) {
                json_decref(list);
                return false;
            }
        }
        if (json_object_set_new(tokens, key, list) != 0) return false;
    }
    return true;
}

static bool load(lm_chat *c, const char *dir, const char *file, char *err) {
    *err = 0;
    c->tokens = json_object();
    if (!c->tokens) return llm_fail(err, "out of memory");
    if (dir) {
        json_t *config = json_file(dir, "tokenizer_config.json", true, err);
        if (*err) return false;
        json_t *map = json_file(dir, "special_tokens_map.json", true, err);
        bool ok = !*err && ((add_tokens(c->tokens, config) && add_tokens(c->tokens, map)) ||
                            llm_fail(err, "out of memory"));
        ok = ok && (file || add_templates(c, dir, config, err));
        json_decref(config);
        json_decref(map);
        if (!ok) return false;
    }
    if (file && !add_file(c, file, "default", err)) return false;
    return c->n || llm_fail(err, "the checkpoint has no chat template");
}

lm_chat *lm_chat_load(const char *dir, const char *file, char *err) {
    lm_chat *c = calloc(1, sizeof *c);
    if (!c) {
        llm_fail(err, "out of memory");
        return NULL;
    }
    if (load(c, dir, file, err)) return c;
    lm_chat_free(c);
    return NULL;
}

void lm_chat_free(lm_chat *c) {
    if (!c) return;
    for (size_t i = 0; i < c->n; i++) {
        free(c->templates[i].name);
        free(c->templates[i].text);
        lm_template_free(c->templates[i].template);
    }
    json_decref(c->tokens);
    free(c);
}

const char *lm_chat_name(const lm_chat *c, size_t i) {
    return i < c->n ? c->templates[i].name : NULL;
}

const char *lm_chat_source(const lm_chat *c, size_t i) {
    return i < c->n ? c->templates[i].text : NULL;
}

/* ---- rendering ---- */

static const lm_template *find(const lm_chat *c, const char *name) {
    for (size_t i = 0; i < c->n; i++)
        if (!strcmp(c->templates[i].name, name)) return c->templates[i].template;
    return NULL;
}

static const lm_template *choose(const lm_chat *c, const lm_chat_request *r) {
    const lm_template *t = NULL;
    if (r->name) return find(c, r->name);
    if (json_array_size(r->tools)) t = find(c, "tool_use");
    if (!t) t = find(c, "default");
    return t || c->n != 1 ? t : c->templates[0].template;
}

/* The calls of a message with their arguments parsed; NULL: there is nothing to parse, or no
 * memory. What is no JSON stays text. */
static json_t *parsed_calls(const json_t *calls) {
    json_t *copy = json_is_array(calls) ? json_deep_copy(calls) : NULL, *call;
    json_error_t error;
    size_t i;
    json_array_foreach(copy, i, call) {
        json_t *function = json_object_get(call, "function");
        const json_t *text = json_object_get(function, "arguments");
        json_t *arguments = json_is_string(text)
                                ? json_text(json_string_value(text), json_string_length(text),
                                            JSON_DECODE_ANY | JSON_ALLOW_NUL, &error)
                                : NULL;
        if (arguments) json_object_set_new(function, "arguments", arguments);
    }
    return copy;
}

/* A message as templates expect it; a new reference, NULL: no memory. */
static json_t *message_from_api(json_t *message) {
    static const char *const names[] = {"reasoning_content", "reasoning", "thinking"};
    if (!json_is_object(message)) return json_incref(message);
    json_t *copy = json_copy(message), *reasoning = NULL;
    if (!copy) return NULL;
    for (size_t i = 0; i < 3 && !reasoning; i++) {
        reasoning = json_object_get(message, names[i]);
        if (json_is_null(reasoning)) reasoning = NULL;
    }
    if (reasoning) {
        json_object_set(copy, "reasoning_content", reasoning);
        if (!json_object_get(copy, "thinking")) json_object_set(copy, "thinking", reasoning);
    }
    json_t *calls = parsed_calls(json_object_get(message, "tool_calls"));
    if (calls) json_object_set_new(copy, "tool_calls", calls);
    return copy;
}

static json_t *messages_of(const lm_chat_request *r) {
    if (!r->from_api) return json_incref((json_t *)r->messages);
    json_t *list = json_array(), *message;
    size_t i;
    json_array_foreach((json_t *)r->messages, i, message) {
        if (json_array_append_new(list, message_from_api(message)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static int set(json_t *variables, const char *name, const json_t *value) {
    return value ? json_object_set(variables, name, (json_t *)value)
                 : json_object_set_new(variables, name, json_null());
}

/* All that a template sees; NULL: no memory. */
static json_t *variables_of(const lm_chat *c, const lm_chat_request *r) {
    json_t *v = json_copy(c->tokens), *messages = messages_of(r);
    bool ok =
        v && messages && set(v, "tools", r->tools) == 0 && set(v, "documents", r->documents) == 0 &&
        json_object_set_new(v, "add_generation_prompt", json_boolean(r->add_generation_prompt)) ==
            0 &&
        (!r->kwargs || json_object_update(v, (json_t *)r->kwargs) == 0) &&
        json_object_set(v, "messages", messages) == 0;
    json_decref(messages);
    if (ok) return v;
    json_decref(v);
    return NULL;
}

static char *fail(lm_template_error *e, lm_template_status status, const char *what,
                  const char *name) {
    *e = (lm_template_error){.status = status};
    snprintf(e->message, sizeof e->message, "%s%.100s", what, name);
    return NULL;
}

char *lm_chat_render(const lm_chat *c, const lm_chat_request *r, const lm_template_options *o,
                     size_t *out_n, lm_template_error *error) {
    const lm_template *t = choose(c, r);
    if (out_n) *out_n = 0;
    if (!t)
        return fail(error, LM_TEMPLATE_FAILED, "the checkpoint has no chat template ",
                    r->name ? r->name : "default");
    if (!json_is_array(r->messages))
        return fail(error, LM_TEMPLATE_FAILED, "the messages are not an array", "");
    if (r->kwargs && !json_is_object(r->kwargs))
        return fail(error, LM_TEMPLATE_FAILED, "the variables for the template are not an object",
                    "");
    json_t *variables = variables_of(c, r);
    if (!variables) return fail(error, LM_TEMPLATE_MEMORY, "out of memory", "");
    char *text = lm_template_render(t, variables, o, out_n, error);
    json_decref(variables);
    return text;
}
