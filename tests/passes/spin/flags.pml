/* Carried events: two writers store a word each in every iteration, two readers take them; no fence
 * orders anything. A store is on its way from when it is issued until memory has it, and those of one
 * writer may come in any order. Readers take the first word in every iteration, the second in the
 * last alone: what is stored there before is read by nobody. Two launches, in one memory.
 *
 * What a word holds is its tag: a reader knows by that of which store it is. */
#define T 2
#define LAUNCHES 2
#define WORDS 2
#define READERS 2

byte word[WORDS];
short flight[WORDS]; /* bit n: a store with tag n is on its way */
byte launch, written[T], taken[T], left;
bool over;

#ifdef MUTANT_TAG_OF_ANY_LAUNCH
#define TAG(i) (i + 1)
#elif defined(MUTANT_TAG_OF_ANY_ITERATION)
#define TAG(i) (launch + 1)
#else
#define TAG(i) (launch * T + i + 1)
#endif

inline cg_word_store(w, tag) {
    flight[w] = flight[w] | (1 << tag);
}

/* An unfenced event: polls, and no fence. */
inline cg_waits(counter, need) {
    counter == need;
}

inline cg_notifies(counter) {
    counter++;
}

/* Until the word has the tag. */
inline cg_step_receives(w, tag, real) {
#ifndef MUTANT_TAKEN_AS_IT_IS
    word[w] == tag;
#endif
    assert(word[w] == tag && stored[w] == real);
}

byte stored[WORDS]; /* 1 + the iteration over all launches of the store that memory had last */

/* Memory gets one of the stores that are on their way: the larger word stays. */
inline arrives(w, tag) {
    atomic {
        flight[w] & (1 << tag);
        flight[w] = flight[w] & ~(1 << tag);
        if
#ifndef MUTANT_STORED_AS_IT_COMES
        :: tag < word[w] -> skip;
#endif
        :: else -> word[w] = tag; stored[w] = issued[w * 8 + tag];
        fi
    }
}

byte issued[16]; /* by word and tag: which store it is */

active proctype memory() {
    byte w, t;
    do
    :: arrives(0, 1)
    :: arrives(0, 2)
    :: arrives(0, 3)
    :: arrives(0, 4)
    :: arrives(1, 1)
    :: arrives(1, 2)
    :: arrives(1, 3)
    :: arrives(1, 4)
    :: over -> break
    od
}

proctype writer(byte w) {
    byte i = 0;
    do
    :: i < T ->
#ifndef MUTANT_READERS_OVERTAKEN
        if
        :: i > 0 -> cg_waits(taken[i - 1], READERS);
        :: else -> skip;
        fi;
#endif
        atomic {
            issued[w * 8 + TAG(i)] = launch * T + i + 1;
            cg_word_store(w, TAG(i));
        }
        cg_notifies(written[i]);
        i++;
    :: else -> break
    od;
    left++
}

proctype reader() {
    byte i = 0;
    do
    :: i < T ->
#ifndef NOBODY_WAITS
        cg_waits(written[i], WORDS);
#endif
        cg_step_receives(0, TAG(i), launch * T + i + 1);
        if
        :: i == T - 1 -> cg_step_receives(1, TAG(i), launch * T + i + 1);
        :: else -> skip;
        fi;
        cg_notifies(taken[i]);
        i++;
    :: else -> break
    od;
    left++
}

init {
    byte i;
    do
    :: launch < LAUNCHES ->
        atomic { run writer(0); run writer(1); run reader(); run reader(); }
        left == 4 && flight[0] == 0 && flight[1] == 0; /* the end of a kernel */
        atomic {
            left = 0; launch++; i = 0;
            do
            :: i < T -> written[i] = 0; taken[i] = 0; i++
            :: else -> break
            od
        }
    :: else -> break
    od;
    over = true
}
