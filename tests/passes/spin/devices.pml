/* Words that devices exchange: in each iteration every device has a part of a sum, stores it to the
 * inbox of every device, itself too, and adds the parts of all, which the next iteration's part is
 * made of. A workgroup that is slower takes the sums as well. Stores are on their way for any time
 * and arrive in any order; no counter is shared by devices. Two launches, in one memory: one begins
 * where all devices are done with the one before. */
#define DEVICES 2
#define T 2
#define LAUNCHES 2
#ifdef MUTANT_ONE_PLACE
#define AT(i) 0
#else
#define AT(i) i
#endif
#ifdef MUTANT_TAG_OF_ANY_LAUNCH
#define TAG(i) (i + 1)
#else
#define TAG(i) (launch * T + i + 1)
#endif
#define WORD(of, i, from) ((of * T + AT(i)) * DEVICES + from)
#define WORDS (DEVICES * T * DEVICES)

byte word[WORDS], real[WORDS]; /* the tag that memory has, and 1 + the iteration it is of */
short flight[WORDS];           /* bit n: a store with tag n is on its way */
byte issued[WORDS * 5];               /* by word and tag: the iteration, over all launches */
byte left, ended[DEVICES];
#define arrived                                                                                                        \
    flight[0] + flight[1] + flight[2] + flight[3] + flight[4] + flight[5] + flight[6] + flight[7] == 0
bool over;

inline cg_word_store(w, tag, what) {
    issued[w * 5 + tag] = what;
    flight[w] = flight[w] | (1 << tag);
}

inline cg_step_receives(w, tag, what) {
#ifndef MUTANT_TAKEN_AS_IT_IS
    word[w] == tag;
#endif
    assert(word[w] == tag && real[w] == what);
}

/* Memory gets one of the stores that are on their way. */
inline arrives(w, tag) {
    atomic {
        flight[w] & (1 << tag);
        flight[w] = flight[w] & ~(1 << tag);
        word[w] = tag;
        real[w] = issued[w * 5 + tag]
    }
}

#define ARRIVE(w) \
    ::arrives(w, 1) ::arrives(w, 2) ::arrives(w, 3) ::arrives(w, 4)

active proctype memory() {
    do
    ARRIVE(0) ARRIVE(1) ARRIVE(2) ARRIVE(3) ARRIVE(4) ARRIVE(5) ARRIVE(6) ARRIVE(7)
    :: over -> break
    od
}

proctype writer(byte d; byte launch) {
    byte i = 0;
    do
    :: i < T ->
        atomic {
            cg_word_store(WORD(0, i, d), TAG(i), launch * T + i + 1);
            cg_word_store(WORD(1, i, d), TAG(i), launch * T + i + 1);
        }
        cg_step_receives(WORD(d, i, 0), TAG(i), launch * T + i + 1);
        cg_step_receives(WORD(d, i, 1), TAG(i), launch * T + i + 1);
        i++
    :: else -> break
    od;
    ended[d]++
}

proctype reader(byte d; byte launch) {
    byte i = 0;
    do
    :: i < T ->
        cg_step_receives(WORD(d, i, 0), TAG(i), launch * T + i + 1);
        cg_step_receives(WORD(d, i, 1), TAG(i), launch * T + i + 1);
        i++
    :: else -> break
    od;
    ended[d]++
}

/* The end of a kernel: all its workgroups have, and its stores have arrived. */
proctype device(byte d) {
    byte launch = 0;
    do
    :: launch < LAUNCHES ->
        atomic { run writer(d, launch); run reader(d, launch) }
#ifdef MUTANT_BEGINS_ALONE
        ended[d] == 2 * (launch + 1);
#else
        ended[0] == 2 * (launch + 1) && ended[1] == 2 * (launch + 1) && arrived;
#endif
        launch++
    :: else -> break
    od;
    left++
}

init {
    atomic { run device(0); run device(1) }
    left == DEVICES && arrived;
    over = true
}
