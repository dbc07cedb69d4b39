/* abort KERNEL.hsaco MESSAGE DIM=VALUE...: launches of a dynamic kernel that are given no time end
 * in ETRT_WAIT and say what MESSAGE, a regular expression, matches; the next launch of the same
 * session, given time, leaves the bits that one of a fresh session does. */
#include "runtime/etrt.h"
#include <check.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *kernel;
static regex_t message;
static char **dims;
static int ndims;

/* Every tensor filled by its number and place, small and never a NaN whatever the type. */
static void fill(etrt_session *s, const etrt_tensor_info *t, int number) {
    int64_t shape[ETRT_MAX_RANK], n = 1;
    int rank;
    ck_assert_int_eq(etrt_shape(s, t->name, shape, &rank), ETRT_OK);
    for (int d = 0; d < rank; d++)
        n *= shape[d];
    size_t size = t->dtype == ETRT_F32 || t->dtype == ETRT_I32 ? 4 : 2;
    char *data = calloc((size_t)n + 1, size);
    for (int64_t i = 0; i < n && t->dtype == ETRT_F32; i++)
        ((float *)data)[i] = (float)((i * 7 + number) % 13 - 6) / 8;
    if (t->kind == ETRT_INPUT)
        ck_assert_int_eq(etrt_bind(s, t->name, data, (size_t)n * size), ETRT_OK);
    else
        ck_assert_int_eq(etrt_write(s, t->name, data, (size_t)n * size), ETRT_OK);
    free(data);
}

static etrt_session *prepared(etrt_model *m) {
    etrt_session *s;
    etrt_tensor_info t;
    ck_assert_int_eq(etrt_session_create(m, &s), ETRT_OK);
    for (int i = 0; i < ndims; i++) {
        char name[64];
        long long value;
        ck_assert_int_eq(sscanf(dims[i], "%63[^=]=%lld", name, &value), 2);
        ck_assert_int_eq(etrt_set_dim(s, name, value), ETRT_OK);
    }
    for (int i = 0; etrt_model_tensor(m, i, &t) == ETRT_OK; i++)
        if (t.kind == ETRT_INPUT || t.kind == ETRT_STATE) fill(s, &t, i);
    return s;
}

/* A checksum of every output and state. */
static uint64_t outcome(etrt_model *m, etrt_session *s) {
    uint64_t sum = 14695981039346656037u;
    etrt_tensor_info t;
    for (int i = 0; etrt_model_tensor(m, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_OUTPUT && t.kind != ETRT_STATE) continue;
        int64_t shape[ETRT_MAX_RANK], n = 1;
        int rank;
        ck_assert_int_eq(etrt_shape(s, t.name, shape, &rank), ETRT_OK);
        for (int d = 0; d < rank; d++)
            n *= shape[d];
        size_t bytes = (size_t)n * (t.dtype == ETRT_F32 || t.dtype == ETRT_I32 ? 4 : 2);
        unsigned char *data = malloc(bytes + 1);
        ck_assert_int_eq(etrt_read(s, t.name, data, bytes), ETRT_OK);
        for (size_t b = 0; b < bytes; b++)
            sum = (sum ^ data[b]) * 1099511628211u;
        free(data);
    }
    return sum;
}

START_TEST(test_session_survives) {
    etrt_device *d;
    etrt_model *m;
    ck_assert_int_eq(etrt_device_open("emu:gfx942:cus=16:xcds=4:seed=1:starve=0", &d), ETRT_OK);
    ck_assert_msg(etrt_model_load(d, kernel, &m) == ETRT_OK, "%s", etrt_last_error());
    etrt_session *s = prepared(m);
    ck_assert_int_eq(etrt_run(s), ETRT_OK);
    uint64_t right = outcome(m, s);
    etrt_session_destroy(s);
    s = prepared(m);
    int aborted = 0;
    for (int k = 0; aborted < 3 && k < 300; k++) {
        ck_assert_int_eq(etrt_set_wait_limit(s, 1e-6), ETRT_OK);
        etrt_status status = etrt_run(s);
        bool ran = status == ETRT_OK; /* nobody happened to look twice */
        aborted += !ran;
        ck_assert_msg(
            ran || (status == ETRT_WAIT && !regexec(&message, etrt_last_error(), 0, NULL, 0)), "%s",
            etrt_last_error());
        etrt_tensor_info t;
        for (int i = 0; etrt_model_tensor(m, i, &t) == ETRT_OK; i++)
            if (t.kind == ETRT_STATE) fill(s, &t, i);
        if (ran) continue;
        ck_assert_int_eq(etrt_set_wait_limit(s, 60), ETRT_OK);
        ck_assert_msg(etrt_run(s) == ETRT_OK, "%s", etrt_last_error());
        ck_assert_uint_eq(outcome(m, s), right);
        for (int i = 0; etrt_model_tensor(m, i, &t) == ETRT_OK; i++)
            if (t.kind == ETRT_STATE) fill(s, &t, i);
    }
    ck_assert_int_eq(aborted, 3);
    etrt_session_destroy(s);
    etrt_model_unload(m);
    etrt_device_close(d);
}
END_TEST

int main(int argc, char **argv) {
    if (argc < 3 || regcomp(&message, argv[2], REG_EXTENDED | REG_NOSUB)) return 2;
    kernel = argv[1];
    dims = argv + 3;
    ndims = argc - 3;
    Suite *s = suite_create("abort");
    TCase *c = tcase_create("abort");
    tcase_add_test(c, test_session_survives);
    tcase_set_timeout(c, 120);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    regfree(&message);
    return failed != 0;
}
