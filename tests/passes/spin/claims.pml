/* Claimed tiles: two grids, one after the other, of three and two tiles, by two workgroups of two waves
 * each. Tile I of the second grid waits for tiles I and I + 1 of the first, whose tiles wait for
 * nothing. A counter a grid gives out the numbers; wave 0 leaves a number in local memory, where
 * the other reads it between two barriers. ABORTS: a wait may run out, then all leave. */
#define WGS 2
#define WAVES 2
#define GRIDS 2
#define TILES(grid) (3 - grid)
#define NONE 15

byte counter[GRIDS], shared[WGS], place[WGS];
byte ran[GRIDS * 3];   /* waves that have run the tile */
byte runner[GRIDS * 3]; /* 1 + the workgroup of these */
byte done[GRIDS * 3];  /* arrivals */
byte at[WGS], passed[WGS]; /* waves at the barrier; barriers passed, modulo 4 */
byte left;
bool aborted, gave_up[WGS]; /* the launch; the workgroup, as its wave 0 has found */

inline cg_barrier() {
    atomic {
        at[wg]++;
        turn = passed[wg];
        if
        :: at[wg] == WAVES -> at[wg] = 0; passed[wg] = (passed[wg] + 1) % 4
        :: else
        fi
    }
    passed[wg] != turn
}

/* Asked for while the tile goes on. */
inline cg_claim_next(grid) {
    if
    :: wave == 0 ->
#ifdef MUTANT_COUNTED_BY_LOAD_AND_STORE
        mine = counter[grid];
        counter[grid] = mine + 1;
        place[wg] = mine
#else
        d_step { place[wg] = counter[grid]; counter[grid]++ }
#endif
    :: else
    fi
}

inline share(grid) {
    if
    :: wave == 0 && place[wg] == NONE -> cg_claim_next(grid)
    :: else
    fi;
    if
    :: wave == 0 -> d_step { shared[wg] = place[wg]; place[wg] = NONE }
    :: else
    fi
}

#define DONE(grid, tile) (done[(grid) * 3 + (tile)] == WAVES)

/* Is what the tile waits for done? */
#ifdef MUTANT_CLAIMED_OUT_OF_ORDER
#define WAITS true
#define READY (grid == 0 && (tile == 2 || DONE(0, 2)) || grid == 1)
#else
#define WAITS (grid == 1)
#define READY (DONE(0, tile) && DONE(0, tile + 1))
#endif

/* Wave 0 polls; what it has found is seen by all behind the barrier. */
inline cg_waits() {
    if
    :: wave == 0 ->
        if
        :: READY
#ifdef ABORTS
        :: aborted = true; gave_up[wg] = true
        :: aborted -> gave_up[wg] = true
#endif
        fi
    :: else
    fi;
    cg_barrier()
}

inline cg_notifies() {
#ifndef MUTANT_SHARED_BEFORE_ALL_HAVE_READ
    cg_barrier();
#endif
    d_step { done[grid * 3 + tile]++ }
}

inline cg_tile() {
    if
    :: WAITS -> cg_waits()
    :: else
    fi;
    if
    :: gave_up[wg] -> break
    :: else
    fi;
    atomic {
        assert(runner[grid * 3 + tile] == 0 || runner[grid * 3 + tile] == wg + 1);
        assert(ran[grid * 3 + tile] < WAVES);
        runner[grid * 3 + tile] = wg + 1;
        ran[grid * 3 + tile]++
    }
    cg_claim_next(grid);
    cg_notifies()
}

inline cg_claimed_tiles(grid) {
    share(grid);
    do
    :: true ->
        cg_barrier();
        tile = shared[wg];
        if
        :: tile >= TILES(grid) -> break
        :: else
        fi;
        cg_tile();
        share(grid)
    od;
#ifndef MUTANT_NEXT_GRID_SHARED_EARLY
    if
    :: !gave_up[wg] -> cg_barrier()
    :: else
    fi
#endif
}

proctype work(byte wg; byte wave) {
    byte grid, tile, turn, mine;
    grid = 0;
    do
    :: grid < GRIDS && !gave_up[wg] -> cg_claimed_tiles(grid); grid++
    :: else -> break
    od;
    atomic { left++; tile = 0; turn = 0; mine = 0 }
}

init {
    byte i;
    atomic {
        for (i : 0 .. WGS - 1) {
            place[i] = NONE;
            run work(i, 0);
            run work(i, 1)
        }
        i = 0
    }
    left == WGS * WAVES;
    atomic {
        for (i : 0 .. GRIDS * 3 - 1) {
            assert(aborted || i == 5 || ran[i] == WAVES)
        }
    }
}
