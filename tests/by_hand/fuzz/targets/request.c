/* A request as a client sends it: its path in the first line, then its body. What is taken is
 * answered with a few tokens, as whatever the engine would bring: what comes out is JSON or events
 * of it. */
#include "examples/llm/api/answer.h"
#include "examples/llm/api/chat.h"
#include "examples/llm/api/tools/tools.h"
#include "examples/llm/grammar/grammar.h"
#include "tests/by_hand/fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct tokenizer *tokenizer;
static struct chat *chat;
static struct vocabulary *vocabulary;
enum { VOCAB = 1024, CONTEXT = 512 };

static bool prepare(void) {
    char err[LLM_ERR];
    if (vocabulary) return true;
    if (!tokenizer_load(FUZZ_CHECKPOINT, &tokenizer, err)) return false;
    if (!chat_open(FUZZ_CHECKPOINT, NULL, &chat, err)) return false;
    vocabulary = vocabulary_make(tokenizer, VOCAB);
    return vocabulary != NULL;
}

/* The token that comes first among those that may, beginning at START. */
static int32_t choose(const float *logits, int32_t start) {
    for (int32_t i = 0; i < VOCAB; i++)
        if (logits[(start + i) % VOCAB] == 0) return (start + i) % VOCAB;
    return -1;
}

static void write_text(struct answer *a, int text) {
    static float logits[VOCAB];
    struct engine_result result = {.end = ENGINE_LENGTH, .generated = 20, .prompt = 3};
    for (int i = 0; i < 20; i++) {
        memset(logits, 0, sizeof logits);
        struct likelihood top[2] = {{5, -1}, {6, -INFINITY}};
        struct engine_token token = {.logprob = -0.5f, .top = top, .ntop = 2};
        result.end = ENGINE_STOP;
        if (!answer_advance(a, text) || !answer_mask(a, text, logits)) break;
        token.id = choose(logits, (i * 37 + text * 101) % VOCAB);
        if (token.id < 0 || !answer_token(a, text, &token)) break;
        result.end = ENGINE_LENGTH;
    }
    answer_end(a, text, &result);
}

static void answer(struct api_model *m, struct request *r) {
    bool stream = r->stream;
    struct answer *a = answer_make(m, r);
    if (!a) return;
    for (int i = 0; i < answer_texts(a); i++)
        write_text(a, i);
    if (stream) {
        struct buffer *events = answer_events(a);
        FUZZ_EXPECT(events->n && !events->failed);
    } else {
        struct buffer body = {0};
        FUZZ_EXPECT(answer_body(a, &body) == 200);
        json_t *value = json_loadb(body.data, body.n, JSON_ALLOW_NUL, NULL);
        FUZZ_EXPECT(value);
        json_decref(value);
        buffer_free(&body);
    }
    answer_free(a);
}

static enum dialect dialect_of(const char *path, size_t n) {
    static const char *const words[] = {"chat", "/completions", "responses", "messages"};
    for (int i = 0; i < 4; i++)
        if (n && memmem(path, n, words[i], strlen(words[i]))) return (enum dialect)i;
    return DIALECT_CHAT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static const int32_t stops[] = {0};
    const uint8_t *line = bytes ? memchr(data, '\n', bytes) : NULL;
    if (!line || !prepare()) return -1;
    struct api_model m = {.name = "stories-llama",
                          .tokenizer = tokenizer,
                          .chat = chat,
                          .context = CONTEXT,
                          .vocab = VOCAB,
                          .choices = 4,
                          .usual = sampling_greedy(),
                          .tools = tool_format(*data % 11), /* the last one: none */
                          .lenient = *data & 16,
                          .reasoning = true,
                          .vocabulary = vocabulary,
                          .stops = stops,
                          .nstops = 1};
    struct fault f = {0};
    struct request *r;
    size_t path = (size_t)(line - data);
    json_t *body = json_loadb((const char *)line + 1, bytes - path - 1,
                              JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    if (!body) return -1;
    if (request_read(&m, dialect_of((const char *)data, path), body, &r, &f)) {
        answer(&m, r);
        return 0;
    }
    FUZZ_EXPECT(f.status >= 400 && f.status < 600 && *f.message);
    json_t *error = fault_json(&f, false);
    FUZZ_EXPECT(error);
    json_decref(error);
    return 0;
}
