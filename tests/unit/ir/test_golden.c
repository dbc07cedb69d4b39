/* The reference interpreter against PyTorch: decoders as their imported text says (16-bit
 * operands), and with every type widened to f32.
 *
 * usage: test_ir_golden MODEL.etg WEIGHTS.safetensors REFERENCE.safetensors LIMIT
 * LIMIT bounds the error in f32 with the reference's own frequencies: what the arithmetic that made
 * the reference leaves. */
#include "frontend/frontend.h"
#include "ir/graph/op_util.h"
#include "tests/unit/ir/checkpoint.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEQUENCES = 4, LENGTH = 40, CHUNK = 8 };

/* The first LENGTH tokens of each sequence and the logits after them. */
typedef struct {
    int sequences;
    int32_t ids[MAX_SEQUENCES * LENGTH];
    float *logits;
} reference;

typedef struct {
    et_arena *arena;
    et_graph *g;
    et_tensor_data **tensors;
    int64_t n; /* tokens in a launch */
} model;

static void die(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void widen(char *text) {
    for (char *p = text; (p = strstr(p, "bf16[")); p += 4)
        memcpy(p, " f32[", 5);
}

/* One tensor of the checkpoint per iteration of the loop the weight stands in. */
static void load_weight(const model *m, const checkpoint *c, const et_val *v, et_tensor_data *t) {
    int64_t trips = v->nloops ? t->dim[0] : 1, each = et_tensor_count(t) / trips;
    if (v->nloops > 1) die("a weight in two loops");
    for (int64_t i = 0; i < trips; i++) {
        const char *brace = strchr(v->source, '{'), *name = v->source;
        if (v->nloops)
            name = et_printf(m->arena, "%.*s%lld%s", (int)(brace - v->source), v->source,
                             (long long)(m->g->loops[v->loops[0]].lo + i), strchr(brace, '}') + 1);
        if (!checkpoint_read(c, name, each, t->f + i * each)) die(name);
    }
}

static void allocate(model *m, const checkpoint *weights) {
    et_graph *g = m->g;
    m->tensors = et_alloc(m->arena, (size_t)g->nvals * sizeof *m->tensors);
    for (int id = 1; id < g->nvals; id++) {
        const et_val *v = &g->vals[id];
        if (v->kind > ET_V_STATE && !v->is_output) continue;
        et_tensor_data *t = m->tensors[id] = et_alloc(m->arena, sizeof *t);
        t->dtype = v->shape.dtype;
        t->rank = v->shape.rank;
        for (int k = 0; k < t->rank; k++)
            t->dim[k] = et_eval(g->exprs, v->shape.dim[k], &m->n, NULL);
        t->p = et_alloc(m->arena, (size_t)et_tensor_count(t) * sizeof(float));
        if (v->kind == ET_V_WEIGHT) load_weight(m, weights, v, t);
    }
}

static et_tensor_data *named(const model *m, const char *name) {
    for (int id = 1; id < m->g->nvals; id++)
        if (m->tensors[id] && strcmp(m->g->vals[id].name, name) == 0) return m->tensors[id];
    die(name);
    return NULL;
}

/* ‖out − ref‖ / ‖ref‖ over every position, all sequences side by side in each launch. */
static double relative_error(const model *m, const reference *ref) {
    const et_tensor_data *logits = named(m, "logits");
    int64_t vocabulary = logits->dim[1];
    double off = 0, all = 0;
    char err[256];
    for (int from = 0; from < LENGTH; from += CHUNK) {
        for (int i = 0; i < m->n; i++) {
            int sequence = i % ref->sequences, at = from + i / ref->sequences;
            named(m, "tokens")->i[i] = ref->ids[sequence * LENGTH + at];
            named(m, "positions")->i[i] = at;
            named(m, "slots")->i[i] = 2 * sequence + 1;
        }
        if (!et_graph_interp(m->g, &m->n, m->tensors, err)) die(err);
        for (int i = 0; i < m->n; i++)
            for (int64_t v = 0; v < vocabulary; v++) {
                int64_t row = (i % ref->sequences) * LENGTH + from + i / ref->sequences;
                double want = (double)ref->logits[row * vocabulary + v];
                double d = (double)logits->f[i * vocabulary + v] - want;
                off += d * d;
                all += want * want;
            }
    }
    return sqrt(off / all);
}

/* Either one tensor over all sequences, or one for each of different lengths. */
static void read_reference(et_arena *arena, const checkpoint *c, int64_t vocabulary,
                           reference *out) {
    int64_t rows = (int64_t)LENGTH * MAX_SEQUENCES;
    out->logits = et_alloc(arena, (size_t)(rows * vocabulary) * sizeof *out->logits);
    out->sequences = 3;
    if (checkpoint_read(c, "input_ids", 3 * LENGTH, out->ids) &&
        checkpoint_read(c, "logits", 3 * LENGTH * vocabulary, out->logits))
        return;
    for (out->sequences = 0; out->sequences < MAX_SEQUENCES; out->sequences++) {
        int64_t at = (int64_t)out->sequences * LENGTH;
        const char *ids = et_printf(arena, "tokens.%d", out->sequences);
        const char *logits = et_printf(arena, "logits.%d", out->sequences);
        if (!checkpoint_read(c, ids, LENGTH, out->ids + at) ||
            !checkpoint_read(c, logits, LENGTH * vocabulary, out->logits + at * vocabulary))
            die("the reference has no such tensors");
    }
}

/* The models that made the references had been cast to bf16 as a whole before they were widened,
 * their rotary frequencies with them. */
static void narrow_constants(const model *m) {
    for (int id = 1; id < m->g->nvals; id++) {
        const et_val *v = &m->g->vals[id];
        if (v->kind != ET_V_CONST || v->shape.dtype != ET_F32) continue;
        float *data = (float *)v->data;
        for (int64_t i = 0; i < et_eval(m->g->exprs, v->shape.dim[0], NULL, NULL); i++)
            data[i] = et_round_to(ET_BF16, data[i]);
    }
}

static double run_model(char **path, const char *text, bool as_reference) {
    et_arena *arena = et_arena_create();
    et_diags *diags = et_diags_create(arena);
    model m = {.arena = arena};
    m.g = et_parse_etg(arena, diags, path[1], text, strlen(text));
    et_diag_print(diags, stderr);
    if (!m.g) die("the model does not parse");
    checkpoint *weights = checkpoint_open(path[2]), *wanted = checkpoint_open(path[3]);
    if (!weights || !wanted) die("cannot read the weights or the reference");
    reference ref;
    et_value logits = m.g->outputs[0];
    int64_t vocabulary = et_eval(m.g->exprs, et_val_of(m.g, logits)->shape.dim[1], NULL, NULL);
    read_reference(arena, wanted, vocabulary, &ref);
    m.n = ref.sequences * CHUNK;
    if (as_reference) narrow_constants(&m);
    allocate(&m, weights);
    double error = relative_error(&m, &ref);
    checkpoint_close(weights);
    checkpoint_close(wanted);
    et_arena_destroy(arena);
    return error;
}

int main(int argc, char **argv) {
    int64_t bytes;
    if (argc != 5) die("usage: test_ir_golden MODEL.etg WEIGHTS REFERENCE LIMIT");
    char *text = read_whole_file(argv[1], &bytes);
    if (!text) die("cannot read the model");
    double narrow = run_model(argv, text, false);
    widen(text);
    double wide = run_model(argv, text, false), same = run_model(argv, text, true);
    printf("%s: relative error %.2e as written, %.2e in f32, %.2e in f32 with the reference's "
           "frequencies\n",
           argv[1], narrow, wide, same);
    free(text);
    return !(narrow < 1e-2 && wide < 5e-3 && same < strtod(argv[4], NULL));
}
