/* convert.h - the parts of etgguf: what a GGUF file says becomes a checkpoint directory as Hugging
 * Face's library writes them. */
#ifndef ET_GGUF_CONVERT_H
#define ET_GGUF_CONVERT_H

#include "frontend/gguf/gguf.h"

struct json_t;

/* ---- names.c: architectures, and what their tensors are called ---- */

/* Families, a bit each. */
#define GGUF_LLAMA (UINT64_C(1) << 0)
#define GGUF_MISTRAL (UINT64_C(1) << 1)
#define GGUF_MIXTRAL (UINT64_C(1) << 2)
#define GGUF_QWEN2 (UINT64_C(1) << 3)
#define GGUF_QWEN3 (UINT64_C(1) << 4)
#define GGUF_QWEN3_MOE (UINT64_C(1) << 5)
#define GGUF_GEMMA (UINT64_C(1) << 6)
#define GGUF_GEMMA2 (UINT64_C(1) << 7)
#define GGUF_GEMMA3 (UINT64_C(1) << 8)
#define GGUF_QWEN2_MOE (UINT64_C(1) << 9)
#define GGUF_GEMMA_EMBEDDING (UINT64_C(1) << 10)
#define GGUF_BERT (UINT64_C(1) << 11)
#define GGUF_NOMIC_BERT (UINT64_C(1) << 12)
#define GGUF_MODERN_BERT (UINT64_C(1) << 13)
#define GGUF_SMOLLM3 (UINT64_C(1) << 14)
#define GGUF_ARCEE (UINT64_C(1) << 15)
#define GGUF_GRANITE (UINT64_C(1) << 16)
#define GGUF_MINISTRAL3 (UINT64_C(1) << 17)
#define GGUF_SEED_OSS (UINT64_C(1) << 18)
#define GGUF_ERNIE (UINT64_C(1) << 19)
#define GGUF_ERNIE_MOE (UINT64_C(1) << 20)
#define GGUF_EXAONE4 (UINT64_C(1) << 21)
#define GGUF_OLMO2 (UINT64_C(1) << 22)
#define GGUF_OLMO3 (UINT64_C(1) << 23)
#define GGUF_OLMOE (UINT64_C(1) << 24)
#define GGUF_GLM4 (UINT64_C(1) << 25)
#define GGUF_GLM4_MOE (UINT64_C(1) << 26)
#define GGUF_DOTS1 (UINT64_C(1) << 27)
#define GGUF_MINIMAX_M2 (UINT64_C(1) << 28)
#define GGUF_COHERE (UINT64_C(1) << 29)
#define GGUF_COHERE2 (UINT64_C(1) << 30)
#define GGUF_STARCODER2 (UINT64_C(1) << 31)
#define GGUF_PHI3 (UINT64_C(1) << 32)
#define GGUF_LFM2 (UINT64_C(1) << 33)
#define GGUF_LFM2_MOE (UINT64_C(1) << 34)
#define GGUF_DEEPSEEK2 (UINT64_C(1) << 35)
#define GGUF_DEEPSEEK3 (UINT64_C(1) << 36)
#define GGUF_KIMI_LINEAR (UINT64_C(1) << 37)
#define GGUF_QWEN3_NEXT (UINT64_C(1) << 38)
#define GGUF_QWEN3_5 (UINT64_C(1) << 39)
#define GGUF_QWEN3_5_MOE (UINT64_C(1) << 40)
#define GGUF_GRANITE_HYBRID (UINT64_C(1) << 41)
#define GGUF_NEMOTRON_H (UINT64_C(1) << 42)
#define GGUF_LLAMA4 (UINT64_C(1) << 43)
#define GGUF_GEMMA3N (UINT64_C(1) << 44)
#define GGUF_GEMMA4 (UINT64_C(1) << 45)
#define GGUF_MAMBA2 (UINT64_C(1) << 46)
#define GGUF_GPT_OSS (UINT64_C(1) << 47)
#define GGUF_BERT_SCORES (UINT64_C(1) << 48) /* of two texts */
#define GGUF_MAMBA (UINT64_C(1) << 49)
#define GGUF_JAMBA (UINT64_C(1) << 50)
#define GGUF_FALCON_H1 (UINT64_C(1) << 51)
#define GGUF_MAMBAS (GGUF_MAMBA | GGUF_MAMBA2)
#define GGUF_BERTS (GGUF_BERT | GGUF_BERT_SCORES)
#define GGUF_DEEPSEEKS (GGUF_DEEPSEEK2 | GGUF_DEEPSEEK3)
#define GGUF_LATENT (GGUF_DEEPSEEKS | GGUF_KIMI_LINEAR) /* keys and values of a latent */
#define GGUF_DELTA (GGUF_QWEN3_NEXT | GGUF_QWEN3_5 | GGUF_QWEN3_5_MOE)  /* gated delta rules */
#define GGUF_BESIDE (GGUF_GRANITE_HYBRID | GGUF_JAMBA | GGUF_FALCON_H1) /* and attention */
#define GGUF_STATES (GGUF_BESIDE | GGUF_NEMOTRON_H | GGUF_MAMBAS)
#define GGUF_NEXT (GGUF_GEMMA3N | GGUF_GEMMA4)
#define GGUF_GEMMA3S (GGUF_GEMMA3 | GGUF_GEMMA_EMBEDDING)
#define GGUF_LFM2S (GGUF_LFM2 | GGUF_LFM2_MOE)
#define GGUF_SIGMOIDS (GGUF_GLM4_MOE | GGUF_DOTS1) /* routers of DeepSeek V3's kind */
#define GGUF_ENCODERS (GGUF_BERTS | GGUF_NOMIC_BERT | GGUF_MODERN_BERT)
#define GGUF_ALL UINT64_MAX
#define GGUF_DECODERS (GGUF_ALL & ~GGUF_ENCODERS)

struct gguf_family {
    uint64_t bit;
    const char *architecture; /* general.architecture */
    const char *needs;        /* a key below it that must say something, or be "=N"; or NULL */
    const char *class, *model_type;
    const char *layers; /* what is before the number of a layer */
};
/* The family of the file, or NULL. */
const struct gguf_family *gguf_family_of(const struct gguf *);
const char *gguf_family_at(int index); /* architectures, for help; NULL at the end */

/* What is done to a tensor on its way. */
enum gguf_change {
    GGUF_QUERY = 1,   /* rows of a head lie in pairs (of q) */
    GGUF_KEY = 2,     /* the same of k */
    GGUF_NORM = 4,    /* a norm's weight, kept one too large in families that add 1 */
    GGUF_EXPERTS = 8, /* the last dimension is experts, each a tensor of its own */
    GGUF_ROUTER = 32, /* chooses experts, or says where and of which text a token is: kept in F32 by
                         those who make such files, as vectors are */
    GGUF_ROW = 64,    /* a matrix of one row, which may be a vector there */
    GGUF_ASIDE = 16,  /* says something about the model, and is no tensor of it */
    GGUF_BEHIND = 128, /* of a layer behind pooling, which has a file of its own */
    GGUF_KEPT = 512,   /* F32 in checkpoints, too */
    GGUF_TAPS = 256,   /* of a convolution of each channel: a dimension of 1 stands in the middle */
    GGUF_LOG = 1 << 10,           /* kept as minus exp of it */
    GGUF_FLAT = 1 << 11,          /* one dimension, whatever the file has */
    GGUF_STACKED = 1 << 12,       /* three dimensions here, too */
    GGUF_JOINED = 1 << 13,        /* part of what becomes of the one it stands beside */
    GGUF_QKVZ = 1 << 14,          /* joined with its gates, head by head */
    GGUF_KV_B = 1 << 15,          /* turned, and joined with that of values, head by head */
    GGUF_GATE_UP = 1 << 16,       /* joined with what is called up, one behind the other */
    GGUF_TURNED = 1 << 17,        /* rows become columns */
    GGUF_TILED = 1 << 18,         /* rows of heads of values, the first of all keys first */
    GGUF_TILED_TAIL = 1 << 19,    /* the same, behind queries and keys */
    GGUF_TILED_COLUMNS = 1 << 20, /* the same, columns */
    GGUF_BLOCKS = 1 << 21,        /* what it is called where it stays quantised */
    GGUF_IN_TURNS = 1 << 22,      /* with GGUF_GATE_UP: a row of each in turns */
};
/* What the tensor NAME is called in the family, with "{e}" for the number of an expert, and
 * *CHANGE; NULL where the family has none of that name. STAYS: it is of blocks that stay quantised.
 * What layers have that CONFIG does not speak of is GGUF_ASIDE. */
const char *gguf_tensor_name(const struct gguf *, const struct gguf_family *,
                             const struct json_t *config, struct gguf_text name, bool stays,
                             unsigned *change);

/* ---- config.c ---- */

/* "llama.block_count" of "block_count". */
const char *gguf_key(const struct gguf *, const struct gguf_family *, const char *key);
/* config.json: a new object, or NULL. A key of the architecture that nothing is known of is
 * refused. */
struct json_t *gguf_config(const struct gguf *, const struct gguf_family *, const char *dtype);
/* A real as the shortest text that gives the same f32, which is what files hold. */
double gguf_short_real(double);

/* ---- config.c and kinds.c ---- */

/* What of attention, states and layers only some architectures have. */
bool gguf_put_kind(const struct gguf *, const struct gguf_family *, struct json_t *config);
/* An error that names KEY of the architecture. */
bool gguf_fail_key(const struct gguf *, const struct gguf_family *, const char *key,
                   const char *why);
/* KEY, where it is there, is WANT, which is OF ("the width of heads"). */
bool gguf_must_be(const struct gguf *, const struct gguf_family *, const char *key, int64_t want,
                  const char *of);
/* KEY: a number for each layer, or one for all of them; 0 to INT32_MAX. Absent: OTHERWISE. */
bool gguf_layer_int(const struct gguf *, const struct gguf_family *, const char *key, int64_t layer,
                    int64_t layers, int64_t otherwise, int64_t *out);

/* ---- modules.c: what makes a vector of a text ---- */

/* Layers behind pooling, in their order: tensors, or fewer. */
enum { GGUF_MOST_DENSE = 2 };
struct gguf_modules {
    const char *pooling; /* as sentence-transformers calls it, or NULL: the file says of none */
    const struct gguf_tensor *dense[GGUF_MOST_DENSE];
    int ndense;
};
/* False after an error. */
bool gguf_modules_read(const struct gguf *, const struct gguf_family *, struct gguf_modules *);
/* modules.json: a new list, and what is in the folder of each. FOLDER is the one of module I, or
 * NULL where it has none; *OUT its config.json, a new object. */
struct json_t *gguf_modules_list(const struct gguf_modules *);
const char *gguf_modules_folder(const struct gguf_modules *, int i, int64_t width,
                                struct json_t **out);
/* The tensor of the folder, or NULL. */
const struct gguf_tensor *gguf_modules_tensor(const struct gguf_modules *, int i);

/* ---- rope.c ---- */

/* Puts "rope_scaling" into CONFIG, which has rope_theta and head_dim. */
bool gguf_rope(const struct gguf *, const struct gguf_family *, struct json_t *config);

/* ---- planes.c: formats that stay quantised ---- */

enum { GGUF_MOST_PLANES = 6 };
/* A tensor of the output: BITS of every element of a row from bit SHIFT of its code on (GROUP 1),
 * or a number of so many bits for each GROUP of them. */
struct gguf_plane {
    const char *name;  /* "scales" */
    const char *dtype; /* as safetensors spells it; codes of fewer than eight bits lie in bytes */
    uint32_t bits, group, shift;
};
struct gguf_planes {
    uint32_t type; /* a row of gguf_format */
    const char *name;
    unsigned (*code)(const unsigned char *block, unsigned i);
    uint32_t (*number)(const unsigned char *block, int which, unsigned group);
    struct gguf_plane plane[GGUF_MOST_PLANES]; /* up to one without a name */
};
/* Of a format, or NULL where it is widened. */
const struct gguf_planes *gguf_planes(uint32_t type);
size_t gguf_plane_bytes(const struct gguf_plane *, size_t elements);
/* Elements of the tensor for a row of so many. */
int64_t gguf_plane_columns(const struct gguf_plane *, int64_t columns);
/* Plane number PLANE of COUNT blocks, gguf_plane_bytes of their elements. */
void gguf_plane_take(const struct gguf_planes *, int plane, const unsigned char *blocks,
                     size_t count, unsigned char *to);

/* ---- tensors.c: the weights, converted while they are copied ---- */

struct gguf_plan;
/* TYPE: "BF16", "F16", "F32", or NULL: blocks with planes stay quantised, and the others have the
 * type that the matrices have, BF16 where they have several or blocks. NULL after an error.
 * *OUT_ROUNDED: how many tensors lose bits by it that are no blocks. Kept in the arena. */
struct gguf_plan *gguf_plan_make(const struct gguf *, const struct gguf_family *, const char *type,
                                 const struct json_t *config, int *out_rounded);
const char *gguf_plan_type(const struct gguf_plan *); /* "BF16" */
bool gguf_plan_quantised(const struct gguf_plan *);   /* do some stay so? */
bool gguf_plan_write(struct gguf_plan *, const char *path);
/* One tensor, called NAME, in a file of its own, as F32. */
bool gguf_plan_write_one(const struct gguf *, const struct gguf_tensor *, const char *name,
                         const char *path);

/* ---- vocabulary.c, tokenizer.c ---- */

struct gguf_vocabulary;
/* PRE: a name of a way to split text to use instead of tokenizer.ggml.pre, or NULL. *OUT NULL where
 * the file has no tokenizer. */
bool gguf_vocabulary_read(const struct gguf *, const char *pre, struct gguf_vocabulary **out);
int64_t gguf_vocabulary_size(const struct gguf_vocabulary *);
/* tokenizer.json. */
bool gguf_tokenizer_write(const struct gguf_vocabulary *, FILE *);
/* tokenizer_config.json and generation_config.json: new objects. MOST: tokens of a text, or 0. */
struct json_t *gguf_tokenizer_config(const struct gguf_vocabulary *, int64_t most);
struct json_t *gguf_generation_config(const struct gguf_vocabulary *);
const char *gguf_pre_at(int index); /* names for PRE; NULL at the end */

#endif
