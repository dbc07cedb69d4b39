/* test_pages: the pool of pages against what a sequence knows of itself. Sequences of few different
 * tokens begin, grow, and end in random order; whatever a page is found for must be what was
 * written to it, and nobody may write what somebody else holds. */
#include "examples/llm/engine/kept/pages.h"
#include "examples/llm/engine/kept/snapshots.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { PAGES = 23, SIZE = 4, LONGEST = 40, SEQUENCES = 9, TOKENS = 3 };

/* ck_assert tells another process of every check, which takes most of the time of so many. */
#define EXPECT(c)                                                                                  \
    do {                                                                                           \
        if (!(c)) ck_abort_msg("%s", #c);                                                          \
    } while (0)

struct sequence {
    int32_t ids[LONGEST];
    int64_t n, fed, npages, nkept;
    int32_t pages[LONGEST];
};

static struct pages *pool;
/* What lies in a page: all tokens from the beginning of the sequence up to the page's end. */
static int32_t written[PAGES][LONGEST];
static int64_t begins[PAGES]; /* at this position */
static int holders[PAGES];
static unsigned dropped[PAGES], now; /* when nobody held it any more */
static bool known[PAGES];

static int64_t draw(int64_t n) {
    return random() % n;
}

static int32_t last(const struct sequence *s) {
    return s->npages ? s->pages[s->npages - 1] : -1;
}

static void expect_is(const struct sequence *s, int32_t page, int64_t at, int64_t tokens) {
    EXPECT(page >= 0);
    EXPECT(page < PAGES);
    EXPECT(begins[page] == at);
    EXPECT(!memcmp(written[page], s->ids, (size_t)(at + tokens) * sizeof *s->ids));
}

static void drop(int32_t page) {
    EXPECT(holders[page] > 0);
    if (--holders[page] == 0) dropped[page] = ++now;
}

/* A page nobody holds: of those that are known, the one that was dropped first, once there is none
 * that is not known. */
static int32_t take(void) {
    int32_t page = pages_take(pool);
    if (page < 0) return page;
    EXPECT(holders[page] == 0);
    for (int i = 0; i < PAGES; i++)
        if (!holders[i] && known[page]) EXPECT(known[i] && dropped[i] >= dropped[page]);
    holders[page] = 1;
    known[page] = false;
    return page;
}

static void write_page(const struct sequence *s, int32_t page, int64_t at, int64_t tokens) {
    EXPECT(holders[page] == 1);
    EXPECT(!known[page]);
    begins[page] = at;
    memcpy(written[page], s->ids, (size_t)(at + tokens) * sizeof *s->ids);
}

/* A beginning that others had already, as far as it lies there, and a copy of what comes near. */
static void begin(struct sequence *s) {
    s->n = 1 + draw(LONGEST);
    s->fed = s->npages = 0;
    for (int64_t i = 0; i < s->n; i++)
        s->ids[i] = (int32_t)(draw(4) ? 1 : draw(TOKENS));
    while ((s->npages + 1) * SIZE < s->n) {
        const int32_t *ids = s->ids + s->npages * SIZE;
        int32_t look = pages_look(pool, last(s), ids), page = pages_find(pool, last(s), ids);
        EXPECT(look == page);
        if (page < 0) break;
        expect_is(s, page, s->npages * SIZE, SIZE);
        EXPECT(known[page]);
        holders[page]++;
        s->pages[s->npages++] = page;
    }
    s->nkept = s->npages;
    s->fed = s->npages * SIZE;
    int64_t common, rest = s->n - 1 - s->fed;
    int32_t like =
        pages_find_like(pool, last(s), s->ids + s->fed, rest < SIZE ? rest : SIZE, &common);
    if (like < 0) return;
    EXPECT(common > 0);
    expect_is(s, like, s->fed, common);
    holders[like]++;
    int32_t own = take();
    if (own >= 0) {
        write_page(s, own, s->fed, common);
        s->pages[s->npages++] = own;
        s->fed += common;
    }
    pages_drop(pool, like);
    drop(like);
}

static void keep(struct sequence *s) {
    for (; (s->nkept + 1) * SIZE <= s->fed; s->nkept++) {
        int32_t page = s->pages[s->nkept], before = s->nkept ? s->pages[s->nkept - 1] : -1;
        int32_t kept = pages_keep(pool, page, before, s->ids + s->nkept * SIZE);
        if (kept != page) { /* it lay there already: once is enough */
            expect_is(s, kept, s->nkept * SIZE, SIZE);
            EXPECT(known[kept]);
            holders[kept]++;
            drop(page);
        }
        known[kept] = true;
        s->pages[s->nkept] = kept;
        EXPECT(pages_look(pool, before, s->ids + s->nkept * SIZE) == kept);
    }
}

static void grow(struct sequence *s) {
    int64_t to = s->fed + 1 + draw(6);
    for (; s->fed < to && s->fed < s->n; s->fed++) {
        if (s->fed == s->npages * SIZE) {
            int32_t page = take();
            if (page < 0) break;
            s->pages[s->npages++] = page;
        }
        write_page(s, last(s), (s->npages - 1) * SIZE, s->fed + 1 - (s->npages - 1) * SIZE);
    }
    keep(s);
}

static void end(struct sequence *s) {
    for (int64_t i = s->npages; i-- > 0;)
        drop(s->pages[i]);
    pages_drop_all(pool, s->pages, s->npages);
    s->n = s->npages = 0;
}

static void check_counts(const struct sequence *all) {
    int64_t free = 0;
    for (int i = 0; i < PAGES; i++) {
        free += holders[i] == 0;
        EXPECT(pages_is_held(pool, i) == (holders[i] > 0));
    }
    EXPECT(pages_free_count(pool) == free);
    for (int i = 0; i < SEQUENCES; i++)
        for (int64_t k = 0; k < all[i].npages; k++) {
            int64_t rest = all[i].fed - k * SIZE;
            expect_is(&all[i], all[i].pages[k], k * SIZE, rest < SIZE ? rest : SIZE);
        }
}

START_TEST(pool_of_pages) {
    struct sequence all[SEQUENCES] = {0};
    int64_t shared = 0, full = 0;
    srandom((unsigned)_i + 1);
    pool = pages_make(PAGES, SIZE);
    EXPECT(pool);
    memset(holders, 0, sizeof holders);
    memset(known, 0, sizeof known);
    for (int step = 0; step < 20000; step++) {
        struct sequence *s = &all[draw(SEQUENCES)];
        if (!s->n)
            begin(s), shared += s->nkept;
        else if (draw(8) && s->fed < s->n)
            grow(s);
        else
            end(s);
        full += !pages_free_count(pool);
        check_counts(all);
        if (draw(5000) == 0) { /* all is lost */
            pages_clear(pool);
            memset(holders, 0, sizeof holders);
            memset(known, 0, sizeof known);
            memset(all, 0, sizeof all);
        }
    }
    /* It came to what is to be seen. */
    EXPECT(shared > 100);
    EXPECT(full > 100);
    pages_free(pool);
}
END_TEST

/* What was dropped first is taken first, and what follows a page before that page. */
START_TEST(oldest_first) {
    static const int32_t a[SIZE] = {1, 2, 3, 4}, b[SIZE] = {5, 6, 7, 8};
    pool = pages_make(3, SIZE);
    ck_assert_ptr_nonnull(pool);
    int32_t list[2] = {pages_take(pool), pages_take(pool)}, other = pages_take(pool);
    ck_assert_int_eq(pages_take(pool), -1);
    ck_assert_int_eq(pages_keep(pool, list[0], -1, a), list[0]);
    ck_assert_int_eq(pages_keep(pool, list[1], list[0], b), list[1]);
    ck_assert_int_eq(pages_keep(pool, other, -1, b), other);
    pages_drop_all(pool, list, 2);
    pages_drop(pool, other);
    ck_assert_int_eq(pages_take(pool), list[1]);
    ck_assert_int_eq(pages_look(pool, list[0], b), -1);
    ck_assert_int_eq(pages_find(pool, -1, a), list[0]);
    pages_drop(pool, list[0]);
    ck_assert_int_eq(pages_take(pool), other);
    ck_assert_int_eq(pages_look(pool, -1, b), -1);
    pages_free(pool);
}
END_TEST

/* Snapshots of few texts that begin alike, against what each row was given last. */
START_TEST(rows_of_snapshots) {
    enum { ROWS = 5, TEXT = 12 };
    struct snapshots *rows = snapshots_make(ROWS);
    struct snapshot own = {0};
    int32_t held[ROWS][TEXT];
    int64_t lengths[ROWS] = {0}, n, common;
    unsigned used[ROWS] = {0}, clock = 0;
    srandom((unsigned)_i);
    for (int k = 0; k < 5000; k++) {
        int32_t ids[TEXT], best = -1, oldest = 0;
        int64_t most = 1 + draw(TEXT), alike = 0;
        for (int i = 0; i < TEXT; i++)
            ids[i] = (int32_t)draw(2);
        for (int32_t i = 0; i < ROWS; i++) {
            for (common = 0; common < lengths[i] && held[i][common] == ids[common];)
                common++;
            if (common > alike) alike = common;
            if (used[i] < used[oldest]) oldest = i;
            if (lengths[i] && common == lengths[i] && common <= most &&
                (best < 0 || common > lengths[best]))
                best = i;
        }
        EXPECT(snapshots_common(rows, ids, TEXT) == alike);
        EXPECT(snapshots_look(rows, ids, most, &n) == best);
        EXPECT(n == (best < 0 ? 0 : lengths[best]));
        bool finds = draw(2), grows = draw(2);
        if (best >= 0 && (finds || n == most)) used[best] = ++clock;
        if (finds) EXPECT(snapshots_find(rows, ids, most, &n) == best);
        if (finds) continue;
        bool there = grows && own.number && lengths[own.row] && used[own.row];
        int32_t before = own.row, row = snapshots_put(rows, ids, most, grows ? &own : NULL);
        EXPECT((row < 0) == (best >= 0 && n == most));
        if (row < 0) continue;
        EXPECT(row == oldest || (there && row == before));
        if (grows) EXPECT(own.row == row);
        memcpy(held[row], ids, sizeof ids);
        lengths[row] = most;
        used[row] = ++clock;
        if (draw(20)) continue;
        snapshots_drop(rows, row);
        lengths[row] = used[row] = 0;
    }
    snapshots_clear(rows);
    EXPECT(snapshots_common(rows, held[0], TEXT) == 0);
    snapshots_free(rows);
    snapshots_free(NULL);
    ck_assert_ptr_null(snapshots_make(0));
}
END_TEST

/* What somebody put last is given up for what follows it, as long as it is there. */
START_TEST(a_row_that_grows) {
    struct snapshots *rows = snapshots_make(2);
    const int32_t a[4] = {1, 2, 3, 4}, b[2] = {5, 6};
    struct snapshot own = {0};
    int64_t n;
    ck_assert_int_eq(snapshots_put(rows, a, 1, &own), 0);
    ck_assert_int_eq(snapshots_put(rows, b, 1, NULL), 1);
    ck_assert_int_eq(snapshots_put(rows, a, 2, &own), 0);
    ck_assert_int_eq(snapshots_look(rows, a, 4, &n), 0);
    ck_assert_int_eq(n, 2);
    ck_assert_int_eq(snapshots_look(rows, b, 2, &n), 1);
    ck_assert_int_eq(snapshots_put(rows, b, 2, NULL), 1); /* of use last: row 0 */
    ck_assert_int_eq(snapshots_put(rows, b + 1, 1, NULL), 0);
    ck_assert_int_eq(snapshots_look(rows, a, 4, &n), -1);
    ck_assert_int_eq(snapshots_put(rows, a, 3, &own), 1); /* it is gone: the other one is older */
    snapshots_free(rows);
}
END_TEST

START_TEST(sizes) {
    ck_assert_ptr_null(pages_make(0, 4));
    ck_assert_ptr_null(pages_make(4, 0));
    ck_assert_ptr_null(pages_make(INT64_MAX, 4));
    ck_assert_ptr_null(pages_make(1000, INT64_MAX));
    pages_free(NULL);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("pages");
    TCase *c = tcase_create("pages");
    tcase_add_loop_test(c, pool_of_pages, 0, 10);
    tcase_add_test(c, oldest_first);
    tcase_add_test(c, sizes);
    tcase_add_loop_test(c, rows_of_snapshots, 0, 10);
    tcase_add_test(c, a_row_that_grows);
    tcase_set_timeout(c, 60);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
