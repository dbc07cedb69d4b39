/* A chat template and its variables: the template up to a byte 0, JSON behind it or some messages.
 * It ends within its bounds, with UTF-8 or an error that says why; a template renders the same
 * twice. */
#include "examples/llm/template/template.h"
#include "tests/by_hand/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char messages[] = "{\"messages\": [{\"role\": \"system\", \"content\": \"s \"}, "
                               "{\"role\": \"user\", \"content\": "
                               "\"\xc3\xbc <b>\"}, {\"role\": \"assistant\", \"content\": null, "
                               "\"tool_calls\": [{\"function\": "
                               "{\"name\": \"f\", \"arguments\": {\"k\": [1, 2.5, true]}}}]}], "
                               "\"tools\": [{\"function\": {\"name\": "
                               "\"f\"}}], \"add_generation_prompt\": true, \"bos_token\": \"<s>\", "
                               "\"l\": [3, 1, 2], \"n\": -7}";

static char *render(const lm_template *t, const json_t *variables, size_t *n) {
    static const struct tm now = {.tm_year = 125, .tm_mday = 1};
    const lm_template_options o = {
        .steps = 200000, .memory = 4 << 20, .output = 1 << 16, .now = &now};
    lm_template_error e;
    char *text = lm_template_render(t, variables, &o, n, &e);
    FUZZ_EXPECT(text || (e.status != LM_TEMPLATE_OK && *e.message));
    FUZZ_EXPECT(!text || *n <= 1 << 16);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    const char *text = (const char *)data, *end = bytes ? memchr(text, 0, bytes) : NULL;
    size_t n = end ? (size_t)(end - text) : bytes, n1, n2;
    lm_template_error e;
    lm_template *t = lm_template_parse(text, n, &e);
    if (!t) {
        FUZZ_EXPECT(e.status != LM_TEMPLATE_OK && *e.message);
        return 0;
    }
    json_t *variables = end ? json_loadb(end + 1, bytes - n - 1, JSON_ALLOW_NUL, NULL) : NULL;
    if (!variables) variables = json_loads(messages, 0, NULL);
    char *once = render(t, variables, &n1), *again = render(t, variables, &n2);
    FUZZ_EXPECT(!once == !again);
    if (once) {
        FUZZ_EXPECT(n1 == n2 && !memcmp(once, again, n1));
        json_t *utf8 = json_stringn(once, n1);
        FUZZ_EXPECT(utf8);
        json_decref(utf8);
    }
    free(once);
    free(again);
    json_decref(variables);
    lm_template_free(t);
    return 0;
}
