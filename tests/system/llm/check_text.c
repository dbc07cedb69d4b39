/* check_text - what of a reference's greedy text is certain, and does generated text say it?
 *
 *     check_text prefix  MODEL_DIR INDEX TEXT           does the file TEXT agree with the reference
 * up to the first choice that was nearly a tie? check_text longest MODEL_DIR INDEX PROMPT WANT
 * writes the longest stretch without such a choice: the text before it to PROMPT, the text to its
 * end to WANT, its tokens to stdout
 *
 * MODEL_DIR/reference.safetensors holds tokens.INDEX and the logits after each; reference.json how
 * many of them are the prompt's. */
#include "examples/llm/base/json_file.h"
#include "examples/llm/tokenizer/tokenizer.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double near_tie = 0.1;

struct reference {
    struct tokenizer *tokenizer;
    struct etrt_st *st;
    const struct etrt_st_tensor *logits;
    int32_t *tokens;
    int64_t n, prompt; /* all tokens, those of the prompt */
};

static _Noreturn void die(const char *what) {
    fprintf(stderr, "check_text: %s\n", what);
    exit(1);
}

static void load(struct reference *r, const char *dir, const char *index) {
    char path[4096], name[64], err[LLM_ERR];
    snprintf(path, sizeof path, "%s/reference.safetensors", dir);
    if (!tokenizer_load(dir, &r->tokenizer, err) || !etrt_st_open(path, &r->st, err, sizeof err))
        die(err);
    snprintf(name, sizeof name, "tokens.%s", index);
    const struct etrt_st_tensor *tokens = etrt_st_find(r->st, name);
    snprintf(name, sizeof name, "logits.%s", index);
    r->logits = etrt_st_find(r->st, name);
    snprintf(path, sizeof path, "%s/reference.json", dir);
    json_t *list = json_load_file(path, 0, NULL);
    r->prompt = json_integer_value(
        json_object_get(json_array_get(list, (size_t)atoll(index)), "prompt_tokens"));
    json_decref(list);
    if (!tokens || !r->logits || r->prompt < 1) die("the reference has no such sequence");
    r->n = tokens->shape[0];
    r->tokens = malloc(tokens->bytes);
    if (!r->tokens) die("out of memory");
    memcpy(r->tokens, tokens->data, tokens->bytes);
}

static void release(struct reference *r) {
    free(r->tokens);
    etrt_st_close(r->st);
    tokenizer_free(r->tokenizer);
}

/* Was token I the only good choice? Best minus second best of the logits before it says. */
static bool certain(const struct reference *r, int64_t i) {
    int64_t width = r->logits->shape[1];
    double best = -INFINITY, second = -INFINITY;
    for (int64_t k = 0; k < width; k++) {
        float v;
        memcpy(&v, (const char *)r->logits->data + ((i - 1) * width + k) * 4, sizeof v);
        second = v > best ? best : v > second ? v : second;
        best = v > best ? v : best;
    }
    return best - second > near_tie;
}

/* The text of the first N tokens, without the special ones; allocated. */
static char *text_of(const struct reference *r, int64_t n) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    for (int64_t i = 0; f && i < n; i++) {
        size_t bytes;
        bool special;
        const char *piece = tokenizer_bytes(r->tokenizer, r->tokens[i], &bytes, &special);
        if (piece && !special) fwrite(piece, 1, bytes, f);
    }
    if (!f || fclose(f)) die("out of memory");
    return text;
}

static bool prefix(const struct reference *r, const char *path) {
    static char got[1 << 16];
    int64_t n = r->prompt;
    while (n < r->n && certain(r, n))
        n++;
    char *want = text_of(r, n);
    FILE *f = fopen(path, "r");
    got[f ? fread(got, 1, sizeof got - 1, f) : 0] = 0;
    if (f) fclose(f);
    bool ok = !strncmp(got, want, strlen(want));
    printf("check_text: %lld of %lld tokens are certain\n", (long long)n, (long long)r->n);
    if (!ok) fprintf(stderr, "check_text: expected:\n%s\ngot:\n%s\n", want, got);
    free(want);
    return ok;
}

/* Is the text of the first N tokens cut into just these tokens again? */
static bool encodes_back(const struct reference *r, int64_t n) {
    char *text = text_of(r, n), err[LLM_ERR];
    struct ids ids = {0};
    bool same = tokenizer_encode(r->tokenizer, text, strlen(text), &ids, err) &&
                ids.n == (size_t)n && !memcmp(ids.v, r->tokens, (size_t)n * sizeof *r->tokens);
    free(ids.v);
    free(text);
    return same;
}

static void write_text(const struct reference *r, int64_t n, const char *path) {
    char *text = text_of(r, n);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) die("cannot write");
    free(text);
}

static bool longest(const struct reference *r, const char *prompt, const char *want) {
    int64_t first = 0, last = 0;
    for (int64_t i = r->prompt; i < r->n; i++) {
        int64_t end = i;
        while (end < r->n && certain(r, end))
            end++;
        if (end - i > last - first && encodes_back(r, i)) {
            first = i;
            last = end;
        }
    }
    if (first == last) die("nothing is certain");
    write_text(r, first, prompt);
    write_text(r, last, want);
    printf("%lld\n", (long long)(last - first));
    return true;
}

int main(int argc, char **argv) {
    struct reference r;
    bool is_prefix = argc == 5 && !strcmp(argv[1], "prefix");
    if (!is_prefix && !(argc == 6 && !strcmp(argv[1], "longest")))
        die("prefix MODEL_DIR INDEX TEXT | longest MODEL_DIR INDEX PROMPT WANT");
    load(&r, argv[2], argv[3]);
    bool ok = is_prefix ? prefix(&r, argv[4]) : longest(&r, argv[4], argv[5]);
    release(&r);
    return ok ? 0 : 1;
}
