/* import.h - the steps of etimport: read config.json, check the tensors against it, write the .etg.
 *
 * A step reports every problem it finds to stderr through imp_error and returns false when there
 * was one; no step exits. */
#ifndef ET_IMPORT_H
#define ET_IMPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct etrt_st;

/* Problems are printed as they are found, at most a screenful of each kind. */
struct imp_report {
    int errors, warnings;
};
void imp_error(struct imp_report *, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void imp_warning(struct imp_report *, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Says how many problems were not shown. */
void imp_report_end(const struct imp_report *);

/* What the command line chose. */
struct imp_options {
    const char *checkpoint, *output;
    char name[128];
    int64_t max_tokens, slots, context; /* context 0: as the model allows, at most 4096 */
    bool config_only;                   /* do not look at the weights */
    bool wide;                          /* weights and states are declared f32 */
    int bf16_frequencies;               /* 1: rope's are rounded to bf16 */
    const char *cache;                  /* type of kept keys and values, or NULL */
};

/* One row per architecture that can be imported. */
struct imp_arch {
    const char *name;       /* config.json "architectures" */
    const char *model_type; /* config.json "model_type" */
    enum {
        IMP_QK_PLAIN,
        IMP_QK_HEADS,
        IMP_QK_WHOLE
    } qk_norm; /* q and k are normalised before
                 rope, per head or all heads as
                 one */
    /* A mixture of experts: what the tensors of a layer are called, NULL for a dense model. */
    const char *router, *gate, *up, *down;
    bool own_width;     /* of experts: "moe_intermediate_size"; else "intermediate_size" */
    bool always_norm;   /* the chosen scores add up to 1; else where "norm_topk_prob" says so */
    bool always_slides; /* attention slides wherever "sliding_window" is given */
};

enum imp_tie { IMP_TIED, IMP_UNTIED, IMP_TIED_UNLESS_HEAD };
enum imp_rope { IMP_ROPE_DEFAULT, IMP_ROPE_LLAMA3 };

/* A decoder as config.json describes it, checked: every number is in a sane range. */
struct imp_config {
    const struct imp_arch *arch;
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
    int64_t experts, chosen; /* per token; 0: none */
    bool norm_chosen;
    bool stacked;          /* all experts of a layer in one tensor, as the checkpoint has it */
    int64_t max_positions; /* 0: not given */
    double eps;
    enum imp_rope rope;
    double theta, factor, low_freq, high_freq;
    int64_t original_context;
    const char *act;   /* the .etg function */
    const char *dtype; /* safetensors spelling of config.json's dtype, or NULL */
    bool attention_bias, mlp_bias;
    enum imp_tie tie;
};

bool imp_read_config(const char *path, struct imp_config *, struct imp_report *);

/* Settles the context and refuses caches that no device could hold. */
bool imp_check_caches(struct imp_options *, const struct imp_config *, struct imp_report *);

/* A tensor of the checkpoint and the .etg weight it becomes. */
struct imp_weight {
    const char *var;    /* NULL ends a list */
    const char *source; /* name in the checkpoint; "{l}" stands for the layer, "{e}" the expert */
    const char *shape;  /* as the .etg spells it: "NH*D, H" */
    const char *help;   /* a comment, or NULL */
    int rank;
    int64_t dims[3]; /* of one tensor of the checkpoint */
    bool per_layer, per_expert;
    const char *dtype; /* as the .etg spells it: "bf16" */
};
#define IMP_MAX_WEIGHTS 24

/* The weights a decoder of this configuration needs, in the order the .etg declares them. Settles
 * cfg->tie and cfg->stacked by looking what the checkpoint has. ST may be NULL (--config-only). */
void imp_list_weights(struct imp_config *, const struct etrt_st *, struct imp_weight *out_weights);
/* Presence, shape and type of all of them in the checkpoint; fills in their dtypes. */
bool imp_check_weights(const struct imp_config *, const struct etrt_st *, struct imp_weight *,
                       struct imp_report *);

/* Print the .etg. */
void imp_emit(FILE *, const struct imp_options *, const struct imp_config *,
              const struct imp_weight *);

#endif
