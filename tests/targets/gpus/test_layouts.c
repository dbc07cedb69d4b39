/* The tables of what lanes hold of a product, against the instructions: fragments are filled as a
 * layout says, multiplied as the ISA's manual numbers registers, and the sums looked for where the
 * layout has them. */
#include "codegen/targets/targets.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 16, MOST_K = 64, LANES = 64, VALUES = 8 };

struct held {
    int row[VALUES], k0; /* the rows that a lane has, and their first k */
};

struct product {
    const et_layout *l;
    int wave, lane_k;
    int rows_m; /* 16, or fewer */
    struct held n[LANES], m[LANES];
    /* Which row of n and of m the sum of a lane's value is of, by what the instruction does. */
    void (*place)(const struct product *, int lane, int value, int *n, int *m);
};

static void fill(struct product *p) {
    for (int lane = 0; lane < p->wave; lane++) {
        int k0 = et_deal_lane(&p->l->k, lane) * p->lane_k;
        p->n[lane].k0 = p->m[lane].k0 = k0;
        for (int i = 0; i < et_deal_values(&p->l->n); i++)
            p->n[lane].row[i] = (et_deal_lane(&p->l->n, lane) + et_deal_value(&p->l->n, i)) & 15;
        for (int i = 0; i < et_deal_values(&p->l->m); i++)
            p->m[lane].row[i] = (et_deal_lane(&p->l->m, lane) + et_deal_value(&p->l->m, i)) & 15;
    }
}

/* Every k of every row is held; by as many lanes as any other. */
static void check_held(const struct product *p, const struct held *held, int all, int rows) {
    int count[ROWS][MOST_K] = {{0}}, k = et_layout_groups(p->l) * p->lane_k;
    for (int lane = 0; lane < p->wave; lane++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < p->lane_k; j++)
                count[held[lane].row[i]][held[lane].k0 + j]++;
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < k; j++)
            ck_assert_int_eq(count[r][j], r < all ? p->wave * rows * p->lane_k / (all * k) : 0);
}

static void check(struct product *p) {
    bool seen[ROWS][ROWS] = {{false}};
    fill(p);
    check_held(p, p->n, ROWS, et_deal_values(&p->l->n));
    check_held(p, p->m, p->rows_m, et_deal_values(&p->l->m));
    for (int lane = 0; lane < p->wave; lane++)
        for (int v = 0; v < ROWS * p->rows_m / p->wave; v++) {
            int n, m;
            p->place(p, lane, v, &n, &m);
            ck_assert_int_eq(n, et_deal_lane(&p->l->sum_n, lane) + et_deal_value(&p->l->sum_n, v));
            ck_assert_int_eq(m, et_deal_lane(&p->l->sum_m, lane) + et_deal_value(&p->l->sum_m, v));
            ck_assert(!seen[n][m]);
            seen[n][m] = true;
        }
}

/* The instruction's row I of its first operand is the one that lane I has, its column J that of
 * lane J; row I and column J of its result: */
static void mfma(const struct product *p, int lane, int v, int *n, int *m) {
    *n = p->n[lane / 16 * 4 + v].row[0];
    *m = p->m[lane % 16].row[0];
}

static void wmma_gfx11(const struct product *p, int lane, int v, int *n, int *m) {
    *n = p->n[2 * v + lane / 16].row[0];
    *m = p->m[lane % 16].row[0];
}

static void wmma_gfx12(const struct product *p, int lane, int v, int *n, int *m) {
    *n = p->n[8 * (lane / 16) + v].row[0];
    *m = p->m[lane % 16].row[0];
}

/* row_share: lane V of the lane's own sixteen. */
static void row_share(const struct product *p, int lane, int v, int *n, int *m) {
    *n = p->n[lane / 16 * 16 + v].row[0];
    *m = p->m[lane].row[0];
}

/* Rows are m: lane l has l / 4 and l / 4 + 8. Column l / 4 of instruction j is what lane l has as
 * its j-th n. Of the result lane l has columns l % 4 * 2 and the next, of both rows. */
static void mma_sync(const struct product *p, int lane, int v, int *n, int *m) {
    int column = lane % 4 * 2 + v % 2, instruction = v / 2 % 2;
    *n = p->n[column * 4].row[instruction];
    *m = p->m[lane / 4 * 4].row[v / 4];
}

/* The other way around: rows are n, columns m. */
static void mma_few(const struct product *p, int lane, int v, int *n, int *m) {
    *n = p->n[lane / 4 * 4].row[v / 2];
    *m = p->m[(lane % 4 * 2 + v % 2) * 4].row[0];
}

/* Two of those, side by side. */
static void mma_either(const struct product *p, int lane, int v, int *n, int *m) {
    *n = p->n[lane / 4 * 4].row[v / 2 % 2];
    *m = p->m[(lane % 4 * 2 + v % 2) * 4].row[v / 4];
}

static const struct {
    const char *target;
    et_dtype operand;
    void (*place)(const struct product *, int lane, int value, int *n, int *m);
} known[] = {{"gfx942", ET_E4M3, mfma},        {"gfx950", ET_E4M3, mfma},
             {"gfx1201", ET_E4M3, wmma_gfx12}, {"gfx90a", ET_BF16, mfma},
             {"gfx90a", ET_F16, mfma},         {"gfx90a", ET_F32, mfma},
             {"gfx942", ET_BF16, mfma},        {"gfx942", ET_F16, mfma},
             {"gfx942", ET_F32, mfma},         {"gfx950", ET_BF16, mfma},
             {"gfx950", ET_F16, mfma},         {"gfx950", ET_F32, mfma},
             {"gfx1100", ET_BF16, wmma_gfx11}, {"gfx1100", ET_F16, wmma_gfx11},
             {"gfx1100", ET_F32, row_share},   {"gfx1201", ET_BF16, wmma_gfx12},
             {"gfx1201", ET_F16, wmma_gfx12},  {"gfx1201", ET_F32, row_share},
             {"sm_80", ET_BF16, mma_sync},     {"sm_80", ET_F16, mma_sync},
             {"sm_80", ET_F32, mma_sync},      {"sm_90", ET_BF16, mma_sync},
             {"sm_90", ET_F16, mma_sync},      {"sm_90", ET_F32, mma_sync},
             {"sm_100", ET_BF16, mma_sync},    {"sm_100", ET_F16, mma_sync},
             {"sm_100", ET_F32, mma_sync}};
enum { KNOWN = sizeof known / sizeof *known };

START_TEST(of_targets) {
    int n = 0, few = 0;
    for (int i = 0; i < KNOWN; i++) {
        const et_target *t = et_target_find(known[i].target);
        ck_assert_ptr_nonnull(t);
        const et_fragment *f = et_target_fragment(t, known[i].operand);
        ck_assert_ptr_nonnull(f);
        struct product p = {f->layout, t->wave, f->lane_k, ROWS, .place = known[i].place};
        check(&p);
        if (!f->few) continue;
        ck_assert_int_eq(f->few->operand, f->operand);
        ck_assert_int_eq(f->few->lane_k, f->lane_k);
        p = (struct product){f->few->layout, t->wave, f->lane_k, 8, .place = mma_few};
        check(&p);
        few++;
    }
    for (int i = 0; et_target_name(i); i++)
        n += et_target_find(et_target_name(i))->nfragments;
    ck_assert_int_eq(n, KNOWN);
    ck_assert_int_eq(few, 6); /* of bf16 and f16, of NVIDIA's */
}
END_TEST

/* Products by weights that may be packed have the operands that way around, packed or not. */
START_TEST(of_either) {
    int n = 0;
    for (int i = 0; et_target_name(i); i++) {
        const et_target *t = et_target_find(et_target_name(i));
        for (int k = 0; k < t->neither; k++, n++) {
            const et_fragment *f = &t->either[k], *own = et_target_fragment(t, f->operand);
            struct product p = {f->layout, t->wave, f->lane_k, ROWS, .place = mma_either};
            check(&p);
            ck_assert_ptr_eq(et_target_maybe_packed(t, f->operand), f);
            ck_assert_ptr_null(own->packed);
            ck_assert_ptr_eq(own->few, f->few);
            ck_assert_ptr_eq(f->few->packed, f->packed);
        }
    }
    ck_assert_int_eq(n, 6); /* of bf16 and f16, of NVIDIA's */
    ck_assert(et_target_packs(et_target_find("gfx942")));
    ck_assert(!et_target_packs(et_target_find("gfx90a")));
}
END_TEST

/* The same with rows m four apart, eight of them and sixteen. */
static void mma_bare(const struct product *p, int lane, int v, int *n, int *m) {
    int column = lane % 4 * 2 + v % 2; /* of the instruction, of which lanes have four each */
    *n = p->n[lane / 4 * 4].row[v / 2 % 2];
    *m = p->m[column * 4].row[v / 4];
}

START_TEST(of_bare) {
    int n = 0;
    for (int i = 0; et_target_name(i); i++) {
        const et_target *t = et_target_find(et_target_name(i));
        for (int k = 0; k < 2 && t->bare; k++, n++) {
            const et_fragment *f = &t->bare[k], *own = et_target_fragment(t, ET_BF16);
            struct product p = {f->layout, t->wave, f->lane_k, 8 << k, .place = mma_bare};
            check(&p);
            ck_assert_int_eq(f->operand, ET_BF16);
            ck_assert_int_eq(f->lane_k, own->lane_k);
            ck_assert_int_eq(et_deal_lane(&f->layout->m, 4) - et_deal_lane(&f->layout->m, 0), 4);
        }
    }
    ck_assert_int_eq(n, 6); /* NVIDIA's */
}
END_TEST

/* Of waves that multiply together each has sixteen rows of one operand: its own by sixteen of the
 * other, every sum in one place. Registers are four for each eight of the other: two neighbours, in
 * both rows. */
START_TEST(of_groups) {
    int n = 0;
    for (int i = 0; et_target_name(i); i++) {
        const et_target *t = et_target_find(et_target_name(i));
        for (int swapped = 0; t->warpgroup && swapped < 2; swapped++, n++) {
            const et_layout *l = swapped ? t->warpgroup->rows_n : t->warpgroup->rows_m;
            const et_deal *own = swapped ? &l->sum_n : &l->sum_m;
            const et_deal *other = swapped ? &l->sum_m : &l->sum_n;
            for (int lane = 0; lane < t->wave; lane++)
                for (int v = 0; v < 256 / t->wave; v++) {
                    ck_assert_int_eq(et_deal_lane(own, lane) + et_deal_value(own, v),
                                     lane / 4 + v / 2 % 2 * 8);
                    ck_assert_int_eq(et_deal_lane(other, lane) + et_deal_value(other, v),
                                     v / 4 * 8 + lane % 4 * 2 + v % 2);
                }
        }
    }
    ck_assert_int_eq(n, 2); /* sm_90's */
}
END_TEST

int main(void) {
    Suite *s = suite_create("layouts");
    TCase *c = tcase_create("layouts");
    tcase_add_test(c, of_targets);
    tcase_add_test(c, of_either);
    tcase_add_test(c, of_bare);
    tcase_add_test(c, of_groups);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
