/* model.c - the model of a file, which cuts words into pieces. */
#include "examples/llm/tokenizer/parts.h"
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *fields;
    bool (*load)(struct model *, json_t *, char *err);
} kinds[] = {
    {"BPE",
     "type dropout unk_token continuing_subword_prefix end_of_word_suffix fuse_unk byte_fallback "
     "ignore_merges vocab merges",
     bpe_load},
    {"Unigram", "type unk_id vocab byte_fallback alpha nbest_size", unigram_load},
    {"WordPiece", "type unk_token continuing_subword_prefix max_input_chars_per_word vocab",
     wordpiece_load},
    {"WordLevel", "type unk_token vocab", wordlevel_load},
};

static bool load(struct model *m, json_t *j, char *err) {
    const char *type = type_of(j);
    if (!json_is_object(j)) return llm_fail(err, "\"model\" is not an object");
    if (!*type && !json_object_get(j, "type")) { /* files from before models had types */
        if (!json_object_get(j, "vocab") || json_is_object(json_object_get(j, "vocab")))
            type = "BPE";
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(type, kinds[i].name))
            return fields_known(j, "model", kinds[i].fields, err) && kinds[i].load(m, j, err);
    return llm_fail(err, "model type \"%.80s\" is not supported", type);
}

bool model_load(json_t *j, struct model **out, char *err) {
    *out = calloc(1, sizeof **out);
    if (!*out) return llm_fail(err, "out of memory");
    (*out)->unk = -1;
    if (load(*out, j, err) &&
        (((*out)->special = calloc((size_t)(*out)->vocab.size + 1, sizeof(bool))) ||
         llm_fail(err, "out of memory")))
        return true;
    model_free(*out);
    *out = NULL;
    return false;
}

void model_free(struct model *m) {
    if (!m) return;
    if (m->data) m->free_data(m->data);
    vocab_free(&m->vocab);
    free(m->special);
    free(m);
}

bool model_encode(const struct model *m, struct span word, bool specials, struct ids *ids,
                  char *err) {
    return !word.n || m->encode(m, word, specials, ids, err);
}

int32_t model_piece(const struct model *m, struct span text, bool specials) {
    int32_t id = vocab_id(&m->vocab, text);
    return id < 0 || specials || !m->special[id] ? id : -1;
}

void model_drop(const struct model *m, int32_t c, struct ids *ids) {
    int byte = m->spelled ? byte_of_char(c) : -1;
    if (!ids->dropped++) {
        ids->first_dropped = byte >= 0 ? byte : c;
        ids->dropped_bytes = byte >= 0;
    }
}

bool model_encode_byte(const struct model *m, char byte, struct ids *ids, char *err) {
    struct bytes spelled = {0};
    int32_t id = -1;
    if (m->spelled && !spell_bytes((struct span){&byte, 1}, &spelled)) {
        free(spelled.p);
        return llm_fail(err, "out of memory");
    }
    if (m->spelled) {
        struct span c = {spelled.p, spelled.n};
        size_t at = 0;
        id = vocab_id(&m->vocab, c);
        if (id < 0 && m->drops && m->unk < 0) {
            model_drop(m, utf8_next(c, &at), ids);
            free(spelled.p);
            return true;
        }
    } else if (m->byte_fallback) {
        id = vocab_byte(&m->vocab, byte);
    }
    if (id < 0 && m->drops) id = m->unk;
    free(spelled.p);
    if (id < 0)
        return llm_fail(err, "the vocabulary has no piece for byte 0x%02x", (unsigned char)byte);
    return ids_add(ids, id) || llm_fail(err, "out of memory");
}
