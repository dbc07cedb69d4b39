#include "examples/llm/api/tokens.h"
#include <math.h>
#include <stdio.h>

/* A token may be a part of a character: "bytes" tells of which. */
static json_t *text_of(const struct tokenizer *t, int32_t id) {
    size_t bytes = 0;
    bool special;
    const char *text = tokenizer_bytes(t, id, &bytes, &special);
    json_t *whole = json_stringn(text ? text : "", text ? bytes : 0);
    if (whole) return whole;
    struct buffer b = {0};
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)text[i] < 0x80)
            buffer_add(&b, text + i, 1);
        else if (i == 0 || ((unsigned char)text[i] & 0xc0) != 0x80)
            buffer_text(&b, "\xef\xbf\xbd");
    if (!b.n) buffer_text(&b, "\xef\xbf\xbd");
    whole = b.failed ? NULL : json_stringn(b.data, b.n);
    buffer_free(&b);
    return whole;
}

static json_t *bytes_of(const struct tokenizer *t, int32_t id) {
    size_t bytes = 0;
    bool special;
    const char *text = tokenizer_bytes(t, id, &bytes, &special);
    json_t *array = json_array();
    for (size_t i = 0; text && i < bytes; i++)
        json_array_append_new(array, json_integer((unsigned char)text[i]));
    return array;
}

/* JSON has no infinity: a token that cannot come is as unlikely as OpenAI tells it. */
static json_t *number_of(float logprob) {
    return json_real(logprob > -9999 ? logprob : -9999.0);
}

static json_t *entry(const struct tokenizer *t, int32_t id, float logprob) {
    return json_pack("{s:o, s:o, s:o}", "token", text_of(t, id), "logprob", number_of(logprob),
                     "bytes", bytes_of(t, id));
}

/* A token with its alternatives, among which it is itself. */
static json_t *noted(const struct tokenizer *t, const struct engine_token *token, int64_t top) {
    json_t *e = entry(t, token->id, token->logprob), *list = json_array();
    bool there = !top;
    for (int i = 0; i < token->ntop; i++) {
        json_array_append_new(list, entry(t, token->top[i].id, token->top[i].logprob));
        there = there || token->top[i].id == token->id;
    }
    if (!there) json_array_append_new(list, entry(t, token->id, token->logprob));
    if (e && json_object_set_new(e, "top_logprobs", list) == 0) return e;
    json_decref(e);
    return NULL;
}

bool tokens_note(struct part *p, const struct engine_token *token) {
    json_t *e = noted(p->answer->model->tokenizer, token, p->answer->request->top);
    bool ok = e && json_array_append(p->fresh, e) == 0 && json_array_append(p->tokens, e) == 0;
    json_decref(e);
    return ok;
}

/* ---- of the prompt ---- */

json_t *tokens_prompt(const struct part *p) {
    json_t *list = json_array();
    for (size_t i = 0; i < p->prompt->n; i++)
        json_array_append_new(list, json_null());
    return list;
}

bool tokens_note_prompt(struct part *p, size_t at, const struct engine_token *token) {
    json_t *e = noted(p->answer->model->tokenizer, token, p->answer->request->prompt_top);
    if (!e) return false;
    json_object_set_new(e, "id", json_integer(token->id));
    json_t *ids = json_array();
    for (int i = 0; i < token->ntop; i++)
        json_array_append_new(ids, json_integer(token->top[i].id));
    json_object_set_new(e, "ids", ids);
    return json_array_set_new(p->prompt_tokens, at, e) == 0;
}

/* {"ID": {"logprob": ..., "rank": ..., "decoded_token": ...}} of each token; the first has none. */
json_t *tokens_prompt_logprobs(const struct part *p) {
    json_t *out = json_array();
    for (size_t i = 0; i < json_array_size(p->prompt_tokens); i++) {
        const json_t *e = json_array_get(p->prompt_tokens, i), *ids = json_object_get(e, "ids");
        json_t *row = json_is_object(e) ? json_object() : json_null();
        char id[32];
        for (size_t k = 0; k <= json_array_size(ids) && json_is_object(row); k++) {
            bool own = k == json_array_size(ids);
            const json_t *of = own ? e : json_array_get(json_object_get(e, "top_logprobs"), k);
            json_int_t number =
                json_integer_value(own ? json_object_get(e, "id") : json_array_get(ids, k));
            snprintf(id, sizeof id, "%lld", (long long)number);
            if (json_object_get(row, id)) continue;
            json_t *told = json_pack("{s:O, s:O}", "logprob", json_object_get(of, "logprob"),
                                     "decoded_token", json_object_get(of, "token"));
            if (!own) json_object_set_new(told, "rank", json_integer((json_int_t)k + 1));
            json_object_set_new(row, id, told);
        }
        json_array_append_new(out, row);
    }
    return out;
}

static json_t *alternatives_of(const json_t *e) {
    const json_t *alternatives = json_object_get(e, "top_logprobs");
    json_t *top = json_object();
    for (size_t k = 0; k < json_array_size(alternatives); k++) {
        const json_t *other = json_array_get(alternatives, k);
        const json_t *name = json_object_get(other, "token");
        if (!json_object_getn(top, json_string_value(name), json_string_length(name)))
            json_object_setn(top, json_string_value(name), json_string_length(name),
                             json_object_get(other, "logprob"));
    }
    return top;
}

/* Is it a token that the text does not show? */
static bool is_hidden(const struct part *p, int32_t id) {
    size_t bytes;
    bool special = false;
    tokenizer_bytes(p->answer->model->tokenizer, id, &bytes, &special);
    return special && !p->answer->request->specials;
}

/* The prompt's tokens in front of those of the text; nothing is known of the first. */
static void add_prompt(struct part *p, json_t *words, json_t *numbers, json_t *tops,
                       json_t *offsets) {
    for (size_t i = 0; i < json_array_size(p->prompt_tokens); i++) {
        const json_t *e = json_array_get(p->prompt_tokens, i);
        json_t *word = json_is_object(e) ? json_incref(json_object_get(e, "token"))
                                         : text_of(p->answer->model->tokenizer, p->prompt->v[i]);
        json_array_append_new(offsets, json_integer((json_int_t)p->offset));
        bool hidden = is_hidden(p, p->prompt->v[i]);
        for (const char *c = json_string_value(word); c && *c && !hidden; c++)
            p->offset += ((unsigned char)*c & 0xc0) != 0x80;
        json_array_append_new(words, word);
        json_array_append_new(
            numbers, json_is_object(e) ? json_incref(json_object_get(e, "logprob")) : json_null());
        json_array_append_new(tops, json_is_object(e) ? alternatives_of(e) : json_null());
    }
}

/* Chat's entries as the lists that completions have. */
static json_t *as_lists(struct part *p, const json_t *tokens) {
    json_t *words = json_array(), *numbers = json_array(), *tops = json_array();
    json_t *offsets = json_array();
    const struct request *r = p->answer->request;
    if (r->echo && p->prompt_tokens) add_prompt(p, words, numbers, tops, offsets);
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        const json_t *e = json_array_get(tokens, i), *word = json_object_get(e, "token");
        json_t *top = alternatives_of(e);
        json_array_append(words, (json_t *)word);
        json_array_append(numbers, json_object_get(e, "logprob"));
        json_array_append_new(tops, top);
        json_array_append_new(offsets, json_integer((json_int_t)p->offset));
        for (const char *c = json_string_value(word); *c; c++)
            p->offset += ((unsigned char)*c & 0xc0) != 0x80;
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "tokens", words, "token_logprobs", numbers,
                     "top_logprobs", tops, "text_offset", offsets);
}

/* Of the text alone, behind those of reasoning. */
json_t *tokens_of_text(const struct part *p) {
    json_t *out = json_array();
    for (size_t i = (size_t)p->nreasoning; i < json_array_size(p->tokens); i++)
        json_array_append(out, json_array_get(p->tokens, i));
    return out;
}

json_t *tokens_logprobs(struct part *p, const json_t *tokens) {
    enum dialect dialect = p->answer->request->dialect;
    bool bare = dialect == DIALECT_RESPONSES || dialect == DIALECT_OLLAMA;
    if (bare) return tokens ? json_incref((json_t *)tokens) : json_array();
    if (!tokens) return json_null();
    if (p->answer->request->dialect == DIALECT_COMPLETIONS) return as_lists(p, tokens);
    return json_pack("{s:O, s:n}", "content", tokens, "refusal");
}

json_t *tokens_fresh(struct part *p) {
    json_t *told = tokens_logprobs(p, p->fresh);
    if (!p->fresh) return told;
    json_decref(p->fresh);
    p->fresh = json_array();
    return told;
}
