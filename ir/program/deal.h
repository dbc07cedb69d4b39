/* deal.h - rows dealt to devices: each adds up, normalises and keeps its own share of the rows of a
 * sum over devices (reduce-scatter), and sends all devices what they read of it (all-gather).
 *
 * A program deals so many ROWS, in units of rows that stay together: the first device has the first
 * ones, each as many, the last ones what is left. Tiles of a grid that is dealt have rows along a
 * coordinate. All devices go through all of them, wait and notify: what is ordered on one device is
 * so on all. But only the device that has the rows runs a tile's steps.
 *
 * What such a grid stores is a temporary, by row, and
 * - read by grids that are dealt, of their own rows: it is on the device that has them; or
 * - "shared": stored to all devices, beside the inboxes, once in a launch, and read by whatever
 * waits for an event of the system. Nothing else stores it. What is partial and flagged (tags.h)
 * may be dealt by one of its dimensions: a part is stored to the device that has the row. Only
 * grids that are dealt read it, their own rows. */
#ifndef ET_DEAL_H
#define ET_DEAL_H

#include "ir/program/program.h"

/* In an inbox, which other devices store to, and not in the workspace. */
static inline bool et_in_inbox(const et_tensor *t) {
    return t->partial > 0 || t->shared;
}

/* The device that runs the tile of a grid that is dealt, over its coordinates; the same of the row
 * of an element. */
et_expr et_deal_owner(const et_program *, const et_grid *);
et_expr et_deal_owner_of(const et_program *, et_expr row);
/* Why the program (one variant) breaks these rules; NULL: it does not. */
const char *et_deal_problem(et_program *);

#endif
