/* sampler.h - choose the next token from a row of logits.
 *
 * What is drawn hangs on the logits, on the history of the sequence, on the seed and on how many
 * tokens the sequence was given before, and on nothing else: no state is kept from token to token,
 * so a sequence gives the same text whatever else is in its launches, where its logits are the
 * same. */
#ifndef LLM_SAMPLER_H
#define LLM_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct logit_bias {
    int32_t id;
    float bias;
};

/* In this order: biases are added, penalties applied, and unless the temperature is 0, min_p, top_k
 * and top_p cut what is unlikely away, unless ORDER says otherwise; what is as likely as the last
 * one that is kept is kept too. */
struct sampling {
    double temperature;            /* 0: the most likely token */
    int64_t top_k;                 /* consider this many; 0: all */
    double top_p;                  /* the fewest that have this share; 1: all */
    double min_p;                  /* those with this share of the likeliest one's; 0: all */
    double repetition;             /* of tokens seen, logits above 0 are divided by it, others
                                      multiplied; 1: none */
    double frequency, presence;    /* of tokens generated, taken off per time, and once; 0: none */
    int64_t window;                /* both are of this many tokens before; 0: of all */
    char order[8];                 /* letters: t, the temperature, which shares that are looked at
                                      behind it are of; k, p, m: top_k, top_p, min_p; "": "tmkp" */
    const struct logit_bias *bias; /* ids in the vocabulary */
    size_t nbias;
    uint64_t seed;
};
/* What changes nothing: greedy. */
struct sampling sampling_greedy(void);

struct sampler;                              /* scratch memory for one vocabulary */
struct sampler *sampler_make(int64_t vocab); /* NULL: no memory */
void sampler_free(struct sampler *);

/* The tokens of a sequence: PROMPT of them, then what was generated. */
struct history {
    const int32_t *ids;
    size_t prompt, n;
    const int32_t *never; /* tokens that must not come next; what is outside the vocabulary is left
                             out */
    int nnever;
};

/* What a request does to a logit: ADD is added, what is then above 0 multiplied by ABOVE, what is
 * not by BELOW, and LESS taken off. */
struct change {
    int32_t id;
    float add, above, below, less;
};
/* Of each token that the request changes, once. *OUT is good until the next call. */
size_t sampler_changes(struct sampler *, const struct sampling *, const struct history *,
                       const struct change **out);

/* How a token is chosen from the logits that come of it. With d the distance of a logit from the
 * best one and e = d * COLD, those with e <= FAR have a share of exp(-e). Kept are those with no
 * larger d than the TOP_Kth, then those with no larger one than that up to which they have TOP_P of
 * the share of all. In order of their ids, the first is taken with which the shares are more than
 * UNIFORM of those of all that were kept. */
struct drawing {
    float cold; /* 0: the best one is taken, the lower id among equals */
    float far, top_p, uniform;
    int64_t top_k; /* from 1 to the vocabulary's size */
    bool apart;    /* the request has another order, which is not the same as this */
};
/* GENERATED: how many tokens the sequence was given before. */
struct drawing sampler_drawing(const struct sampling *, int64_t vocab, size_t generated);

/* LOGITS are changed; -INFINITY is a token that must not come. -1 when a logit is not a number, or
 * the best one is beyond 1e38, or no token may come. */
int32_t sampler_next(struct sampler *, const struct sampling *, const struct history *,
                     float *logits);

/* The likeliest token, the lower id among equals; -1 as above. */
int32_t sampler_likeliest(const float *logits, int64_t vocab);

/* Natural logarithms of what the model gives each token. */
enum { MAX_TOP_LOGPROBS = 20 };
struct likelihood {
    int32_t id;
    float logprob;
};
/* Of token ID, and of the TOP likeliest, in order, with the lower id first among equals. Returns
 * how many there are: TOP or the vocabulary's size; where a logit is not a number, none, and that
 * of ID is NaN. */
int sampler_logprobs(struct sampler *, const float *logits, int32_t id, int top, float *out_logprob,
                     struct likelihood *out_top);

#endif
