/* contract.h - shared by the files that tile groups with matrix products. */
#ifndef ET_TILE_CONTRACT_H
#define ET_TILE_CONTRACT_H

#include "passes/tile/tiler.h"

enum {
    ET_RING_ROWS = 256, /* of a tile with a multistage pipeline, at most */
    ET_TILE_FEW = 16,   /* so few need no pipeline */
    ET_TILE_LEAVES = 64,
    ET_TILE_CUTS = 24,
};

/* A reference to an element of a product. */
typedef struct {
    et_expr e;
    int product; /* index below */
    et_expr m, n;
} et_leaf;

/* A group with products while it is tiled. */
typedef struct {
    et_tiler t;
    et_leaf leaf[ET_TILE_LEAVES];
    int nleaf;
    bool too_many;
    int m_axis; /* -1: a single row */
    bool batch[ET_MAX_RANK], column[ET_MAX_RANK];
    et_expr base[ET_MAX_ACC]; /* first column of the tile in each product */
    int span;                 /* columns used per tile */
    int grain;                /* which a tile has a multiple of */
    bool narrow;              /* waves divide the columns of all products together */
    et_pieces pieces;         /* that these lie in */
    double cus;               /* that tiles may use */
    double tiles;             /* at most, of the function priced last */
    bool many;                /* always many rows, for warpgroup MMA */
    bool pooled;              /* the price depends on tiles of other groups, too */
    bool rounds;              /* few rows, bound by weights: priced by rounds */
    bool plain;               /* every right operand is read straight from memory */
    bool words;               /* ... or where its rows are aligned to words only */
    int computed; /* else: loads of one that is computed in registers; 0: not all can be computed */
    bool ends;    /* such, and k ends where some waves have no part of a chunk */
    bool direct;  /* no right operand needs a buffer in local memory */
    bool unfit;   /* buffers do not fit, and there is no step */
    bool ring;    /* operands go through a multistage pipeline */
    const et_product_order *order; /* of the sums, or NULL: any */
    bool streamed; /* with an order: the weights of what was built last would stream */
} et_contract_tiler;

static inline int et_round_up(int n, int to) {
    return (n + to - 1) / to * to;
}

static inline int et_round16(int n) {
    return et_round_up(n, 16);
}

/* ---- operand.c ---- */
et_expr et_tile_guard(et_contract_tiler *); /* when the tile has products; none: always */

/* ---- waves.c ---- */
/* As many waves along n as have whole columns; OWN: one, with all of them. Where the order of sums
 * says how many share k, so many; false where the others cannot have whole columns then. */
bool et_tile_deal_waves(const et_contract_tiler *, et_step *, bool own);

/* ---- order.c ---- */
/* Are the group's products number P and Q added up in the same order, as far as that is to be any?
 */
bool et_tile_ordered_alike(const et_tiler *, int p, int q);
int et_tile_chunks_ahead(const et_contract_tiler *, const et_step *, int kc);
bool et_tile_ring_has_order(const et_contract_tiler *);
bool et_tile_has_order(const et_contract_tiler *); /* what was built last; else an error says so */

/* ---- streams.c: of what was built last ---- */
const et_step *et_tile_product_of(const et_func *); /* it has one */
void et_tile_lend(et_contract_tiler *); /* it is the grid's, without being the program's */
/* Are its weights kept from the weight stream, or are they of chosen experts, which all CUs have
 * waited for, and streamed, as they are or to be decoded? */
bool et_tile_misses_stream(et_contract_tiler *);
bool et_tile_streams_routed(et_contract_tiler *);
/* Is it done in so few rounds that CUs end each of them together? */
bool et_tile_has_few_rounds(et_contract_tiler *);
/* Have some tiles no k, so that how many run is known in a launch alone? */
bool et_tile_may_be_empty(const et_contract_tiler *);
/* Has a stage of the weight stream less than a line of memory of each row? */
bool et_tile_splits_lines(et_contract_tiler *);

/* ---- cut.c ---- */

/* A way to cut the group's axes into tiles. */
typedef struct {
    int tile[ET_MAX_RANK], span;
    int axis, pieces; /* tiles have so many pieces of that axis; 1: they are contiguous */
    bool odd;         /* tried with a pipeline only, and by cost only */
    bool ending;      /* for weights whose k ends in a chunk of the weight stream alone */
    bool routed; /* for weights of chosen experts alone, which do not come ahead of their tile */
} et_tile_cut;

typedef struct {
    et_tile_cut v[ET_TILE_CUTS];
    int n;
} et_tile_cuts;

int64_t et_cut_upper(const et_contract_tiler *, et_expr); /* its largest value */
et_expr et_cut_product_columns(const et_contract_tiler *, int p);
int et_cut_rows(const et_contract_tiler *); /* as many as a tile may have */
/* Do more and narrower tiles gain more than rows that each loads again and more events cost? Across
 * dies predicted so with few rows only: there an event writes back a die's L2. */
bool et_cut_may_be_many(const et_contract_tiler *);
/* Tiles of columns that keep each product's references together: part of the last axis, all of it,
 * all of it and part of the axis before, and so on. */
void et_cuts_of_columns(const et_contract_tiler *, et_tile_cuts *);
/* Where no way of cutting rows and columns in halves makes as many tiles as CUs have turns
 * for, tiles that are a little narrower than such may: with a multistage pipeline,
 * where the machine does not copy these, and of few rows, where weights stream. */
void et_cuts_odd(const et_contract_tiler *, et_tile_cuts *);
/* By rule: the widest cut that is not wider than wanted, else the narrowest. */
const et_tile_cut *et_cut_plain(const et_contract_tiler *, const et_tile_cuts *);
/* PLAIN with the sizes of the group's hint; false without a hint, or where it is not possible. */
bool et_cut_hinted(const et_contract_tiler *, const et_tile_cut *plain, et_tile_cuts *out);
/* Set the tiler to the cut. */
void et_cut_apply(et_contract_tiler *, const et_tile_cut *);

#endif
