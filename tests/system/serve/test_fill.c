/* test_fill: which rows of a launch lie side by side. Texts and pieces of prompts of all sizes:
 * each sequence's tokens come in order and as many as before, and no tile has many more texts than
 * another. */
#include "examples/llm/engine/parts.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

/* ck_assert tells another process of every check, which takes most of the time of so many. */
#define EXPECT(c)                                                                                  \
    do {                                                                                           \
        if (!(c)) ck_abort_msg("%s", #c);                                                          \
    } while (0)

enum { SLOTS = 32, BATCH = 256, CHUNK = 64, TILE = 16, LONGEST = 400 };

static struct sequence sequences[SLOTS], *active[SLOTS];
static int32_t ids[LONGEST], tokens[BATCH], positions[BATCH], slot_of[BATCH], asked[SLOTS];

static void set_up(struct engine *e, struct engine_options *o, struct lm *lm, int texts,
                   int prompts, int64_t length) {
    *o = (struct engine_options){0};
    *lm = (struct lm){.tokens = tokens,
                      .positions = positions,
                      .slot_of = slot_of,
                      .asked = asked,
                      .by_asking = true,
                      .max_rows = SLOTS,
                      .max_tokens = BATCH,
                      .tile = TILE};
    *e = (struct engine){
        .ways.held = true, .o = o, .lm = lm, .batch = BATCH, .chunk = CHUNK, .active = active};
    e->nactive = texts + prompts;
    memset(sequences, 0, sizeof sequences);
    for (int i = 0; i < e->nactive; i++) {
        struct sequence *s = active[i] = &sequences[i];
        s->ids = ids;
        s->slot = i;
        s->job.n = i < texts ? 8 : (size_t)length;
        s->n = s->job.n + (i < texts ? 3 : 0);
        s->fed = i < texts ? s->n - 1 : 0;
    }
}

/* Rows are told in runs of one slot after another; the most that a tile of TILE rows has. */
static int most_runs(int64_t n, int tile) {
    int most = 0;
    for (int64_t t = 0; t < n; t += tile) {
        int runs = 1;
        for (int64_t i = t + 1; i < t + tile && i < n; i++)
            runs += slot_of[i] != slot_of[i - 1];
        most = runs > most ? runs : most;
    }
    return most;
}

static void check_order(const struct engine *e, int64_t n) {
    int64_t next[SLOTS];
    for (int i = 0; i < e->nactive; i++)
        next[i] = (int64_t)active[i]->had;
    for (int64_t i = 0; i < n; i++) {
        EXPECT(positions[i] == next[slot_of[i]]);
        next[slot_of[i]]++;
    }
    for (int i = 0; i < e->nactive; i++) {
        const struct sequence *s = active[i];
        EXPECT(next[i] == (int64_t)s->fed);
        EXPECT((s->row >= 0) == (s->fed == s->n));
        if (s->row >= 0) EXPECT(slot_of[asked[s->row]] == i);
    }
}

START_TEST(each_tile_has_as_many_texts) {
    struct engine e;
    struct engine_options o;
    struct lm lm;
    for (int texts = 1; texts < SLOTS; texts++)
        for (int prompts = 1; texts + prompts <= SLOTS && prompts <= 3; prompts++)
            for (int64_t length = 1 + TILE; length <= LONGEST; length += 7) {
                int tile = length % 2 ? TILE : 2 * TILE; /* where there are many positions */
                set_up(&e, &o, &lm, texts, prompts, length);
                lm.tile = tile;
                int64_t n = launch_fill(&e), room = prompts * CHUNK, most = prompts * length;
                EXPECT(n == lm.n);
                EXPECT(n == texts + (most < room ? most : room));
                EXPECT(most_runs(n, tile) <= (texts * tile + n - 1) / n + prompts + tile / 8);
                check_order(&e, n);
            }
}
END_TEST

/* What the prompts are told of, or a state goes along, is not parted. */
START_TEST(some_stay_together) {
    struct engine e;
    struct engine_options o;
    struct lm lm;
    for (int recurs = 0; recurs < 2; recurs++) {
        set_up(&e, &o, &lm, 20, 1, 30);
        lm.recurs = recurs;
        active[20]->job.tells_prompt = !recurs;
        lm.max_rows = SLOTS;
        int64_t n = launch_fill(&e);
        for (int64_t i = 0; i < n; i++)
            EXPECT(i < 20 ? slot_of[i] != 20 : slot_of[i] == 20);
    }
}
END_TEST

/* Of one chunk the oldest prompt has half, of the others the shortest what is left; where it is
 * alone, all. */
START_TEST(prompts_share_a_chunk) {
    struct engine e;
    struct engine_options o;
    struct lm lm;
    enum { HALF = CHUNK / 2 };
    for (int fixed = 0; fixed < 2; fixed++) { /* what was asked for; launches that are long */
        for (int k = 0; k < 3; k++) {
            set_up(&e, &o, &lm, 8, k < 2 ? 3 : 1, LONGEST);
            if (fixed) o.chunk = CHUNK;
            e.ways.text = 1, e.ways.texts = 8, e.stats.last_texts = 8, e.ways.took = 4;
            if (k == 0) sequences[9].n = sequences[9].job.n = 20;
            if (k == 1) sequences[8].n = sequences[8].job.n = 4; /* leaves what it does not need */
            EXPECT(launch_fill(&e) == 8 + CHUNK);
            check_order(&e, 8 + CHUNK);
            EXPECT(sequences[8].fed == (k == 0 ? HALF : k == 1 ? 4 : CHUNK));
            if (k < 2) EXPECT(sequences[9].fed == (k == 0 ? 20 : CHUNK - 4));
            if (k < 2) EXPECT(sequences[10].fed == (k == 0 ? HALF - 20 : 0));
        }
    }
}
END_TEST

/* Each of many prompts is read in the end, while shorter ones come all the time. */
START_TEST(no_prompt_waits_for_ever) {
    struct engine e;
    struct engine_options o;
    struct lm lm;
    set_up(&e, &o, &lm, 8, 4, LONGEST);
    for (int k = 0; k < 40 && sequences[8].fed < sequences[8].n; k++) {
        lm.n = lm.nrows = 0;
        launch_fill(&e);
        for (int i = 0; i < 8; i++)
            active[i]->fed = active[i]->n - 1;
        for (int i = 9; i < 12; i++) /* one that is over is followed by a short one */
            if (sequences[i].fed == sequences[i].n || !k) {
                sequences[i].n = sequences[i].job.n = 30;
                sequences[i].fed = 0;
            }
    }
    EXPECT(sequences[8].fed == LONGEST);
}
END_TEST

/* Nobody waits for a token: prompts take all the room, and all that there is of them. */
START_TEST(prompts_alone_take_all) {
    struct engine e;
    struct engine_options o;
    struct lm lm;
    set_up(&e, &o, &lm, 0, 2, LONGEST);
    EXPECT(launch_fill(&e) == BATCH);
    check_order(&e, BATCH);
    set_up(&e, &o, &lm, 0, 2, 100);
    EXPECT(launch_fill(&e) == 200);
    check_order(&e, 200);
}
END_TEST

/* Launches one after the other, which take what TAKES says, with a prompt after the other; how many
 * of 400 had prompts apart from texts. */
static int read_all(struct engine *e, double (*takes)(int64_t texts, int64_t prompts)) {
    int apart = 0;
    for (int k = 0; k < 400; k++) {
        int64_t n = launch_fill(e), texts = e->stats.last_texts, prompts = e->stats.last_prompts;
        EXPECT(n > 0);
        EXPECT(texts == 20 || (texts == 0 && k > 0));
        apart += !texts;
        fill_learn(e, takes(texts, prompts));
        e->lm->n = 0;
        for (int i = 0; i < 20; i++)
            if (active[i]->row >= 0) active[i]->fed = active[i]->n - 1;
        if (active[20]->fed == active[20]->n) active[20]->fed = 0; /* and one more of them */
    }
    return apart;
}

static double cheaper_apart(int64_t texts, int64_t prompts) {
    return (texts ? 1 : 0) + (prompts ? 1 : 0) + (texts && prompts ? 2 : 0);
}

static double cheaper_together(int64_t texts, int64_t prompts) {
    return 1 + (texts && prompts ? 0.25 : 0);
}

static double long_prompts(int64_t texts, int64_t prompts) {
    return (texts ? 1 : 0) + (prompts ? 9 : 0) + (prompts && !texts ? 21 : 0);
}

/* Where layers carry states along texts, in chunks of as many rows as the kernel says. */
START_TEST(scans_end_at_whole_chunks) {
    struct engine e;
    struct engine_options o;
    struct lm lm;
    for (int texts = 0; texts < 20; texts++)
        for (int64_t length = 2; length <= LONGEST; length += 7) {
            int whole = length % 2 ? 32 : 16;
            set_up(&e, &o, &lm, texts, 3, length);
            e.recurs = lm.recurs = true;
            lm.chunk = whole;
            for (int launches = 0, left = 1; left && launches < 100; launches++) {
                lm.n = lm.nrows = 0;
                launch_fill(&e);
                left = 0;
                for (int i = 0; i < texts; i++)
                    active[i]->fed = active[i]->n - 1;
                for (int i = texts; i < e.nactive; i++) {
                    const struct sequence *s = active[i];
                    bool ends = s->fed + 1 >= s->n, few = (int64_t)(s->fed - s->had) < whole;
                    EXPECT(ends || few || (int64_t)s->fed % whole == 0);
                    left |= s->fed + 1 < s->n;
                }
            }
            for (int i = texts; i < e.nactive; i++)
                EXPECT(active[i]->fed + 1 >= active[i]->n);
        }
}
END_TEST

/* Prompts go beside texts or apart from them, as takes less; texts then have every second launch.
 */
START_TEST(the_cheaper_way_is_gone) {
    struct engine e;
    struct engine_options o;
    struct lm lm;
    set_up(&e, &o, &lm, 20, 1, LONGEST);
    e.ways.held = false;
    int apart = read_all(&e, cheaper_apart);
    EXPECT(apart > 180 && apart < 200);
    set_up(&e, &o, &lm, 20, 1, LONGEST);
    e.ways.held = false;
    apart = read_all(&e, cheaper_together);
    EXPECT(apart > 0 && apart < 30);
    set_up(&e, &o, &lm, 20, 1, LONGEST);
    e.ways.held = false;
    EXPECT(read_all(&e, long_prompts) == 1); /* which is not tried again */
}
END_TEST

static double by_token(int64_t texts, int64_t prompts) {
    return (double)(texts + prompts);
}

/* Chunks grow where that takes no longer, and only there: of prompts that are long. */
START_TEST(chunks_grow_where_they_may) {
    enum { AT = 300 }; /* launches, after which it is known */
    struct engine e;
    struct engine_options o;
    struct lm lm;
    static int32_t many[AT * BATCH];
    for (int how = 0; how < 3; how++) {
        set_up(&e, &o, &lm, 20, 1, AT * BATCH - 1);
        e.ways.held = false;
        active[20]->ids = many;
        o.chunk = how == 2 ? CHUNK : 0;
        int64_t sum = 0;
        for (int k = 0; k < AT; k++) {
            launch_fill(&e);
            check_order(&e, lm.n);
            sum += k < AT / 2 ? 0 : e.stats.last_prompts;
            fill_learn(&e, how == 1 ? by_token(e.stats.last_texts, e.stats.last_prompts)
                                    : cheaper_together(e.stats.last_texts, e.stats.last_prompts));
            lm.n = 0;
            for (int i = 0; i < 20; i++)
                active[i]->fed = active[i]->n - 1;
        }
        sum /= AT - AT / 2;
        EXPECT(how == 0 ? sum > 3 * CHUNK : how == 1 ? sum < 3 * CHUNK / 2 : sum <= CHUNK);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("fill");
    TCase *c = tcase_create("fill");
    tcase_add_test(c, each_tile_has_as_many_texts);
    tcase_add_test(c, some_stay_together);
    tcase_add_test(c, prompts_share_a_chunk);
    tcase_add_test(c, no_prompt_waits_for_ever);
    tcase_add_test(c, prompts_alone_take_all);
    tcase_add_test(c, scans_end_at_whole_chunks);
    tcase_add_test(c, the_cheaper_way_is_gone);
    tcase_add_test(c, chunks_grow_where_they_may);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
