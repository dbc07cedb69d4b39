/* test_timeline: timelines made by hand. test_timeline FOLDER: pages for the tests of the page:
 * none of its spans known, no dependencies, hostile names, 300,000 spans. */
#include "ir/base/text.h"
#include "passes/timeline/int.h"
#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void span(timeline *t, int task, int row, double look, double reached, double ready,
                 double done, double left) {
    timeline_add(t, &(timeline_span){.task = task,
                                     .tile = row,
                                     .row = row,
                                     .look = look,
                                     .reached = reached,
                                     .ready = ready,
                                     .done = done,
                                     .left = left});
}

/* Two rows: a (0) and b (1) arrive at counters 7 and 8, c (2, after b) waits for both, d (3, after
 * a) for 8. */
static timeline *small(void) {
    timeline *t = timeline_create("small", TIMELINE_PREDICTED, "MI300X");
    span(t, 0, 0, -1, 100, 100, 130, 132);
    span(t, 1, 1, -1, 100, 101, 120, 121);
    span(t, 2, 1, -1, 122, 133, 150, 150);
    span(t, 3, 0, 136, 138, 138, 140, 145);
    timeline_arrives(t, 0, 7);
    timeline_arrives(t, 1, 8);
    timeline_awaits(t, 2, 7, 9);
    timeline_awaits(t, 3, 8, 9);
    timeline_name_counters(t, 7, 9, "parts");
    timeline_name_task(t, 2, "sum");
    return t;
}

#define near(a, b) ck_assert_double_eq_tol(a, b, 1e-9)

START_TEST(shares) {
    timeline *t = small();
    timeline_summary s;
    timeline_summarise(t, &s);
    near(s.total, 50);
    ck_assert_int_eq(s.rows, 2);
    ck_assert_int_eq(s.dies, 1);
    ck_assert_int_eq(s.spans, 4);
    near(s.body, (30 + 19 + 17 + 2) / 100.0);
    near(s.waiting, (1 + 11) / 100.0);
    near(s.scheduling, (2 + 1 + 1 + 2 + 5) / 100.0);
    near(s.body + s.waiting + s.scheduling + s.idle, 1);
    ck_assert_str_eq(timeline_label(t), "predicted by the machine model MI300X");
    timeline_destroy(t);
}
END_TEST

START_TEST(critical_path) {
    timeline *t = small();
    int n;
    const int *p = timeline_critical_path(t, &n);
    ck_assert_int_eq(n, 2);
    ck_assert_int_eq(p[0], 0);
    ck_assert_int_eq(p[1], 2);
    ck_assert_int_eq(t->cause[2], 0);
    ck_assert_int_eq(t->cause[3], 1);
    ck_assert_int_eq(t->before[2], 1);
    timeline_destroy(t);
}
END_TEST

START_TEST(unlinked) {
    timeline *t = timeline_create("", TIMELINE_MEASURED, "a GPU");
    int n;
    span(t, 0, 0, -1, 5, 6, 7, 8);
    ck_assert_ptr_null(timeline_critical_path(t, &n));
    ck_assert_int_eq(n, 0);
    ck_assert_str_eq(timeline_label(t), "measured on a GPU");
    timeline_destroy(t);
}
END_TEST

/* Times that no machine could have, cycles even: an answer all the same. */
START_TEST(nonsense) {
    timeline *t = timeline_create("nonsense", TIMELINE_MEASURED, "x");
    for (int i = 0; i < 50; i++) {
        span(t, i % 3, i % 4, i % 2 ? -1 : 0, 10, 10, 10, 10);
        timeline_arrives(t, i, (uint32_t)i);
        timeline_awaits(t, i, (uint32_t)(i + 1) % 50, (uint32_t)(i + 1) % 50 + 1);
    }
    timeline_awaits(t, 3, 0, UINT32_MAX);
    timeline_summary s;
    int n;
    timeline_summarise(t, &s);
    ck_assert_ptr_nonnull(timeline_critical_path(t, &n));
    ck_assert_int_le(n, 50);
    timeline_destroy(t);
}
END_TEST

/* The causes that a tree finds are those that looking at everything finds. */
START_TEST(causes) {
    enum { SPANS = 300, COUNTERS = 97 };
    uint64_t seed = (uint64_t)_i * 7919 + 1;
    timeline *t = timeline_create("causes", TIMELINE_COUNTED, "x");
    for (int i = 0; i < SPANS; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double at = i * 10 + (double)(seed >> 60);
        span(t, 0, i % 16, -1, at, at, at + 5, at + 5);
        timeline_arrives(t, i, (uint32_t)(seed >> 33) % COUNTERS * 3);
        uint32_t from = (uint32_t)(seed >> 20) % (COUNTERS * 3);
        timeline_awaits(t, i, from, from + (uint32_t)(seed >> 50) % 40);
    }
    timeline_finish(t);
    for (int k = 0; k < t->nawaits; k++) {
        double last = -1;
        for (int i = 0; i < t->narrivals; i++)
            if (t->arrival[i].counter >= t->await[k].range.from &&
                t->arrival[i].counter < t->await[k].range.to &&
                t->span[t->arrival[i].span].done > last)
                last = t->span[t->arrival[i].span].done;
        int cause = t->cause[t->await[k].span];
        if (last < 0)
            ck_assert_int_eq(cause, -1);
        else
            near(t->span[cause].done, last);
    }
    timeline_destroy(t);
}
END_TEST

START_TEST(strings) {
    static const struct {
        const char *from, *to;
    } cases[] = {{"plain", "\"plain\""},
                 {"a\"b\\c\n", "\"a\\u0022b\\u005cc\\u000a\""},
                 {"</script>", "\"\\u003c/script>\""},
                 {"\xC3\xA4", "\"\xC3\xA4\""},
                 {"\xFFx\xC3", "\"?x?\""},
                 {"\xED\xA0\x80", "\"\?\?\?\""},
                 {"\xF0\x9F\x98\x80", "\"\xF0\x9F\x98\x80\""}};
    const char *from = cases[_i].from;
    char *text;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    et_put_json(f, from);
    fclose(f);
    ck_assert_str_eq(text, cases[_i].to);
    json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);
    ck_assert(json_is_string(v));
    json_decref(v);
    free(text);
}
END_TEST

START_TEST(files) {
    char err[TIMELINE_ERR];
    timeline *t = small();
    ck_assert(!timeline_write_chrome(t, "no/such/folder/t.json", err));
    ck_assert_ptr_nonnull(strstr(err, "no/such/folder"));
    ck_assert(!timeline_write_html(&t, 1, "/dev/full/x", err));
    timeline_destroy(t);
}
END_TEST

/* ---- pages ---- */

/* A decoder's worth: layers of tasks on 304 rows in 8 dies, each layer waiting for the one before.
 */
static timeline *large(int spans) {
    enum { ROWS = 304, PER_LAYER = 2 * ROWS };
    timeline *t = timeline_create("300,000 spans", TIMELINE_PREDICTED, "MI300X");
    uint64_t seed = 1;
    double *free_at = timeline_alloc(ROWS, sizeof *free_at), layer_done = 0, done = 0;
    for (int r = 0; r < ROWS; r++)
        timeline_place_row(t, r, r % 8, r / 8);
    for (int k = 0; k < 24; k++) {
        char name[32];
        snprintf(name, sizeof name, "task_%d", k);
        timeline_name_task(t, k, name);
    }
    for (int i = 0; i < spans; i++) {
        int layer = i / PER_LAYER, row = i % ROWS;
        if (i % PER_LAYER == 0) layer_done = done;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double from = free_at[row] + 0.1, ready = from > layer_done + 0.8 ? from : layer_done + 0.8;
        double end = ready + 2 + (double)(seed >> 52) / 4096;
        span(t, layer % 24, row, -1, from, ready, end, end + 0.2);
        free_at[row] = end + 0.2;
        if (end > done) done = end;
        timeline_arrives(t, i, (uint32_t)(layer * 8 + row % 8));
        if (layer) timeline_awaits(t, i, (uint32_t)(layer - 1) * 8, (uint32_t)layer * 8);
    }
    timeline_name_counters(t, 0, (uint32_t)(spans / PER_LAYER + 1) * 8, "layer_done");
    free(free_at);
    return t;
}

static timeline *hostile(void) {
    timeline *t = timeline_create("</script><script>throw 1</script> \"&<b>\\", TIMELINE_EMULATED,
                                  "<i>'\xFF");
    for (int i = 0; i < 5; i++)
        span(t, i, i % 2, i % 2 ? i * 9 : -1, i * 10, i * 10 + 1, i * 10 + 4, i * 10 + 5);
    timeline_name_task(t, 0, "<!--<script>");
    timeline_name_task(t, 1, "a\tb\"c");
    timeline_arrives(t, 0, 3);
    timeline_awaits(t, 1, 0, 9);
    timeline_name_counters(t, 0, 9, "</SCRIPT >");
    timeline_set_dropped(t, 12345678901234u);
    t->missing = 3;
    return t;
}

static int write_page(timeline *t, const char *folder, const char *name) {
    char path[4096], err[TIMELINE_ERR];
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    snprintf(path, sizeof path, "%s/%s.html", folder, name);
    bool ok = timeline_write_html(&t, 1, path, err);
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    ok = ok && timeline_write_chrome(t, path, err);
    if (!ok) fprintf(stderr, "%s\n", err);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%s: %.2f s\n", name,
           (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec));
    timeline_destroy(t);
    return !ok;
}

static int write_pages(const char *folder) {
    timeline *alone = timeline_create("no dependencies", TIMELINE_MEASURED, "a GPU");
    for (int i = 0; i < 40; i++)
        span(alone, i % 3, i % 5, -1, i, i + 0.1, i + 0.8, i + 0.9);
    return write_page(timeline_create("nothing", TIMELINE_PREDICTED, "MI300X"), folder, "empty") |
           write_page(alone, folder, "alone") | write_page(hostile(), folder, "hostile") |
           write_page(large(300000), folder, "large");
}

int main(int argc, char **argv) {
    if (argc == 2) return write_pages(argv[1]);
    Suite *suite = suite_create("timeline");
    TCase *tc = tcase_create("timeline");
    tcase_add_test(tc, shares);
    tcase_add_test(tc, critical_path);
    tcase_add_test(tc, unlinked);
    tcase_add_test(tc, nonsense);
    tcase_add_loop_test(tc, causes, 0, 20);
    tcase_add_loop_test(tc, strings, 0, 7);
    tcase_add_test(tc, files);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
