#include "examples/llm/api/tokens.h"
#include <math.h>

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

bool tokens_note(struct part *p, const struct engine_token *token) {
    const struct tokenizer *t = p->answer->model->tokenizer;
    json_t *e = entry(t, token->id, token->logprob), *top = json_array();
    for (int i = 0; i < token->ntop; i++)
        json_array_append_new(top, entry(t, token->top[i].id, token->top[i].logprob));
    bool ok = e && json_object_set_new(e, "top_logprobs", top) == 0 &&
              json_array_append(p->fresh, e) == 0 && json_array_append(p->tokens, e) == 0;
    json_decref(e);
    return ok;
}

/* Chat's entries as the lists that completions have. */
static json_t *as_lists(struct part *p, const json_t *tokens) {
    json_t *words = json_array(), *numbers = json_array(), *tops = json_array();
    json_t *offsets = json_array();
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        const json_t *e = json_array_get(tokens, i),
                     *alternatives = json_object_get(e, "top_logprobs");
        const json_t *word = json_object_get(e, "token");
        json_t *top = json_object();
        for (size_t k = 0; k < json_array_size(alternatives); k++) {
            const json_t *other = json_array_get(alternatives, k);
            const json_t *name = json_object_get(other, "token");
            if (!json_object_getn(top, json_string_value(name), json_string_length(name)))
                json_object_setn(top, json_string_value(name), json_string_length(name),
                                 json_object_get(other, "logprob"));
        }
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

json_t *tokens_logprobs(struct part *p, const json_t *tokens) {
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
