#include "examples/llm/api/infill.h"
#include "examples/llm/api/request.h"
#include "examples/llm/base/json_file.h"
#include <stdlib.h>
#include <string.h>

/* ---- which tokens ---- */

enum { PREFIX, SUFFIX, MIDDLE, REPOSITORY, FILE_MARK, PADDING, NMARKS };

/* In "fim_token_ids" and, behind "_token", in what CodeLlama's files say. */
static const char *const keys[NMARKS] = {"prefix",     "suffix", "middle",
                                         "repository", "file",   "padding"};

/* A row for each way to write them; NULL: that one has none. */
static const struct names {
    const char *of[NMARKS];
    bool suffix_first;
} rows[] = {
    /* Qwen-Coder, CodeGemma */
    {{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>",
      "<|fim_pad|>"},
     false},
    {{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", NULL, "<|file_separator|>", NULL},
     false},
    /* StarCoder, Granite, SantaCoder */
    {{"<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<repo_name>", "<file_sep>", "<fim_pad>"},
     false},
    {{"<fim-prefix>", "<fim-suffix>", "<fim-middle>", NULL, NULL, "<fim-pad>"}, false},
    /* DeepSeek-Coder, CodeLlama, Codestral, Seed-Coder */
    {{"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", NULL, NULL, NULL}, false},
    {{"▁<PRE>", "▁<SUF>", "▁<MID>", NULL, NULL, "▁<EOT>"}, false},
    {{"[PREFIX]", "[SUFFIX]", NULL, NULL, NULL, NULL}, true},
    {{"<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>", NULL, NULL, NULL}, true},
};

static int32_t *mark(struct infill *t, int which) {
    int32_t *const all[NMARKS] = {&t->prefix,     &t->suffix, &t->middle,
                                  &t->repository, &t->file,   &t->padding};
    return all[which];
}

/* The token that NAME is the whole of; -1: there is none. */
static int32_t token_called(const struct tokenizer *tokenizer, const char *name) {
    char err[LLM_ERR];
    struct ids ids = {0};
    size_t bytes = 0;
    bool special;
    int32_t id = -1;
    if (tokenizer_encode_as(tokenizer, name, strlen(name), TOKENIZER_BARE, &ids, err) && ids.n == 1)
        id = ids.v[0];
    free(ids.v);
    const char *text = id < 0 ? NULL : tokenizer_bytes(tokenizer, id, &bytes, &special);
    return text && bytes == strlen(name) && !memcmp(text, name, bytes) ? id : -1;
}

static void find_in_config(const json_t *config, const struct tokenizer *tokenizer,
                           struct infill *out) {
    const json_t *ids = json_object_get(config, "fim_token_ids");
    for (int i = 0; i < NMARKS; i++) {
        char key[32];
        snprintf(key, sizeof key, "%s_token", keys[i]);
        const char *name = json_string_value(json_object_get(config, key));
        int32_t id = json_file_id(json_object_get(ids, keys[i]));
        if (id < 0 && name) id = token_called(tokenizer, name);
        if (id < tokenizer_size(tokenizer)) *mark(out, i) = id;
    }
}

/* What the config does not say, by names; and the order, by the prefix's. */
static void find_by_names(const struct tokenizer *tokenizer, struct infill *out) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const *of = rows[i].of;
        int32_t prefix = token_called(tokenizer, of[PREFIX]);
        if (prefix < 0 || (out->prefix >= 0 && out->prefix != prefix) ||
            token_called(tokenizer, of[SUFFIX]) < 0)
            continue;
        out->suffix_first = rows[i].suffix_first;
        for (int k = 0; k < NMARKS; k++)
            if (of[k] && *mark(out, k) < 0) *mark(out, k) = token_called(tokenizer, of[k]);
    }
}

bool infill_find(const char *dir, const struct tokenizer *tokenizer, struct infill *out,
                 char *err) {
    json_t *config = json_file(dir, "tokenizer_config.json", true, err);
    if (!config && *err) return false;
    for (int i = 0; i < NMARKS; i++)
        *mark(out, i) = -1;
    out->suffix_first = false;
    find_in_config(config, tokenizer, out);
    find_by_names(tokenizer, out);
    json_decref(config);
    return true;
}

bool infill_can(const struct infill *t) {
    return t->prefix >= 0 && t->suffix >= 0 && (t->middle >= 0 || t->suffix_first);
}

/* ---- the prompt ---- */

/* Names of tokens in the code that is written are text. */
static bool add_text(const struct api_model *m, const json_t *v, const char *name, struct ids *ids,
                     struct fault *f) {
    char err[LLM_ERR];
    if (!v || json_is_null(v)) return true;
    if (!json_is_string(v))
        return fault_set(f, 400, name, "invalid_type", "'%s' must be a string", name);
    return tokenizer_encode_as(m->tokenizer, json_string_value(v), json_string_length(v),
                               TOKENIZER_BARE | TOKENIZER_NO_SPECIALS, ids, err) ||
           fault_set(f, 400, name, NULL, "%s", err);
}

static bool add_mark(struct ids *ids, int32_t id, struct fault *f) {
    return id < 0 || ids_add(ids, id) || fault_set(f, 500, NULL, NULL, "out of memory");
}

/* What goes before every text, as a bos token. */
static bool add_beginning(const struct api_model *m, struct ids *ids, struct fault *f) {
    char err[LLM_ERR];
    if (!tokenizer_encode_as(m->tokenizer, "", 0, 0, ids, err))
        return fault_set(f, 400, NULL, NULL, "%s", err);
    for (int i = 0; ids->n > 1 && i < m->nstops; i++)
        if (ids->v[ids->n - 1] == m->stops[i]) ids->n--;
    return true;
}

/* The hole, and what is around it. */
static bool add_hole(const struct api_model *m, const struct request *r, struct ids *ids,
                     struct fault *f) {
    const struct infill *t = m->infill;
    const char *before = "input_prefix", *behind = "input_suffix";
    const json_t *prefix = json_object_get(r->body, before);
    const json_t *suffix = json_object_get(r->body, behind);
    const json_t *begun = json_object_get(r->body, "prompt");
    if (r->dialect == DIALECT_COMPLETIONS) {
        before = "prompt", behind = "suffix";
        prefix = begun, begun = NULL;
        suffix = json_object_get(r->body, behind);
    }
    if (t->suffix_first)
        return add_mark(ids, t->suffix, f) && add_text(m, suffix, behind, ids, f) &&
               add_mark(ids, t->prefix, f) && add_text(m, prefix, before, ids, f) &&
               add_mark(ids, t->middle, f) && add_text(m, begun, "prompt", ids, f);
    return add_mark(ids, t->prefix, f) && add_text(m, prefix, before, ids, f) &&
           add_mark(ids, t->suffix, f) && add_text(m, suffix, behind, ids, f) &&
           add_mark(ids, t->middle, f) && add_text(m, begun, "prompt", ids, f);
}

/* One of the other files. */
static bool add_file(const struct api_model *m, const json_t *file, struct ids *ids,
                     struct fault *f) {
    const json_t *name = json_object_get(file, "filename"), *text = json_object_get(file, "text");
    json_t *line = json_sprintf("%s\n", json_string_value(name) ? json_string_value(name) : "");
    bool ok = add_mark(ids, m->infill->file, f) &&
              (json_is_string(text) ||
               fault_set(f, 400, "input_extra", "invalid_type",
                         "'input_extra' must be an array of objects with a 'text'")) &&
              add_text(m, line, "input_extra", ids, f) && add_text(m, text, "input_extra", ids, f);
    json_decref(line);
    return ok;
}

static bool append(struct ids *to, const struct ids *from, struct fault *f) {
    for (size_t i = 0; i < from->n; i++)
        if (!add_mark(to, from->v[i], f)) return false;
    return true;
}

/* Of the other files the last ones that leave room for the answer, in their order. */
static bool add_files(const struct api_model *m, const struct request *r, size_t hole,
                      struct ids *ids, struct fault *f) {
    const json_t *files = json_object_get(r->body, "input_extra");
    size_t n = json_array_size(files), first = n;
    int64_t answer = r->most >= 0 ? r->most : m->context / 8;
    int64_t room = m->context - answer - (int64_t)hole - (int64_t)ids->n - 1;
    if (files && !json_is_null(files) && !json_is_array(files))
        return fault_set(f, 400, "input_extra", "invalid_type", "'input_extra' must be an array");
    struct ids *each = calloc(n + 1, sizeof *each);
    bool ok = each || fault_set(f, 500, NULL, NULL, "out of memory");
    while (ok && first) {
        ok = add_file(m, json_array_get(files, first - 1), &each[first - 1], f);
        room -= (int64_t)each[first - 1].n;
        if (room < 0) break;
        first--;
    }
    if (ok && first < n) ok = add_mark(ids, m->infill->repository, f);
    for (size_t i = first; ok && i < n; i++)
        ok = append(ids, &each[i], f);
    if (ok && first < n) ok = add_mark(ids, m->infill->file, f);
    for (size_t i = 0; each && i < n; i++)
        free(each[i].v);
    free(each);
    return ok;
}

/* What begins another part of a prompt ends an answer. */
static void stop_at_marks(const struct api_model *m, struct request *r) {
    struct infill t = *m->infill;
    for (int i = 0; i < NMARKS; i++)
        if (*mark(&t, i) >= 0 && r->nstop_ids < MAX_STOP_IDS)
            r->stop_ids[r->nstop_ids++] = *mark(&t, i);
}

bool infill_read(const struct api_model *m, struct request *r, struct fault *f) {
    struct ids hole = {0};
    if (!m->infill)
        return fault_set(
            f, r->dialect == DIALECT_NATIVE ? 501 : 400, "suffix", "not_implemented",
            "the model '%s' was not taught to fill in: its tokenizer has no tokens for "
            "that",
            m->name);
    r->prompts = calloc(1, sizeof *r->prompts);
    if (!r->prompts) return fault_set(f, 500, NULL, NULL, "out of memory");
    r->nprompts = 1;
    bool ok = add_beginning(m, &r->prompts[0], f) && add_hole(m, r, &hole, f) &&
              add_files(m, r, hole.n, &r->prompts[0], f) && append(&r->prompts[0], &hole, f);
    free(hole.v);
    if (ok) stop_at_marks(m, r);
    return ok;
}
