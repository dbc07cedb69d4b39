/* Which workgroups run which model, for random shares, subsets and sizes (runtime/etrt/mix.c). */
#include "runtime/etrt/internal.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 6, WHOLE = 1000000 };

static struct etrt_mixed models[MOST];
static etrt_model model = {.manifest = {.model = (char *)"mix", .models = models}};
static bool left_out[MOST + 1];
static etrt_session session = {.model = &model, .left_out = left_out};
static uint64_t state = 7;

static uint32_t draw(uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

/* Models side by side without gaps. */
static int partition(void) {
    int n = 1 + (int)draw(MOST), at = 0;
    for (int i = 0; i < n; i++) {
        models[i].from = at;
        at = i == n - 1 ? WHOLE : at + 1 + (int)draw((uint32_t)(WHOLE - at - (n - i)));
        models[i].to = at;
    }
    return model.manifest.nmodels = n;
}

static int anyhow(void) {
    int n = 1 + (int)draw(MOST);
    for (int i = 0; i < n; i++) {
        models[i].from = draw(WHOLE);
        models[i].to = models[i].from + 1 + draw((uint32_t)(WHOLE - models[i].from));
    }
    return model.manifest.nmodels = n;
}

static int leave_out(int n) {
    int running = 0;
    for (int i = 0; i < n; i++)
        running += !(left_out[i] = draw(3) == 0);
    if (!running) left_out[draw((uint32_t)n)] = false;
    return running ? running : 1;
}

START_TEST(every_model_has_workgroups) {
    struct etrt_part part[MOST];
    for (int k = 0; k < 20000; k++) {
        int n = k % 2 ? partition() : anyhow();
        uint32_t w = 1 + draw(k % 3 ? 400 : 4);
        leave_out(n);
        etrt_mix_parts(&session, w, part);
        for (int i = 0; i < n; i++) {
            ck_assert_int_eq(part[i].count == 0, left_out[i]);
            ck_assert_uint_le(part[i].first + part[i].count, w);
        }
    }
}
END_TEST

START_TEST(all_run_as_planned) {
    struct etrt_part part[MOST];
    memset(left_out, 0, sizeof left_out);
    for (int k = 0; k < 5000; k++) {
        int n = anyhow();
        uint32_t w = 1 + draw(400);
        etrt_mix_parts(&session, w, part);
        for (int i = 0; i < n; i++)
            ck_assert_uint_eq(part[i].first,
                              (uint32_t)((uint64_t)w * (uint64_t)models[i].from / WHOLE));
    }
}
END_TEST

/* Those that run take all workgroups, in proportion to their shares, none twice. */
START_TEST(the_rest_is_lent) {
    struct etrt_part part[MOST];
    for (int k = 0; k < 20000; k++) {
        int n = partition(), running = leave_out(n);
        uint32_t w = 200 + draw(200), end = 0;
        double whole = 0;
        for (int i = 0; i < n; i++)
            whole += left_out[i] ? 0 : (double)(models[i].to - models[i].from);
        etrt_mix_parts(&session, w, part);
        for (int i = 0; i < n; i++) {
            if (left_out[i]) continue;
            double width = (double)(models[i].to - models[i].from) / whole * w;
            ck_assert(part[i].count < width + 1.01 && part[i].count > width - 1.01);
            if (width >= 1) ck_assert_uint_le(part[i].first, end);
            if (part[i].first + part[i].count > end) end = part[i].first + part[i].count;
        }
        ck_assert_uint_eq(end, w);
        if (running == 1)
            for (int i = 0; i < n; i++)
                ck_assert_uint_eq(part[i].count, left_out[i] ? 0 : w);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("parts");
    TCase *c = tcase_create("parts");
    static char names[MOST][2] = {"a", "b", "c", "d", "e", "f"};
    for (int i = 0; i < MOST; i++)
        models[i].name = names[i];
    tcase_add_test(c, every_model_has_workgroups);
    tcase_add_test(c, all_run_as_planned);
    tcase_add_test(c, the_rest_is_lent);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
