/* tokens.c - texts to token ids, and back. */
#include "examples/llm/options.h"
#include "examples/llm/tokenizer/tokenizer.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void warn_dropped(const char *what, const struct ids *ids) {
    if (!ids->dropped) return;
    llm_complain("warning: %s: %zu %s left out, for which the vocabulary has no token; the first "
                 "is %s%0*X",
                 what, ids->dropped, ids->dropped_bytes ? "bytes" : "characters",
                 ids->dropped_bytes ? "0x" : "U+", ids->dropped_bytes ? 2 : 4,
                 (unsigned)ids->first_dropped);
}

bool tokenize(const struct options *o) {
    struct tokenizer *t;
    struct ids ids = {0};
    char err[LLM_ERR];
    unsigned flags = (o->bare ? TOKENIZER_BARE : 0) | (o->raw ? TOKENIZER_ANY_BYTES : 0) |
                     (o->no_specials ? TOKENIZER_NO_SPECIALS : 0);
    if (!tokenizer_load(o->model, &t, err)) return llm_complain("%s", err);
    bool ok = true;
    for (int i = 0; ok && i < o->prompts.n; i++) {
        const char *text = o->prompts.at[i].text;
        char what[32];
        snprintf(what, sizeof what, "prompt %d", i + 1);
        ids.n = ids.dropped = 0;
        ok = tokenizer_encode_as(t, text, strlen(text), flags, &ids, err) ||
             llm_complain("prompt %d: %s", i + 1, err);
        for (size_t k = 0; ok && k < ids.n; k++)
            printf("%s%d", k ? " " : "", (int)ids.v[k]);
        if (ok) putchar('\n');
        if (ok) warn_dropped(what, &ids);
    }
    free(ids.v);
    tokenizer_free(t);
    return ok;
}

static bool parse_ids(const struct tokenizer *t, const char *list, struct ids *ids) {
    for (;;) {
        size_t bytes;
        bool special;
        char *end;
        while (isspace((unsigned char)*list))
            list++;
        if (!*list) return true;
        long long id = strtoll(list, &end, 10);
        if (end == list || (*end && !isspace((unsigned char)*end)))
            return llm_complain("--ids: \"%.40s\" is not a number", list);
        if (id < 0 || id > INT32_MAX || !tokenizer_bytes(t, (int32_t)id, &bytes, &special))
            return llm_complain("--ids: the vocabulary has no token %lld", id);
        if (!ids_add(ids, (int32_t)id)) return llm_complain("out of memory");
        list = end;
    }
}

bool detokenize(const struct options *o) {
    struct tokenizer *t;
    struct ids ids = {0};
    char err[LLM_ERR], *text;
    size_t bytes;
    unsigned flags = (o->raw ? LM_DECODER_RAW : 0) | (o->no_specials ? 0 : LM_DECODER_SPECIALS);
    if (!tokenizer_load(o->model, &t, err)) return llm_complain("%s", err);
    bool ok = true;
    for (int i = 0; ok && i < o->id_lists.n; i++) {
        ids.n = 0;
        ok = parse_ids(t, o->id_lists.at[i].text, &ids);
        if (ok && !tokenizer_decode(t, ids.v, ids.n, flags, &text, &bytes))
            ok = llm_complain("out of memory");
        if (!ok) break;
        fwrite(text, 1, bytes, stdout);
        putchar('\n');
        free(text);
    }
    free(ids.v);
    tokenizer_free(t);
    return ok;
}
