/* check_text - does generated text say what the reference says?
 *
 *     check_text MODEL_DIR INDEX FILE
 *
 * MODEL_DIR/reference.safetensors holds tokens.INDEX (prompt and greedy continuation) and the
 * logits after each; reference.json tells how many tokens are the prompt's. FILE must agree up to
 * the first token whose choice was nearly a tie, and to the end when there is none. */
#include "etrt_safetensors.h"
#include "json_file.h"
#include "tokenizer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double near_tie = 0.1;

struct reference {
    const struct etrt_st_tensor *tokens, *logits;
    int64_t prompt; /* tokens of it */
};

static int die(const char *what) {
    fprintf(stderr, "check_text: %s\n", what);
    exit(1);
}

/* Best minus second best of row I. */
static double gap(const struct etrt_st_tensor *logits, int64_t i) {
    int64_t width = logits->shape[1];
    double best = -INFINITY, second = -INFINITY;
    for (int64_t k = 0; k < width; k++) {
        float v;
        memcpy(&v, (const char *)logits->data + (i * width + k) * 4, sizeof v);
        second = v > best ? best : v > second ? v : second;
        best = v > best ? v : best;
    }
    return best - second;
}

static struct reference find(const char *dir, const struct etrt_st *st, const char *index) {
    struct reference r;
    char name[64], err[LLM_ERR];
    snprintf(name, sizeof name, "tokens.%s", index);
    r.tokens = etrt_st_find(st, name);
    snprintf(name, sizeof name, "logits.%s", index);
    r.logits = etrt_st_find(st, name);
    /* reference.json is a list; json_file takes objects only. */
    snprintf(err, sizeof err, "%s/reference.json", dir);
    json_t *list = json_load_file(err, 0, NULL);
    r.prompt = json_integer_value(
        json_object_get(json_array_get(list, (size_t)atoll(index)), "prompt_tokens"));
    json_decref(list);
    if (!r.tokens || !r.logits || r.prompt < 1) die("the reference has no such sequence");
    return r;
}

/* The text of the reference's tokens, without the special ones, as far as it is certain. */
static char *certain_text(const struct tokenizer *t, const struct reference *r, bool *out_all) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    int64_t n = r->tokens->shape[0], i;
    for (i = 0; f && i < n && (i < r->prompt || gap(r->logits, i - 1) > near_tie); i++) {
        int32_t id;
        size_t bytes;
        bool special;
        memcpy(&id, (const char *)r->tokens->data + i * 4, sizeof id);
        const char *piece = tokenizer_bytes(t, id, &bytes, &special);
        if (piece && !special) fwrite(piece, 1, bytes, f);
    }
    if (!f || fclose(f)) die("out of memory");
    *out_all = i == n;
    printf("check_text: %lld of %lld tokens are certain\n", (long long)i, (long long)n);
    return text;
}

int main(int argc, char **argv) {
    char err[LLM_ERR], path[4096], got[1 << 16];
    struct tokenizer *t;
    struct etrt_st *st;
    if (argc != 4) die("usage: check_text MODEL_DIR INDEX FILE");
    snprintf(path, sizeof path, "%s/reference.safetensors", argv[1]);
    if (!tokenizer_load(argv[1], &t, err) || !etrt_st_open(path, &st, err, sizeof err)) die(err);
    struct reference r = find(argv[1], st, argv[2]);
    bool all;
    char *want = certain_text(t, &r, &all);
    FILE *f = fopen(argv[3], "r");
    size_t n = f ? fread(got, 1, sizeof got - 1, f) : 0;
    got[n] = 0;
    if (f) fclose(f);
    if (all) /* the text ends here, and the line too */
        strcat(want = realloc(want, strlen(want) + 2), "\n");
    bool ok = !strncmp(got, want, strlen(want)) && (!all || n == strlen(want));
    if (!ok) fprintf(stderr, "check_text: expected:\n%s\ngot:\n%s\n", want, got);
    free(want);
    etrt_st_close(st);
    tokenizer_free(t);
    return ok ? 0 : 1;
}
