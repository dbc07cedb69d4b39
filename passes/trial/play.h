/* play.h - the price of a launch where waiting matters: the simulator plays it. Where adding up
 * what grids take will do, et_cost_at (cost.h) is quicker. */
#ifndef ET_PLAY_H
#define ET_PLAY_H

#include "passes/pipeline/options.h"

typedef struct et_player et_player;
/* Launches of P, scheduled as the options say, with the shares and ranges it has at the time. */
et_player *et_player_create(et_program *, const et_pass_options *, const int64_t *syms);
void et_player_destroy(et_player *);
/* Tasks of a launch of all models, or of one alone (ONLY < 0: all). */
double et_player_tasks(const et_player *, int only);
/* Its predicted time, the others' shares idle, and when each model is done; infinite where the
 * simulator cannot tell or would take too long. */
double et_player_launch(et_player *, int only, double done[ET_MAX_MODELS]);

#endif
