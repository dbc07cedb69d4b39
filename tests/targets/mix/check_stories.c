/* check_stories - do decoders that share a kernel write what each writes alone?
 *
 *     check_stories MIX TOKENS DEVICE FIRST COUNT  NAME KERNEL CHECKPOINT  NAME KERNEL CHECKPOINT
 *
 * TOKENS are generated greedily after each prompt, by each model alone from its KERNEL, then by the
 * two together from MIX: once for each seed FIRST .. FIRST + COUNT - 1 of an emulated device. Most
 * launches run both models, with dims of their own; some leave one out, in the same session. */
#include "examples/llm/engine/sampler.h"
#include "examples/llm/tokenizer/tokenizer.h"
#include "runtime/etrt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODELS = 2, PROMPTS = 2 };
static const char *const prompts[MODELS][PROMPTS] = {
    {"Once upon a time, there was a", "A fox and a turtle"},
    {"One rainy morning, a shy girl named", "It was a snowy day. Leo, a proud boy, was"}};

struct writer {
    const char *name, *kernel, *checkpoint;
    struct ids text[PROMPTS], alone[PROMPTS];
    size_t fed[PROMPTS];
    float *logits;
    int64_t n, row[PROMPTS]; /* of the launch: tokens, and the last row of each text */
};

static _Noreturn void die(const char *what) {
    fprintf(stderr, "check_stories: %s\n", what);
    exit(1);
}

static void need(etrt_status status, const char *doing) {
    if (status == ETRT_OK) return;
    fprintf(stderr, "check_stories: %s: %s: %s\n", doing, etrt_status_text(status),
            etrt_last_error());
    exit(1);
}

static void read_prompts(struct writer *w, int model) {
    struct tokenizer *t;
    char err[LLM_ERR];
    if (!tokenizer_load(w->checkpoint, &t, err)) die(err);
    for (int i = 0; i < PROMPTS; i++) {
        w->text[i].n = w->fed[i] = 0;
        if (!tokenizer_encode(t, prompts[model][i], strlen(prompts[model][i]), &w->text[i], err))
            die(err);
    }
    tokenizer_free(t);
}

/* What W calls NAME, in a kernel of its own or in a mix. */
static const char *called(const struct writer *w, bool mixed, const char *name, char buf[256]) {
    snprintf(buf, 256, "%s%s%s", mixed ? w->name : "", mixed ? "." : "", name);
    return buf;
}

/* Give the next launch all tokens that the model has not seen. */
static void feed(struct writer *w, etrt_session *s, bool mixed) {
    int32_t tokens[256], positions[256], slots[256];
    char name[256];
    w->n = 0;
    for (int i = 0; i < PROMPTS; i++)
        for (; w->fed[i] < w->text[i].n && w->n < 64; w->fed[i]++) {
            tokens[w->n] = w->text[i].v[w->fed[i]];
            positions[w->n] = (int32_t)w->fed[i];
            slots[w->n] = i;
            w->row[i] = w->n++;
        }
    size_t bytes = (size_t)w->n * sizeof *tokens;
    need(etrt_set_dim(s, called(w, mixed, "N", name), w->n), name);
    need(etrt_bind(s, called(w, mixed, "tokens", name), tokens, bytes), name);
    need(etrt_bind(s, called(w, mixed, "positions", name), positions, bytes), name);
    need(etrt_bind(s, called(w, mixed, "slots", name), slots, bytes), name);
}

/* Extend every text by the most likely token. */
static void take(struct writer *w, etrt_session *s, bool mixed) {
    int64_t shape[ETRT_MAX_RANK];
    int rank;
    char name[256];
    need(etrt_shape(s, called(w, mixed, "logits", name), shape, &rank), name);
    size_t count = (size_t)(shape[0] * shape[1]);
    w->logits = realloc(w->logits, count * sizeof *w->logits);
    if (!w->logits) die("out of memory");
    memset(w->logits, 0xff, count * sizeof *w->logits);
    need(etrt_read(s, name, w->logits, count * sizeof *w->logits), name);
    for (int i = 0; i < PROMPTS; i++) {
        int32_t id = sampler_likeliest(w->logits + w->row[i] * shape[1], shape[1]);
        if (id < 0 || !ids_add(&w->text[i], id)) die("no token to go on with");
    }
}

static void write_alone(struct writer *w, int model, const char *device, int tokens) {
    etrt_device *d;
    etrt_model *m;
    etrt_session *s;
    need(etrt_device_open(device, &d), device);
    need(etrt_model_load(d, w->kernel, &m), w->kernel);
    need(etrt_model_weights_file(m, w->checkpoint), w->checkpoint);
    need(etrt_session_create(m, &s), "session");
    read_prompts(w, model);
    for (int k = 0; k < tokens; k++) {
        feed(w, s, false);
        need(etrt_run(s), w->name);
        take(w, s, false);
    }
    for (int i = 0; i < PROMPTS; i++)
        for (size_t k = 0; k < w->text[i].n; k++)
            if (!ids_add(&w->alone[i], w->text[i].v[k])) die("out of memory");
    etrt_session_destroy(s);
    etrt_model_unload(m);
    etrt_device_close(d);
}

static size_t written(const struct writer *w) {
    return w->text[0].n;
}

static void compare(const struct writer *w, int seed) {
    for (int i = 0; i < PROMPTS; i++)
        if (w->text[i].n != w->alone[i].n ||
            memcmp(w->text[i].v, w->alone[i].v, w->text[i].n * sizeof *w->text[i].v) != 0) {
            fprintf(stderr, "check_stories: seed %d: %s writes another text %d in a mix\n", seed,
                    w->name, i);
            exit(1);
        }
}

/* Launches with both models, then one for each alone every few launches. */
static int write_together(struct writer w[MODELS], const char *mix, const char *device, int seed) {
    etrt_device *d;
    etrt_model *m;
    etrt_session *s;
    int together = 0;
    need(etrt_device_open(device, &d), device);
    need(etrt_model_load(d, mix, &m), mix);
    for (int i = 0; i < MODELS; i++)
        need(etrt_model_weights_of(m, w[i].name, w[i].checkpoint), w[i].checkpoint);
    need(etrt_session_create(m, &s), "session");
    for (int i = 0; i < MODELS; i++)
        read_prompts(&w[i], i);
    for (int k = seed % 3;; k++) {
        int ran = 0;
        for (int i = 0; i < MODELS; i++) {
            bool on = written(&w[i]) < w[i].alone[0].n && k % 6 != 4 + i;
            need(etrt_select(s, w[i].name, on), w[i].name);
            if (on) feed(&w[i], s, true);
            ran += on;
        }
        if (ran) need(etrt_run(s), mix);
        together += ran == MODELS;
        bool all = true;
        for (int i = 0; i < MODELS; i++) {
            if (etrt_selected(s, w[i].name)) take(&w[i], s, true);
            all &= written(&w[i]) == w[i].alone[0].n;
        }
        if (all) break;
    }
    for (int i = 0; i < MODELS; i++)
        compare(&w[i], seed);
    etrt_session_destroy(s);
    etrt_model_unload(m);
    etrt_device_close(d);
    return together;
}

int main(int argc, char **argv) {
    if (argc != 6 + 3 * MODELS) die("wrong arguments");
    int tokens = atoi(argv[2]), first = atoi(argv[4]), count = atoi(argv[5]), together = 0;
    struct writer w[MODELS] = {{0}};
    char device[512];
    for (int i = 0; i < MODELS; i++) {
        char **at = argv + 6 + 3 * i;
        w[i].name = at[0], w[i].kernel = at[1], w[i].checkpoint = at[2];
        write_alone(&w[i], i, argv[3], tokens);
    }
    for (int seed = first; seed < first + count; seed++) {
        /* What decides the order of things on a GPU is not ours to choose. */
        snprintf(device, sizeof device, "%s", argv[3]);
        if (strncmp(device, "emu:", 4) == 0)
            snprintf(device, sizeof device, "%s:seed=%d", argv[3], seed);
        together += write_together(w, argv[1], device, seed);
    }
    printf("%d interleavings, %d tokens after %d prompts of each model as alone; %d launches of "
           "both\n",
           count, tokens, PROMPTS, together);
    for (int i = 0; i < MODELS; i++) {
        for (int k = 0; k < PROMPTS; k++) {
            free(w[i].text[k].v);
            free(w[i].alone[k].v);
        }
        free(w[i].logits);
    }
    return together ? 0 : 1;
}
