/* tiler.h - shared by the files that turn groups into device functions. */
#ifndef ET_TILER_H
#define ET_TILER_H

#include "passes/cost/cost.h"
#include "passes/tile/tile.h"

/* A group while it becomes a device function. An axis is covered by a tile coordinate (unless one
 * tile spans it) and a variable inside the tile (unless tiles are one element wide). */
typedef struct {
    et_program *p;
    const et_pass_options *opt;
    const et_tile_trial *trial;
    int *forced;  /* in the trial */
    bool by_cost; /* compare tilings on the machine model; otherwise by rule, which is quicker */
    et_exprs *x;
    const et_group *gr;
    et_func f;
    et_grid grid;
    int tile[ET_MAX_RANK];       /* elements of the axis per tile */
    et_expr outer[ET_MAX_RANK];  /* first element of the tile */
    int inner[ET_MAX_RANK];      /* variable inside the tile or -1 */
    int piece[ET_MAX_RANK];      /* variable over the pieces of an axis that a tile has, or -1 */
    et_expr at[ET_MAX_RANK];     /* outer + inner: replaces the axis */
    et_expr inside[ET_MAX_RANK]; /* predicate: still in the axis, or none when always */
} et_tiler;

/* COMMON has the members that all groups of a program share: p, opt, trial, forced, by_cost. */
et_tiler et_tiler_begin(const et_tiler *common, const et_group *);
/* The extent of axis D of the group. */
et_expr et_tiler_extent(const et_tiler *, int d);
/* Tiling fails without a tensor for VALUE (named WHAT): force it, or report. Returns false. */
bool et_tiler_force(const et_tiler *, et_value value, const char *what);
/* Add the tile coordinate NAME over EXTENT; the expression is 0 when there is just one tile. */
et_expr et_tiler_coord(et_tiler *, const char *name, et_expr extent);
/* Cover axis D by tiles of TILE elements. */
void et_tiler_axis(et_tiler *, int d, int tile);
/* Cover axis D, whose extent is a multiple of PIECES * WIDTH, by tiles of so many pieces of WIDTH
 * elements each, as far apart as they can be: tile t has those from t * WIDTH on of each of PIECES
 * equal parts of the axis. So elements that belong together but lie in different parts share a
 * tile. */
void et_tiler_pieces(et_tiler *, int d, int pieces, int width);
/* The next coordinate is that of the group's slices. */
void et_tiler_slice(et_tiler *);
/* Do some tiles of TILE elements along axis D lie in more than one of the group's slices? */
bool et_tiler_straddles(const et_tiler *, int d, int tile);
/* E with every axis replaced by its place in the tile. */
et_expr et_tiler_subst(et_tiler *, et_expr e);
/* E at the first element of the tile and of the reductions in it. */
et_expr et_tiler_subst_first(et_tiler *, et_expr e);
et_step *et_tiler_step(et_tiler *, et_step_kind);
/* Compute every reduction in E by a REDUCE step of its own, over the variables VARS that it depends
 * on; returns E reading the results. FORBIDDEN (or -1) is a variable none may depend on; then no
 * expression is returned. */
et_expr et_tiler_reductions(et_tiler *, et_expr e, int nvars, const int *vars, int forbidden);
/* A REDUCE step over VAR, the rows of sixteens, has those that are IN, and of these no more than
 * the ROWS that a tile may have: where they are few several waves share one. */
void et_tiler_rows(et_tiler *, et_step *, int var, et_expr in, int rows);
/* The variables inside the tile, those of the last axis last; their number. */
int et_tiler_inner(const et_tiler *, int vars[ET_MAX_VARS]);
/* The final MAP step: the group's value and place over the inner variables. */
void et_tiler_store(et_tiler *, et_expr value);
bool et_tiler_end(et_tiler *);

/* Pieces of columns that a tile of products has: as many as it says, `width` wide, the first of
 * each `split_k` from the first of the one before; `var` counts them. One piece: no variable. */
typedef struct {
    int count, width, var;
    int64_t apart;
} et_pieces;

/* Which of the tile's columns, counted through its pieces, is OFF columns behind the first one;
 * none where that is not the same column of a piece for all of them. *OUT_MOST is the largest. */
et_expr et_pieces_column(et_exprs *, const et_pieces *, et_expr off, int64_t *out_most);
/* How far behind the first one the tile's column N is. */
et_expr et_pieces_offset(et_exprs *, const et_pieces *, et_expr n);

/* Lay out the sums and a ring for the CONTRACT step S, whose tile is set, and deal it to waves;
 * false when it does not fit, and nothing is changed then. */
bool et_tile_ring(et_program *, et_func *, const et_machine *, const et_product_order *,
                  et_step *s);
/* K's of a chunk of ROWS rows of elements of BYTES, of both operands or of the left one alone,
 * where so many bytes of local memory are USED: as many as have room, and WK waves divide. */
int et_tile_staged_k(const et_machine *, int bytes, int rows, int wk, int used);
/* All k's of S at once in a buffer of so few rows as its tile has, where a router chooses them,
 * they are at most half of what an instruction multiplies, and k has several windows otherwise:
 * DIM, rows and k's of the buffer, becomes that. UNIT: k's that waves multiply together. */
bool et_tile_staged_whole(const et_tiler *, const et_step *, int unit, int dim[2]);
/* Of how many loads right operands of S are computed, at most, where all can be in registers; else
 * 0; k ENDS where some waves have no part of a chunk. And does the tile of S leave room for that
 * many? */
int et_tile_computed(const et_program *, const et_machine *, const et_step *s, bool ends);
bool et_tile_in_registers(int loads, const et_step *s);
/* The left operand of S, where its weights for each k are copied to local memory by a step of their
 * own, if weights come ahead of tasks. */
et_expr et_tile_beside(et_tiler *, const et_step *s);
/* Had each wave better have a part of k, and the rows of the left operand with it? */
bool et_tile_own_rows(const et_tiler *, const et_step *);
/* The left or the right operand of a product at row or column AT and K, where LEAF, a reference to
 * an element of it, says which batch. */
et_expr et_tiler_operand(et_tiler *, const et_product *, const et_node_x *leaf, bool left,
                         et_expr at, et_expr k);
/* The tensors that the first product reads on the left. */
et_rows et_tile_rows_of(const et_program *, const et_group *);
/* Does the first product of group number OTHER, in the same loop, read ROWS, which are GR's? */
bool et_tile_same_rows(const et_program *, int other, const et_group *gr, const et_rows *rows);

/* ---- pool.c ---- */
/* Of so many CUS the part of a group whose products have the same rows as those of other groups of
 * its loop: they have nothing to wait for but these, so they run side by side. By columns; 1 at
 * least. */
double et_tile_cus_by_columns(const et_program *, const et_group *, double cus);
/* The time of a group with OWN cost and of those that multiply the same rows: those before it have
 * their tiles, those after it are taken to have such as it. */
double et_tile_pool_us(et_program *, const et_group *, const et_grid_cost *own, const et_machine *,
                       const int64_t *syms);
/* Results that only products of many rows read get the type of these products' operands. */
void et_tile_narrow(et_program *);
/* The same of queries that only attention over rows of them reads, once tiles are known. */
void et_tile_narrow_queries(et_program *);

/* How many of so many CUs a group without products has to itself: all, or those left to it by such
 * groups before and behind it as run at the same time, by what each has to do (round.c). */
int et_tile_own_cus(const et_program *, const et_group *, int cus);

bool et_tile_elements(const et_tiler *common, const et_group *);
/* The same as one tile, or ROWS: one for each element of the first axis; false, and nothing is
 * made, where that is too much for one. */
bool et_tile_whole(const et_tiler *common, const et_group *, bool rows);
bool et_tile_contract(const et_tiler *common, const et_group *);
bool et_tile_attend(const et_tiler *common, const et_group *);
bool et_tile_scan(const et_tiler *common, const et_group *);
/* Heads of a tile that has all positions. */
int et_tile_attend_heads(const et_tiler *common, const et_group *);
/* Positions of a part, at least, where rows share tiles. */
enum { ET_PART_ROWS = 1024 };
/* Where rows of queries share tiles that go through many positions: how many tiles the heads of
 * *OUT_ROWS of them have; else 0. */
int64_t et_tile_attend_tiles(const et_tiler *common, const et_group *, int *out_rows);
/* Without the items that are GONE, and their grids and groups; functions have one grid each then,
 * in the order of these. */
void et_tile_take_out(et_program *, const bool *gone);
/* Tasks of one tile that need one another's results become one. */
void et_tile_join(const et_tiler *common);
/* follow.c: what adds up parts of sums over devices and what reads of its results those of its own
 * tile alone become one task. */
void et_tile_follow(et_program *);
/* Blocks that no group owns are not stored where nothing reads them. */
void et_tile_unowned(et_program *);
/* Cut the positions of attentions into parts where that pays, and have what they store read so. */
void et_tile_parts(const et_tiler *common);
/* Does no other group store into the tensor that this one stores into? */
bool et_tile_alone_writes(const et_program *, const et_group *);
/* K of the group's product, where et_tile_sums tries to cut it; else 0. */
/* The order that the sums of the group's product number P are to have, or NULL (order.c). */
const et_product_order *et_tile_sums_order(const et_tiler *common, const et_group *, int p);
int64_t et_tile_sums_k(const et_tiler *common, const et_group *);
/* Cut products along k where that pays, and have what they store added up where it is
 * read. */
void et_tile_sums(const et_tiler *common);
#define ET_NO_SCORE 1e38 /* less than any score is the negative of this */

#endif
