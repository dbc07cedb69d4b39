/* cost.h - predicted time of a tiled program on a machine model. */
#ifndef ET_COST_H
#define ET_COST_H

#include "ir/program/program.h"
#include "passes/cost/use.h"
#include "passes/machine/machine.h"
#include "passes/machine/profile.h"

typedef struct {
    double tiles;
    double memory_bytes; /* from or to memory by all tiles: each tensor once */
    double cache_bytes;  /* from the shared caches by all tiles */
    double matrix_flops, vector_flops;
    double tile_us; /* predicted time of a CU for one tile, once its data is near */
    double us;      /* predicted time of the grid alone */
    int slices;     /* that its tiles are dealt in, or 0 */
} et_grid_cost;

typedef struct {
    double us;           /* predicted time of one launch */
    double events_us;    /* of it, waiting for events */
    double memory_bytes; /* moved, all iterations */
    int tasks, events;   /* grids and grids that must wait, per launch, all iterations */
} et_cost;

/* Where the bounds of the symbols are sampled: the least, the geometric mean, the largest. Beyond
 * ET_LARGE nothing changes in kind, so larger bounds decide like it. */
enum { ET_SAMPLES = 3, ET_LARGE = 2048 };
void et_sample_symbols(const et_exprs *, int64_t syms[ET_SAMPLES][ET_MAX_SYMS]);

/* Positions attended to, where only the launch knows. */
enum { ET_GUESSED_CONTEXT = 256 };

/* The work of one tile. */
typedef struct {
    double cache_bytes;  /* from or to the nearest cache */
    double own_bytes;    /* of these, rows of a product that each wave asks for ahead itself */
    double beside_bytes; /* and of these, rows of experts: a tile is not slower by them than memory
                            brings its weights (measured of one to eight rows alone) */
    double stream_bytes; /* of these, weights that come through the weight stream */
    double copied_bytes; /* of these, operands that a pipeline copies */
    double matrix_flops, vector_flops;
    double after_flops; /* of the latter, those behind a pipeline's products */
    double local_bytes; /* of operands, from local memory to the matrix unit */
    double ring;  /* round trips of memory that chunks of a pipeline, or blocks of positions, take,
                     one after another */
    double turns; /* rows loaded only after those before them are multiplied */
} et_tile_cost;

/* Operations and bytes of one element of each expression of a step, and how it is done: the same
 * for every tile. */
typedef struct {
    double ops, bytes;
    int code_bits; /* of a right operand of quantised values (ir/weights/scaled.h); or 0 */
    int bare_bits; /* of an unscaled one; or 0 */
    bool plain;    /* as is said there */
} et_element_cost;
typedef struct {
    et_element_cost value, a, b[ET_MAX_ACC], part[ET_AT_PARTS];
    et_product_use product; /* CONTRACT */
    et_attend_use attend;   /* ATTEND */
    et_expr visits, usual;  /* ATTEND: positions looked at, and as far as can be guessed */
} et_step_elements;
et_element_cost et_element_of(const et_program *, et_expr value); /* outside of any step */
et_step_elements *et_func_elements(const et_program *, const et_func *,
                                   const et_machine *); /* by step */
/* At how many values of KVAR side by side LOAD gives the same: scales of groups count once for all.
 */
double et_load_repeats(const et_exprs *, const et_node_x *load, int kvar);

/* The value of an integer expression in the tile that is priced, or GUESS where it is not
 * known. */
typedef double (*et_value_fn)(void *ctx, et_expr, double guess);
et_tile_cost et_tile_cost_of(const et_program *, const et_func *, const et_step_elements *,
                             const et_machine *, et_value_fn, void *ctx);
/* Rows of operands that are read from LDS for the products of a pipeline's chunk, by all waves of a
 * CONTRACT step together; ROWS: how they multiply together, GROUP_WAVES of them. */
double et_pipeline_rows(const et_step *, et_warpgroup_rows, int group_waves);
/* The time its CU needs once the data is near: caches, matrix and vector units side by side. */
double et_tile_us(const et_tile_cost *, const et_machine *);
/* Of that, what a tile with a pipeline takes while BUSY of the chip's CUs have one: the rates above
 * are shares of the chip's, and a CU gets more where few have tiles. */
double et_piped_share(double busy, const et_machine *);
enum { ET_DEPENDENT_LOADS = 3 }; /* rounds of memory latency in a tile that cannot overlap */

/* One tile grid of P at these values of the symbols, run once. */
et_grid_cost et_grid_cost_at(et_program *, const et_grid *, const et_machine *,
                             const int64_t *syms);
/* The same at each sample (et_sample_symbols), with one walk over the steps. */
void et_grid_costs(et_program *, const et_grid *, const et_machine *,
                   int64_t syms[ET_SAMPLES][ET_MAX_SYMS], et_grid_cost out[ET_SAMPLES]);
/* At one, with the time on all CUs that the profile has, if it has one. */
et_grid_cost et_grid_cost_profiled(et_program *, const et_grid *, const et_machine *,
                                   const et_profile *, const int64_t *syms);
/* Its time on CUS compute units of DIES dies, when the others leave it the bus. */
double et_grid_us_on(const et_grid_cost *, const et_machine *, double cus, double dies);
/* The same of a few rounds, on a machine of one die: a last one that few CUs have does not use all
 * of memory. Of two ways that end at the same time, that with less to do leaves CUs to others. */
double et_grid_us_in_rounds(const et_grid_cost *, const et_machine *, double cus);
/* A grid's cost, and the tensors that it reads and those that it writes, each once. */
typedef struct {
    int tensor;
    bool is_store;
} et_use;
typedef struct {
    et_grid_cost cost;
    et_use *use;
    int nuses, cuses;
    bool one; /* it has one tile whatever the symbols are, and may yet be joined with others */
} et_task_cost;
/* Add to the uses; the memory is the program's. */
void et_task_uses(et_program *, const et_grid *, et_task_cost *);
/* What et_cost_at says, of tasks whose costs at the same values are known, by grid. */
et_cost et_cost_of(et_program *, const et_task_cost *, const et_machine *, const int64_t *syms,
                   int64_t trips);
/* One launch of a program at stage tiled or later. Neighbouring grids that do not read one
 * another's results overlap. Loops count TRIPS iterations, or as many as they have if TRIPS is 0:
 * decisions that must not depend on depth fix it. */
et_cost et_cost_at(et_program *, const et_machine *, const int64_t *syms, int64_t trips);

#endif
