/* automaton.h - a grammar as it runs. */
#ifndef LLM_GRAMMAR_AUTOMATON_H
#define LLM_GRAMMAR_AUTOMATON_H

#include "examples/llm/grammar/rules.h"

enum { BUCKETS = 4096 };

struct place {
    int32_t element;
    int32_t then; /* the place to go on at when the rule ends, or NOWHERE */
};

struct set {
    int32_t *v;
    int32_t n, cap;
    uint32_t *marks; /* [nmarks]: TURN where the place is in the set */
    int32_t nmarks;
    uint32_t turn;
};

struct state {
    int32_t *places, n;
    bool ends;
    uint32_t hash;
    int32_t chain;  /* the next with a hash like it */
    int32_t *next;  /* [256] */
    uint64_t *mask; /* a bit for each token that may follow; NULL: not known yet */
};

struct grammar {
    struct rules rules;
    int32_t root;
    struct place *places;
    int32_t *place_table, nplaces, places_cap;
    struct state *states;
    int32_t nstates, states_cap, nmasks;
    int32_t buckets[BUCKETS];
    struct set pending, found;
    bool failed; /* memory ran out, or it became too large: all states are dead from here on */
};

int32_t grammar_byte(struct grammar *, int32_t state, unsigned char byte);

#endif
