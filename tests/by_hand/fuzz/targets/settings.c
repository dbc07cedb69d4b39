/* The small files of a checkpoint, parted by bytes 0: tokenizer_config.json,
 * special_tokens_map.json, generation_config.json, chat_template.json. What is taken renders within
 * its bounds; ids are ids. */
#include "examples/llm/api/chat.h"
#include "examples/llm/engine/stops.h"
#include "examples/llm/tokenizer/tokenizer.h"
#include "tests/by_hand/fuzz/fuzz.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char tokenizer[] = "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"<s>\":1},"
                                "\"merges\":[]},\"added_tokens\":[{\"id\":1,\"content\":\"<s>\","
                                "\"special\":true}]}";
static const char messages[] = "{\"messages\": [{\"role\": \"user\", \"content\": \"a <b>\"}], "
                               "\"add_generation_prompt\": true}";

/* A file that is empty is none. */
static bool write_files(const uint8_t *data, size_t bytes) {
    static const char *const names[] = {"tokenizer_config.json", "special_tokens_map.json",
                                        "generation_config.json", "chat_template.json"};
    size_t at = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t left = bytes - at;
        const uint8_t *zero = left ? memchr(data + at, 0, left) : NULL;
        size_t n = zero ? (size_t)(zero - data) - at : left;
        if (!n)
            unlink(fuzz_path(names[i]));
        else if (!fuzz_file(names[i], data + at, n))
            return false;
        at += n + (zero != NULL);
    }
    return fuzz_file("tokenizer.json", tokenizer, sizeof tokenizer - 1);
}

static void check_chat(void) {
    char err[LLM_ERR] = "";
    struct chat *c;
    if (!chat_open(fuzz_folder(), NULL, &c, err)) {
        FUZZ_EXPECT(*err && !c);
        return;
    }
    struct fault fault = {0};
    struct buffer out = {0};
    json_t *variables = json_loads(messages, 0, NULL);
    FUZZ_EXPECT(!chat_has_template(c) == !chat_source(c));
    chat_render(c, variables, &out, &fault);
    json_decref(variables);
    buffer_free(&out);
    chat_close(c);
}

static void check_tokens(void) {
    char err[LLM_ERR] = "";
    struct stops stops;
    struct tokenizer *t;
    struct ids ids = {0};
    if (!stops_read(fuzz_folder(), &stops, err)) FUZZ_EXPECT(*err);
    for (int i = 0; i < stops.n; i++)
        FUZZ_EXPECT(stops.ids[i] >= 0);
    if (!tokenizer_load(fuzz_folder(), &t, err)) {
        FUZZ_EXPECT(*err && !t);
        return;
    }
    FUZZ_EXPECT(tokenizer_encode(t, "a<s>", 4, &ids, err));
    for (size_t i = 0; i < ids.n; i++)
        FUZZ_EXPECT(ids.v[i] >= 0);
    free(ids.v);
    tokenizer_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (!write_files(data, bytes)) return -1;
    check_chat();
    check_tokens();
    return 0;
}
