/* What a model may write where it can call tools: the first byte chooses the format. However the
 * text is cut the pieces are the same, and the arguments of each call are a JSON object. */
#include "examples/llm/api/text.h"
#include "examples/llm/api/tools/tools.h"
#include "tests/by_hand/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static struct tokenizer *tokenizer;

struct pieces {
    struct buffer all, arguments;
    int last;
};

static void check_arguments(struct pieces *p) {
    if (!p->arguments.n) return;
    json_t *value = json_loadb(p->arguments.data, p->arguments.n,
                               JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
    FUZZ_EXPECT(json_is_object(value));
    json_decref(value);
    buffer_free(&p->arguments);
}

static void take(void *user, enum piece piece, const char *text, size_t bytes) {
    struct pieces *p = user;
    FUZZ_EXPECT(bytes);
    if (p->last != (int)piece || piece == PIECE_CALL) buffer_format(&p->all, "|%d:", (int)piece);
    if (piece != PIECE_ARGUMENTS) check_arguments(p);
    if (piece == PIECE_ARGUMENTS) buffer_add(&p->arguments, text, bytes);
    buffer_add(&p->all, text, bytes);
    p->last = (int)piece;
}

static void read_text(const struct api_model *m, const struct request *r, const char *text,
                      size_t n, size_t cut, struct pieces *p) {
    struct ids none = {0};
    struct text *t = text_make(m, r, &none, take, p);
    char err[LLM_ERR];
    FUZZ_EXPECT(t);
    bool more = true;
    for (size_t at = 0; more && at < n;) {
        struct ids ids = {0};
        size_t part = cut && cut < n - at ? cut : n - at;
        FUZZ_EXPECT(tokenizer_encode_as(tokenizer, text + at, part,
                                        TOKENIZER_BARE | TOKENIZER_ANY_BYTES, &ids, err));
        for (size_t i = 0; more && i < ids.n; i++)
            more = text_push(t, ids.v[i]);
        free(ids.v);
        at += part;
    }
    text_finish(t);
    check_arguments(p);
    text_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char err[LLM_ERR];
    if (bytes < 2 || bytes > 4096) return -1;
    if (!tokenizer && !tokenizer_load(FUZZ_CHECKPOINT, &tokenizer, err)) return -1;
    int formats = 0, thoughts = 0;
    while (tool_format(formats))
        formats++;
    while (thought_format(thoughts))
        thoughts++;
    json_t *tools = json_array();
    struct api_model m = {.tokenizer = tokenizer,
                          .tools = tool_format(*data % formats),
                          .thoughts = thought_format(*data / 16 % thoughts),
                          .reasoning = true};
    struct request r = {.reasoning = true, .parallel = true, .tools = tools};
    struct pieces whole = {.last = -1}, cut = {.last = -1};
    read_text(&m, &r, (const char *)data + 1, bytes - 1, 0, &whole);
    read_text(&m, &r, (const char *)data + 1, bytes - 1, 3, &cut);
    FUZZ_EXPECT(whole.all.n == cut.all.n && !memcmp(whole.all.data ? whole.all.data : "",
                                                    cut.all.data ? cut.all.data : "", whole.all.n));
    buffer_free(&whole.all);
    buffer_free(&cut.all);
    json_decref(tools);
    return 0;
}
