/* The dynamic schedule's protocol: events, claims, rings, regions. One statement (or d_step) is one
 * atomic access to memory. Steps are named after the functions of codegen that emit them.
 * The file that includes this one says what the workgroups run; MUTANT_x breaks one step. */

#ifndef WGS
#define WGS 3
#endif
#define DIES 2
#define DEVICE DIES /* the ring that all dies share; rings 0 .. DIES-1 belong to a die */
#define RINGS (DIES + 1)
#ifndef DIE
#define DIE(wg) ((wg) % DIES)
#endif
#ifndef INSTANCES
#define INSTANCES 1
#endif
#ifndef TENSORS
#define TENSORS 1
#endif
#define POISON 255
#ifndef BODY
#define BODY(task)     /* what the task writes */
#define ROUTED(task) 0 /* producers that tensors decide */
#endif

#define NSLOTS (DIES * DIE_SLOTS + DEVICE_SLOTS)
#define CAPACITY(r) ((r) < DIES -> DIE_SLOTS : DEVICE_SLOTS)
#define SLOT(r, ticket) ((r) * DIE_SLOTS + (ticket) % CAPACITY(r))
#define BIT(t) (1 << (t))

/* ---- the program: what never changes is hidden from the state ---- */

#define EDGES 2 /* waits of a cell, notifications of a task */

hidden byte first_task[CELLS], tasks_of[CELLS], nwaits[CELLS];
hidden int considered[CELLS]; /* counters whose completion may make the cell ready, a bit each */
hidden byte at_start[CELLS];  /* may have nothing to wait for */
hidden byte wait_counter[CELLS * EDGES], wait_via[CELLS * EDGES];
hidden byte c_early[CELLS]; /* ready when what it waits for has begun */
hidden byte cell_of[TASKS + 1], instance_of[TASKS + 1], nnotifies[TASKS + 1];
hidden byte notify_counter[(TASKS + 1) * EDGES], notify_via[(TASKS + 1) * EDGES];
hidden byte counts_starts[TASKS + 1];
hidden int producers[TASKS + 1]; /* a bit per task that must be done before */
hidden byte needed[COUNTERS], needed_via[COUNTERS];
hidden byte total[INSTANCES];

/* VIA is 0 or 1 + the tensor element that is added to the counter's number, or to the need. */
#define READ(via) ((via) == 0 -> 0 : tensor[((via) == 0 -> 0 : (via) - 1)])
#define WRITTEN(via) ((via) == 0 || tensor[((via) == 0 -> 0 : (via) - 1)] != POISON)
#define WAIT(c, i) (wait_counter[(c) * EDGES + (i)] + READ(wait_via[(c) * EDGES + (i)]))
#define NOTIFY(t, n) (notify_counter[(t) * EDGES + (n)] + READ(notify_via[(t) * EDGES + (n)]))
#define NEED(e) (needed[e] + READ(needed_via[e]))
#define WAIT_WRITTEN(c, i) (WRITTEN(wait_via[(c) * EDGES + (i)]) && WRITTEN(needed_via[WAIT(c, i)]))
#define NOTIFY_WRITTEN(t, n) \
    (WRITTEN(notify_via[(t) * EDGES + (n)]) && WRITTEN(needed_via[NOTIFY(t, n)]))
#define ALL_TASKS (BIT(TASKS + 1) - BIT(1))

/* Cell C: tasks first .. first + size - 1, of an instance of a region. */
#define CELL(c, first, size, instance) \
    first_task[c] = first; tasks_of[c] = size; k = first; \
    do :: k < first + size -> cell_of[k] = c; instance_of[k] = instance; k++ :: else -> break od; \
    total[instance] = total[instance] + size;
#define WAITS_VIA(c, counter, via) \
    wait_counter[(c) * EDGES + nwaits[c]] = counter; wait_via[(c) * EDGES + nwaits[c]] = via; \
    nwaits[c]++;
#define WAITS_FOR(c, counter) WAITS_VIA(c, counter, 0) considered[c] = considered[c] | BIT(counter);
#define WAITS_EARLY(c, counter) c_early[c] = 1; WAITS_FOR(c, counter)
#define NOTIFIES_VIA(t, counter, via) \
    notify_counter[(t) * EDGES + nnotifies[t]] = counter; \
    notify_via[(t) * EDGES + nnotifies[t]] = via; nnotifies[t]++;
#define NOTIFIES(t, counter) NOTIFIES_VIA(t, counter, 0)

/* ---- device memory ---- */

byte arrivals[COUNTERS];
byte begun[COUNTERS]; /* arrivals that have begun */
bit claimed[CELLS];
byte popped[INSTANCES];
byte count[DIES]; /* reserved or full slots */
byte tail[RINGS];
short published[RINGS];
byte head[RINGS];
byte slot[NSLOTS]; /* a task's number, 0 = empty */
bit aborted;
byte tensor[TENSORS] = POISON;

/* ---- what the properties speak of; the kernel has none of this ---- */

int started, done; /* a bit per task */
byte left;         /* workgroups that reached the end */

/* ---- queue.c ---- */

/* Room for m tasks in ring r, this die's, or else the device's ring. */
inline reserve()
{
    if
    :: m > DIE_SLOTS -> r = DEVICE
    :: else ->
        d_step { count[r] = count[r] + m; ok = (count[r] <= DIE_SLOTS) }
        if
        :: ok
        :: else ->
#ifndef MUTANT_RESERVATION_KEPT
            count[r] = count[r] - m;
#endif
            r = DEVICE
        fi
    fi;
    ok = 0
}

/* Task `first` into the slot of the ticket, once it is empty. An aborted launch may lose tasks. Lanes
 * do this side by side, one by one here: what the first waits for it waits for either way. */
inline fill_die_slots()
{
    if
#ifndef MUTANT_SLOT_OVERWRITTEN
    :: d_step { slot[SLOT(r, ticket)] == 0 -> slot[SLOT(r, ticket)] = first }
#else
    :: slot[SLOT(r, ticket)] = first
#endif
#ifndef MUTANT_PUTTER_DEAF
    :: aborted
#endif
    fi
}

inline fill_device_slots()
{
    d_step { assert(ticket < DEVICE_SLOTS && slot[SLOT(r, ticket)] == 0);
             slot[SLOT(r, ticket)] = first }
}

/* Tasks first .. first + m - 1. */
inline cg_put()
{
    reserve();
    d_step { ticket = tail[r]; tail[r] = tail[r] + m }
    do
    :: k > 0 ->
        if
        :: r == DEVICE -> fill_device_slots()
        :: else -> fill_die_slots()
        fi;
        d_step { k--; ticket++; first++ }
    :: else -> break
    od;
    published[r] = published[r] + m;
    ticket = 0;
    first = 0;
    m = 0;
    r = 0
}

/* The task of a ticket of ring r, into t. */
inline take_from()
{
    d_step { ticket = head[r]; head[r] = head[r] + 1 }
    if
    :: d_step { r == DEVICE && slot[SLOT(r, ticket)] != 0 -> t = slot[SLOT(r, ticket)] }
#ifdef MUTANT_TAKEN_BY_LOAD_AND_STORE
    :: d_step { r < DEVICE && slot[SLOT(r, ticket)] != 0 -> t = slot[SLOT(r, ticket)] }
        slot[SLOT(r, ticket)] = 0
#else
    :: d_step { r < DEVICE && slot[SLOT(r, ticket)] != 0 ->
                t = slot[SLOT(r, ticket)]; slot[SLOT(r, ticket)] = 0 }
#endif
#ifndef MUTANT_TAKER_DEAF
    :: aborted -> goto quit
#endif
    fi;
    if
    :: r < DEVICE -> count[r] = count[r] - 1
    :: else
    fi;
    ticket = 0
}

/* Ring r had something when this workgroup looked. A task into t, or 0. The kernel looks at all
 * rings side by side and prefers its die's, then the device's; here it may choose any. */
inline cg_pop()
{
#ifdef MUTANT_TAKEN_UNPUBLISHED
    ok = 1;
#elif defined(MUTANT_PUBLISHED_BY_LOAD_AND_STORE)
    d_step { ticket = published[r]; ok = (ticket > 0 && ticket < 100) }
    d_step { published[r] = ticket - 1; ticket = 0 }
#else
    d_step { ok = (published[r] > 0); published[r] = published[r] - 1 }
#endif
    if
    :: ok -> take_from()
    :: else ->
#ifdef MUTANT_NOT_UNDONE
        skip
#else
        published[r] = published[r] + 1
#endif
    fi;
    d_step { r = 0; ok = 0 }
}

inline cg_received()
{
#ifdef MUTANT_TAKEN_WHERE_IT_STANDS
    popped[turn] = popped[turn] + 1
#else
    d_step { popped[instance_of[t]] = popped[instance_of[t]] + 1;
             assert(popped[instance_of[t]] <= total[instance_of[t]]) }
#endif
}

/* ---- ready.c ---- */

#ifdef MUTANT_LOOKS_BEFORE_IT_ARRIVES
#define SEEN(e) seen[e]
#else
#define SEEN(e) arrivals[e]
#endif

/* Is all that cell c waits for complete, as far as can be seen now? In order: what a wait reads was
 * waited for before. */
inline check_waits()
{
    do
#if defined(MUTANT_LOOKS_BEHIND_UNMET)
    :: i > 0 ->
#elif defined(MUTANT_LOOKS_AT_ONE)
    :: ok && i > 1 ->
#else
    :: ok && i > 0 ->
#endif
        d_step { assert(WAIT_WRITTEN(c, nwaits[c] - i));
                 ok = ok && (c_early[c] -> begun[WAIT(c, nwaits[c] - i)] :
                                           SEEN(WAIT(c, nwaits[c] - i))) >=
                               NEED(WAIT(c, nwaits[c] - i));
                 i-- }
    :: else -> break
    od;
    i = 0
}

/* Whoever is first to find the cell ready queues it. */
inline claim()
{
#if defined(MUTANT_CLAIMED_BY_LOAD_AND_STORE)
    ok = !claimed[c];
    claimed[c] = 1
#elif defined(MUTANT_NOT_CLAIMED)
    skip
#elif defined(MUTANT_CLAIMED_FOR_ALL_INSTANCES)
    d_step { ok = !claimed[c % (CELLS / 2)]; claimed[c % (CELLS / 2)] = 1 }
#else
    d_step { ok = !claimed[c]; claimed[c] = 1 }
#endif
}

inline cg_put_cell()
{
    d_step { ok = 0; m = tasks_of[c]; k = m; first = first_task[c]; r = DIE(me) }
    cg_put()
}

/* A cell that waits for one counter is looked at once: no claim. */
inline cg_try_cell()
{
    if
    :: direct -> ok = 1
    :: else ->
        check_waits();
        if
        :: ok -> claim()
        :: else
        fi
    fi;
    if
    :: ok -> cg_put_cell()
    :: else
    fi
}

#ifdef MUTANT_LOOKS_FOR_LAST_EVENT
#define MAY_HOLD(c, e) (nwaits[c] > 0 && e == wait_counter[c * EDGES + (nwaits[c] == 0 -> 0 : nwaits[c] - 1)])
#else
#define MAY_HOLD(c, e) ((considered[c] & BIT(e)) != 0)
#endif

/* On to the next cell that X speaks of, c itself or after it: tables only, no step of its own. */
#define FIND(x) \
    do :: c < CELLS && !(x) -> c++ :: else -> break od; \
    if \
    :: c < CELLS -> \
        ok = 1; \
        direct = (nwaits[c] == 0 || (nwaits[c] == 1 && wait_via[c * EDGES] == 0)); \
        i = (direct -> 0 : nwaits[c]) \
    :: else -> c = 0; ok = 0; direct = 0; finding = 0 \
    fi;
#define FIND_ARRIVED(e, early) FIND(MAY_HOLD(c, e) && c_early[c] == early)

#ifndef TOGETHER
/* A counter of task t is complete, of arrivals or of beginnings: cells whose box may hold it. */
inline cg_arrived(early)
{
    do
    :: finding -> cg_try_cell(); d_step { c++; FIND_ARRIVED(NOTIFY(t, n - 1), early) }
    :: else -> break
    od
}
#else
/* From cell c on, the next in a lane. */
#define NEXT_LANE \
    do :: c < CELLS && !(lanes & BIT(c)) -> c++ :: else -> break od;

/* The tasks of the cells in the lanes, with one reservation and one ticket. */
inline cg_put_each()
{
    d_step {
        c = 0; m = 0;
        do
        :: c < CELLS -> m = m + ((lanes & BIT(c)) != 0 -> tasks_of[c] : 0); c++
        :: else -> break
        od;
#ifdef MUTANT_ROOM_FOR_ONE_LANE
        m = (m > 0 -> 1 : 0);
#endif
        c = 0; ok = 0; r = DIE(me)
    }
    if
    :: m > 0 ->
        reserve();
        d_step { ticket = tail[r]; tail[r] = tail[r] + m; NEXT_LANE
                 k = tasks_of[c]; first = first_task[c] }
        do
        :: k > 0 ->
            if
            :: r == DEVICE -> fill_device_slots()
            :: else -> fill_die_slots()
            fi;
            d_step {
                k--; ticket++; first++;
                if
                :: k == 0 ->
                    c++; NEXT_LANE
                    if
                    :: c < CELLS -> k = tasks_of[c]; first = first_task[c]
                    :: else
                    fi
                :: else
                fi
            }
        :: else -> break
        od;
        published[r] = published[r] + m
    :: else
    fi;
    d_step { lanes = 0; c = 0; ticket = 0; first = 0; m = 0; r = 0; k = 0 }
}

/* All lanes claim, then those whose cell it is put. */
inline cg_put_cells()
{
    d_step { c = 0; NEXT_LANE }
    do
    :: c < CELLS ->
        claim();
        d_step {
#ifndef MUTANT_LOSERS_PUT
            lanes = (ok -> lanes : lanes & ~BIT(c));
#endif
            ok = 0; c++; NEXT_LANE
        }
    :: else -> break
    od;
    cg_put_each()
}

/* The lanes look, each at its cell: what one sees may be old when the last has looked. */
inline may_be_ready()
{
    check_waits();
    d_step { lanes = (ok -> lanes | BIT(c) : lanes); ok = 0 }
}

/* As above, but those that wait for several counters side by side. */
inline cg_arrived(early)
{
    do
    :: finding ->
        if
        :: direct -> cg_try_cell()
        :: else -> may_be_ready()
        fi;
        d_step { c++; FIND_ARRIVED(NOTIFY(t, n - 1), early) }
    :: else -> break
    od;
    if
    :: lanes != 0 -> cg_put_cells()
    :: else
    fi
}
#endif

/* Cells that may have nothing to wait for. */
inline cg_seed()
{
    d_step { c = 0; finding = 1; FIND(at_start[c] && c % WGS == me) }
    do
    :: finding -> cg_try_cell(); d_step { c++; FIND(at_start[c] && c % WGS == me) }
    :: else -> break
    od
}

/* ---- wait.c ---- */

#define OWN_WAIT WAIT(cell_of[t], nwaits[cell_of[t]] - i)

inline cg_waits()
{
#ifdef MUTANT_NO_WAIT_IN_PLACE
    skip
#else
    i = nwaits[cell_of[t]];
    do
    :: i > 0 ->
        if
        :: d_step { arrivals[OWN_WAIT] >= NEED(OWN_WAIT) -> i-- }
#ifndef MUTANT_WAIT_DEAF
        :: aborted -> goto quit
#endif
#ifdef ABORTS
        :: atomic { !aborted && arrivals[OWN_WAIT] < NEED(OWN_WAIT) -> aborted = 1; goto quit }
#endif
        fi
    :: else -> break
    od
#endif
}

inline cg_notifies()
{
    do
    :: n > 0 ->
#ifdef MUTANT_LOOKS_BEFORE_IT_ARRIVES
        do
        :: k < COUNTERS -> d_step { seen[k] = arrivals[k]; k++ }
        :: else -> break
        od;
        k = 0;
        seen[NOTIFY(t, n - 1)] = NEED(NOTIFY(t, n - 1));
#endif
        d_step { assert(NOTIFY_WRITTEN(t, n - 1));
                 arrivals[NOTIFY(t, n - 1)] = arrivals[NOTIFY(t, n - 1)] + 1;
                 assert(arrivals[NOTIFY(t, n - 1)] <= NEED(NOTIFY(t, n - 1)));
                 finding = (arrivals[NOTIFY(t, n - 1)] == NEED(NOTIFY(t, n - 1)));
                 if
                 :: finding -> FIND_ARRIVED(NOTIFY(t, n - 1), 0)
                 :: else
                 fi }
        cg_arrived(0);
        n--
    :: else -> break
    od
}

/* What is queued early goes by: the task is on a workgroup. */
inline cg_begin()
{
    n = (counts_starts[t] -> nnotifies[t] : 0);
    do
    :: n > 0 ->
        d_step { begun[NOTIFY(t, n - 1)] = begun[NOTIFY(t, n - 1)] + 1;
                 finding = (begun[NOTIFY(t, n - 1)] == NEED(NOTIFY(t, n - 1)));
                 if
                 :: finding -> FIND_ARRIVED(NOTIFY(t, n - 1), 1)
                 :: else
                 fi }
        cg_arrived(1);
        n--
    :: else -> break
    od
}

/* ---- tile.c, static.c, dynamic.c ---- */

inline run_steps()
{
    d_step {
        assert((started & BIT(t)) == 0);                     /* once */
        assert((done & producers[t]) == producers[t]);       /* after its producers */
        assert((done & ROUTED(t)) == ROUTED(t));
        started = started | BIT(t)
    }
    BODY(t)
    d_step { done = done | BIT(t); n = nnotifies[t] }
}

inline cg_tile()
{
    cg_begin();
    cg_waits();
    run_steps();
    cg_notifies()
}

/* Tasks first .. first + size - 1, dealt to the workgroups in turn. */
inline static_grid(from, size)
{
    t = from + me;
    do
    :: t < from + size -> cg_tile(); t = t + WGS
    :: else -> break
    od;
    t = 0
}

#ifdef MUTANT_TAKEN_UNPUBLISHED
#define SOME(r) (tail[r] > head[r])
#else
#define SOME(r) (published[r] > 0)
#endif

/* Until all tasks of the region's instance have been taken, by whomever. Polling is a guard here:
 * that a task is queued for ever shows as a deadlock. With POLLING it is a loop. */
inline cg_region(instance)
{
    do
    :: popped[instance] >= total[instance] -> break
#ifndef MUTANT_REGION_DEAF
    :: aborted -> goto quit
#endif
#ifdef ABORTS
    :: atomic { !aborted && popped[instance] < total[instance] -> aborted = 1; goto quit }
#endif
#ifdef POLLING
    :: popped[instance] < total[instance] && !aborted && !SOME(0) && !SOME(1) && !SOME(DEVICE)
#endif
    :: atomic {
           if
           :: SOME(0) -> r = 0
           :: SOME(1) -> r = 1
#ifndef MUTANT_BLIND_TO_THE_DEVICE
           :: SOME(DEVICE) -> r = DEVICE
#endif
           fi
       };
        cg_pop();
        if
        :: t != 0 -> cg_received(); cg_tile(); t = 0
        :: else
        fi
    od
}

#ifdef POLLING
ltl everybody_leaves { <> (left == WGS) }
#endif

proctype workgroup(byte me)
{
    byte t, c, r, m, first, i, k, n, ticket, turn;
    bit ok, finding, direct;
#ifdef TOGETHER
    short lanes; /* a bit per cell */
#endif
#ifdef MUTANT_LOOKS_BEFORE_IT_ARRIVES
    byte seen[COUNTERS];
#endif
    cg_seed();
    RUN
quit: skip;
#ifdef TOGETHER
    lanes = 0;
#endif
    d_step { t = 0; c = 0; r = 0; m = 0; first = 0; i = 0; k = 0; n = 0; ticket = 0; turn = 0; ok = 0;
             finding = 0; direct = 0; left++ }
}

init
{
    byte w, k;
    d_step { SETUP k = 0 }
    atomic {
        do
        :: w < WGS -> run workgroup(w); w++
        :: else -> break
        od;
        w = 0
    }
    left == WGS;
    if
    :: aborted
    :: else ->
        assert(started == ALL_TASKS && done == ALL_TASKS);
        assert(!published[0] && !published[1] && !published[DEVICE]);
        assert(!count[0] && !count[1])
    fi
}
