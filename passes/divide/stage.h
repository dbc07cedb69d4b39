/* stage.h - a graph made into one stage of a pipeline of several kernels. */
#ifndef ET_STAGE_H
#define ET_STAGE_H

#include "ir/graph/graph.h"

enum { ET_MOST_STAGES = 256 };

/* Change G, which nothing has lowered or divided, into stage STAGE (from 1) of STAGES: a contiguous
 * part of the iterations of its outermost loops, with what stands around them. What an earlier
 * stage computes and this one or a later one reads is an input, stage_in, stage_in_1, ...; what a
 * later one reads an output, stage_out, stage_out_1, ..., in the same order and of the same shapes
 * as the next stage's inputs. What hangs on inputs alone is computed again. States have the rows of
 * the stage's iterations alone. False after an error. */
bool et_take_stage(et_graph *, int stage, int stages);

#endif
