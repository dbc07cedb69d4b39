#include "tests/unit/gguf/tokens.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_byte(const char *s) {
    return strlen(s) == 6 && !strncmp(s, "<0x", 3) && s[5] == '>';
}

void collect_tokens(const json_t *root, struct vocabulary *v) {
    const json_t *model = json_object_get(root, "model"), *added;
    const char *text;
    json_t *id;
    size_t i;
    memset(v, 0, sizeof *v);
    json_object_foreach(json_object_get((json_t *)model, "vocab"), text, id) {
        int at = (int)json_integer_value(id);
        v->text[at] = text;
        v->type[at] = is_byte(text) ? 6 : 1;
        v->score[at] = -1e6f - (float)at;
        if (at >= v->n) v->n = at + 1;
    }
    json_array_foreach(json_object_get(root, "added_tokens"), i, added) {
        int at = (int)json_integer_value(json_object_get(added, "id"));
        v->text[at] = json_string_value(json_object_get(added, "content"));
        v->type[at] = json_is_true(json_object_get(added, "special")) ? 3 : 4;
        if (!strcmp(v->text[at], "<unk>")) v->type[at] = 2;
        if (at >= v->n) v->n = at + 1;
    }
}

void collect_sums(const json_t *root, struct vocabulary *v) {
    const json_t *model = json_object_get(root, "model"), *list = json_object_get(model, "vocab");
    size_t i;
    json_t *one;
    memset(v, 0, sizeof *v);
    v->n = (int)json_array_size(list);
    json_array_foreach(list, i, one) {
        v->text[i] = json_string_value(json_array_get(one, 0));
        v->score[i] = (float)json_number_value(json_array_get(one, 1));
        v->type[i] = 1;
    }
    json_array_foreach(json_object_get(root, "added_tokens"), i, one) {
        int at = (int)json_integer_value(json_object_get(one, "id"));
        if (at < v->n) v->type[at] = 3;
    }
    v->type[json_integer_value(json_object_get(model, "unk_id"))] = 2;
}

void add_sums(struct writer *w, const struct vocabulary *v, const void *map, size_t bytes) {
    static const char *const names[] = {"bos", "padding", "eos", "unknown"};
    char key[80];
    add_text(w, "tokenizer.ggml.model", "t5");
    add_text(w, "tokenizer.ggml.pre", "default");
    add_u32(w, "tokenizer.ggml.token_type_count", 1);
    add_bool(w, "tokenizer.ggml.add_space_prefix", true);
    add_bool(w, "tokenizer.ggml.remove_extra_whitespaces", true);
    add_bool(w, "tokenizer.ggml.add_bos_token", true);
    add_bool(w, "tokenizer.ggml.add_eos_token", true);
    for (uint32_t i = 0; i < 4; i++) {
        snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", names[i]);
        add_u32(w, key, i);
    }
    if (bytes) add_array(w, "tokenizer.ggml.precompiled_charsmap", 0, bytes, map, bytes);
    add_tokens(w, v);
}

/* "a b" of a merge, written either way. */
static void merge_text(const json_t *merge, char *out, size_t room) {
    if (json_is_string(merge))
        snprintf(out, room, "%s", json_string_value(merge));
    else
        snprintf(out, room, "%s %s", json_string_value(json_array_get(merge, 0)),
                 json_string_value(json_array_get(merge, 1)));
}

void add_merges(struct writer *w, const json_t *merges) {
    struct buffer b = {0};
    char text[400];
    for (size_t i = 0; i < json_array_size(merges); i++) {
        merge_text(json_array_get(merges, i), text, sizeof text);
        put_text(&b, text);
    }
    add_array(w, "tokenizer.ggml.merges", 8, json_array_size(merges), b.at, b.n);
    free(b.at);
}

void score_tokens(struct vocabulary *v, const json_t *merges) {
    char text[400];
    for (size_t i = 0; i < json_array_size(merges); i++) {
        merge_text(json_array_get(merges, i), text, sizeof text);
        char *space = strchr(text, ' ');
        memmove(space, space + 1, strlen(space));
        for (int k = 0; k < v->n; k++)
            if (v->text[k] && !strcmp(v->text[k], text)) v->score[k] = -1 - (float)i;
    }
}

void add_tokens(struct writer *w, const struct vocabulary *v) {
    struct buffer b = {0};
    for (int i = 0; i < v->n; i++)
        put_text(&b, v->text[i] ? v->text[i] : "[hole]");
    add_array(w, "tokenizer.ggml.tokens", 8, (uint64_t)v->n, b.at, b.n);
    free(b.at);
    add_array(w, "tokenizer.ggml.scores", 6, (uint64_t)v->n, v->score, (size_t)v->n * 4);
    add_array(w, "tokenizer.ggml.token_type", 5, (uint64_t)v->n, v->type, (size_t)v->n * 4);
}

void add_token_model(struct writer *w, int tokens) {
    static unsigned char zeros[MOST_TOKENS * 8];
    uint64_t dims[2] = {4, (uint64_t)tokens};
    add_text(w, "general.architecture", "llama");
    add_u32(w, "llama.context_length", 64);
    add_u32(w, "llama.embedding_length", 4);
    add_u32(w, "llama.block_count", 1);
    add_u32(w, "llama.feed_forward_length", 4);
    add_u32(w, "llama.attention.head_count", 1);
    add_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    add_tensor(w, "token_embd.weight", 2, dims, 30, zeros, (size_t)tokens * 8);
}
