/* etquant - quantises the weights of a checkpoint by rounding to nearest. */
#include "frontend/quant/quant.h"
#include "runtime/cli/cli.h"
#include "runtime/files/output.h"
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *input, *output;
    bool fp8, int4, two_of_four, head;
    cli_list keep;
};

static const struct qnt_method *method_of(const struct options *o) {
    return o->fp8 ? &qnt_fp8 : o->int4 ? &qnt_int4 : &qnt_2_4;
}

static bool write_folder(const struct options *o, struct qnt_plan *p, json_t *config,
                         struct qnt_fault *fault) {
    et_output_folder to;
    char path[PATH_MAX];
    if (!et_output_folder_open(&to, o->output))
        return qnt_fail(fault, "%s: %s", o->output,
                        errno == ENOTEMPTY ? "is there, and has files in it" : strerror(errno));
    bool ok = snprintf(path, sizeof path, "%s/model.safetensors", to.temporary) < PATH_MAX ||
              qnt_fail(fault, "%s: the name is too long", o->output);
    ok = ok && qnt_plan_write(p, path, fault) && qnt_files_copy(o->input, to.temporary, fault) &&
         qnt_json_write(to.temporary, "config.json", config, fault);
    return et_output_folder_close(&to, ok) || qnt_fail(fault, "%s: %s", o->output, strerror(errno));
}

static void tell(const struct options *o, const struct qnt_plan *p) {
    int weights;
    uint64_t before, after;
    qnt_plan_count(p, &weights, &before, &after);
    printf("%s: %d weights to %s, %.1f MB to %.1f MB\n", o->output, weights, method_of(o)->name,
           (double)before / 1e6, (double)after / 1e6);
}

static bool quantise(const struct options *o, et_arena *arena, struct qnt_fault *fault) {
    char err[ETRT_ST_ERR];
    struct etrt_st *st;
    const char **keep = et_alloc(arena, (size_t)(o->keep.n + 1) * sizeof *keep);
    for (int i = 0; i < o->keep.n; i++)
        keep[i] = o->keep.at[i].text;
    json_t *config = qnt_config_read(o->input, fault);
    if (!config) return false;
    if (!etrt_st_open(o->input, &st, err, sizeof err)) {
        json_decref(config);
        return qnt_fail(fault, "%s", err);
    }
    enum qnt_head head = !o->head                      ? QNT_HEAD_STAYS
                         : qnt_config_ties(config, st) ? QNT_HEAD_IS_EMBEDDING
                                                       : QNT_HEAD_TOO;
    struct qnt_plan *p = qnt_plan_make(arena, st, method_of(o), keep, o->keep.n, head, fault);
    if (p && head == QNT_HEAD_IS_EMBEDDING)
        json_object_set_new(config, "tie_word_embeddings", json_false());
    if (p && method_of(o)->config) {
        json_t *left = qnt_plan_left(p);
        json_object_set_new(config, "quantization_config", method_of(o)->config(left));
        json_decref(left);
    }
    bool ok = p && write_folder(o, p, config, fault);
    if (ok) tell(o, p);
    etrt_st_close(st);
    json_decref(config);
    return ok;
}

#define TO(field) CLI_AT(struct options, field)
static const cli_option options[] = {
    {"output", 'o', CLI_FOLDER, "DIR", TO(output),
     "the checkpoint directory to make; it may be there when it is empty", .need = 1},
    {"fp8", 0, CLI_FLAG, NULL, TO(fp8),
     "8 bits: e4m3 with a scale for each 128 rows by 128 columns"},
    {"int4", 0, CLI_FLAG, NULL, TO(int4),
     "4 bits: integers with a scale for each 128 columns of a row"},
    {"24", 0, CLI_FLAG, NULL, TO(two_of_four),
     "prune: of every four neighbours of a row only the two of the largest magnitude stay, for "
     "etcc --sparse=2:4"},
    {"head", 0, CLI_FLAG, NULL, TO(head),
     "the head too, which a token reads whole; one that is the embedding becomes a matrix of its "
     "own"},
    {"keep", 0, CLI_LIST, "PATTERN", TO(keep),
     "tensors that stay as they are, * standing for anything; may be repeated"},
    {0},
};
static const cli_option input = {
    .kind = CLI_FOLDER, .arg = "checkpoint directory", TO(input), .need = 1};

static const cli_tool tool;

static int run(void *read) {
    const struct options *o = read;
    struct qnt_fault fault = {""};
    if (o->fp8 + o->int4 + o->two_of_four != 1)
        return cli_wrong(&tool, "one of --fp8, --int4 and --24 must be given");
    et_arena *arena = et_arena_create();
    bool ok = quantise(o, arena, &fault);
    et_arena_destroy(arena);
    if (!ok) fprintf(stderr, "etquant: %s\n", fault.text);
    return ok ? 0 : 1;
}

static const cli_tool tool = {
    .name = "etquant",
    .summary = "quantise the weights of a Hugging Face checkpoint",
    .usage = "CHECKPOINT_DIR -o DIR --fp8|--int4|--24 [options]",
    .about = "Quantises the matrices of a checkpoint's layers, in the layouts of published "
             "checkpoints, and writes a checkpoint with them. Embeddings, norms, biases, routers "
             "of experts and, without --head, heads stay as they are. etllm perplexity measures "
             "the loss.",
    .options = options,
    .rest = &input,
    .run = run,
};

int main(int argc, char **argv) {
    struct options o = {0};
    return cli_main(&tool, argc, argv, &o);
}
