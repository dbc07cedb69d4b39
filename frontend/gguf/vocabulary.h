/* vocabulary.h - what vocabulary.c reads of the tokenizer and tokenizer.c writes. */
#ifndef ET_GGUF_VOCABULARY_H
#define ET_GGUF_VOCABULARY_H

#include "frontend/gguf/convert.h"

enum { /* tokenizer.ggml.token_type */
       TOKEN_NORMAL = 1,
       TOKEN_UNKNOWN = 2,
       TOKEN_CONTROL = 3,
       TOKEN_USER = 4,
       TOKEN_UNUSED = 5,
       TOKEN_BYTE = 6,
};

struct token {
    struct gguf_text text; /* without any, there is no such token */
    uint64_t hash;
    float score;
    int type;
};

/* A way to split text into words before merging, by the name that files have for it. */
struct splitting {
    const char *names;   /* parted by spaces */
    const char *pattern; /* what words are; NULL: those of GPT-2 */
    bool digits;         /* each digit is a word, before that */
    bool nfc;            /* characters are composed first */
    bool whole;          /* a word that is a token is not made by merging */
    bool bos;            /* texts begin with bos where the file says nothing of it */
    bool framed;         /* and end with eos */
};

struct gguf_vocabulary {
    const struct gguf *g;
    const struct splitting *split; /* of "gpt2"; NULL: "llama", pieces with scores, "bert", "t5" */
    bool pieces, lower;         /* of "bert": parts of words, the longest first; of small letters */
    bool sums;                  /* of "t5": pieces whose scores add up to the most */
    bool narrow;                /* spaces become one */
    bool doubled;               /* two texts have two ends between them */
    struct gguf_value charsmap; /* of "t5": what characters become; or empty */
    struct token *tokens;
    int ntokens;
    int *slots; /* a table of tokens by hash: numbers from 1 on */
    uint64_t mask;
    struct gguf_value merges;                   /* of "gpt2": "a b" */
    int64_t bos, eos, unknown, padding, masked; /* -1: none */
    int64_t ends[16];                           /* what ends an answer, eos among them */
    int nends;
    int64_t fim[6]; /* tokens before the parts of a text with a hole, as gguf_fims names them; -1 */
    bool add_bos, add_eos, add_space;
    struct gguf_text chat; /* template */
};

/* Names of such a token: in fim_token_ids of a checkpoint, and what is before _token_id in
 * metadata, of today and of before; NULL: there was none. */
extern const struct gguf_fim { const char *name, *key, *former; } gguf_fims[6];

/* The number of the token TEXT, whose hash is HASH, or -1. */
int vocabulary_find(const struct gguf_vocabulary *, struct gguf_text, uint64_t hash);
/* Hashes of text that grow by a byte at its end. */
enum { HASH_START = 17 };
uint64_t vocabulary_hash(uint64_t hash, unsigned char byte);
/* The hash of what follows: ALL is the hash of all N bytes, HEAD of the first K; POWERS[i] is what
 * a hash is multiplied by for i bytes. */
extern const uint64_t vocabulary_base;

#endif
