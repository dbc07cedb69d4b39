/* Flags by which devices tell each other of a counter (ir/program/tags.h, "flagged"), and rows that
 * are dealt to them (ir/program/deal.h). In each iteration the workgroups of every device have a part
 * of the sum of each row and store it to the device that has the row; they count on their own device,
 * and the last one stores a flag, the launch's number, to all. The device that has a row adds the
 * parts up and stores the sum to all, and all tell, whether they have a row or not. Then every
 * workgroup reads all sums. Stores are on their way for any time and arrive in any order; a fence of
 * the system waits for those of its own workgroup, and what it has seen is told with it. Two
 * launches, in one memory: one begins where all devices are done with the one before. */
#define DEVICES 2
#define WGS 2
#define T 1
#define LAUNCHES 2
#define FLAG (launch + 1)
#define WHAT (launch * T + i + 1)

/* Of device d: parts [row][from], sums [row], flags [0: parts, 1: sums][from], by iteration. */
#define PART(d, i, row, from) ((((d) * T + (i)) * DEVICES + (row)) * DEVICES + (from))
#define SUM(d, i, row) (((d) * T + (i)) * DEVICES + (row))
#define TOLD(d, i, which, from) ((((d) * T + (i)) * 2 + (which)) * DEVICES + (from))
#define COUNT(d, i, which) (((d) * T + (i)) * 2 + (which))

byte part[DEVICES * T * DEVICES * DEVICES], sum[DEVICES * T * DEVICES];
byte flag[DEVICES * T * 2 * DEVICES];
byte counter[DEVICES * T * 2], left, ended;
/* Stores of a workgroup that memory does not have yet. */
byte flying[DEVICES * WGS];
chan flight[DEVICES * WGS] = [4] of { byte, byte, byte }; /* kind, place, value */

/* Memory gets one of them, whichever. */
active [DEVICES * WGS] proctype memory() {
    byte kind, at, what;
    do
    ::atomic {
        flight[_pid] ?? kind, at, what ->
        if
        :: kind == 0 -> part[at] = what
        :: else -> sum[at] = what
        fi;
        flying[_pid]--
    }
    ::atomic { /* or the one behind the first */
        len(flight[_pid]) > 1 ->
        flight[_pid] ? kind, at, what;
        flight[_pid] ! kind, at, what
    }
    :: left == DEVICES * WGS && flying[_pid] == 0 -> break
    od
}

inline stored(kind, at, what) {
    atomic { flying[me]++; flight[me] ! kind, at, what }
}

/* A fence of the system. */
inline cg_fence_of() {
#ifndef MUTANT_NO_RELEASE
    flying[me] == 0
#else
    skip
#endif
}

inline cg_tell_devices(which) {
    byte before, o;
    atomic { before = counter[COUNT(d, i, which)]; counter[COUNT(d, i, which)]++ }
#ifdef MUTANT_FIRST_TELLS
    if
    :: before == 0 ->
#else
    if
    :: before == WGS - 1 ->
#endif
        o = 0;
        do
        :: o < DEVICES -> flag[TOLD(o, i, which, d)] = FLAG; o++
        :: else -> break
        od
    :: else
    fi
}

inline cg_waits(which) {
#ifdef MUTANT_OWN_FLAG
    flag[TOLD(d, i, which, d)] == FLAG;
#else
#ifdef MUTANT_FLAG_OF_ANY_LAUNCH
    flag[TOLD(d, i, which, 0)] > 0 && flag[TOLD(d, i, which, 1)] > 0;
#else
    flag[TOLD(d, i, which, 0)] == FLAG;
    flag[TOLD(d, i, which, 1)] == FLAG;
#endif
#endif
}

/* Workgroup w has part w of what there is to store and to add up: row w. */
proctype workgroup(byte d; byte w; byte launch) {
    byte i = 0, me = d * WGS + w;
    do
    :: i < T ->
        stored(0, PART(w, i, w, d), WHAT); /* row w is the w-th device's */
        cg_fence_of();
        cg_tell_devices(0);
        cg_waits(0);
        if
        :: w == d -> /* this device has the row */
            assert(part[PART(d, i, w, 0)] == WHAT && part[PART(d, i, w, 1)] == WHAT);
            stored(1, SUM(0, i, w), WHAT);
            stored(1, SUM(1, i, w), WHAT);
            cg_fence_of()
        :: else
        fi;
        cg_tell_devices(1);
        cg_waits(1);
        assert(sum[SUM(d, i, 0)] == WHAT && sum[SUM(d, i, 1)] == WHAT);
        i++
    :: else -> break
    od;
    ended++
}

init {
    byte launch = 0, k;
    do
    :: launch < LAUNCHES ->
        atomic {
            k = 0;
            do
            :: k < DEVICES * T * 2 -> counter[k] = 0; k++
            :: else -> break
            od;
            run workgroup(0, 0, launch);
            run workgroup(0, 1, launch);
            run workgroup(1, 0, launch);
            run workgroup(1, 1, launch)
        }
        ended == DEVICES * WGS * (launch + 1);
        launch++
    :: else -> break
    od;
    left = DEVICES * WGS
}
