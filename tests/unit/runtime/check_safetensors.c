/* The safetensors reader against files that lie, and the writer against the reader. */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "tests/unit/runtime/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char good_header[] =
    "{\"__metadata__\":{\"format\":\"pt\"},"
    "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
    "\"b\":{\"dtype\":\"BF16\",\"shape\":[5],\"data_offsets\":[24,34]},"
    "\"none\":{\"dtype\":\"I32\",\"shape\":[0,7],\"data_offsets\":[34,34]},"
    "\"scalar\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[34,38]}}";
enum { GOOD_DATA = 38 };

static void data_pattern(unsigned char *data, size_t n) {
    for (size_t i = 0; i < n; i++)
        data[i] = (unsigned char)(i * 7 + 3);
}

/* Write HEADER with DATA_BYTES of data; what opening says, "" when it opens. */
static const char *verdict(const char *header, size_t data_bytes) {
    static char err[ETRT_ST_ERR];
    unsigned char data[256];
    struct etrt_st *st;
    data_pattern(data, sizeof data);
    write_safetensors(scratch("file.safetensors"), header, data, data_bytes);
    strcpy(err, "");
    if (etrt_st_open(scratch("file.safetensors"), &st, err, sizeof err)) {
        etrt_st_close(st);
        return "";
    }
    ck_assert_ptr_null(st);
    expect_in(err, "file.safetensors");
    return err;
}

START_TEST(good) {
    unsigned char data[GOOD_DATA];
    struct etrt_st *st;
    char err[ETRT_ST_ERR];
    data_pattern(data, sizeof data);
    write_safetensors(scratch("good.safetensors"), good_header, data, sizeof data);
    ck_assert_msg(etrt_st_open(scratch("good.safetensors"), &st, err, sizeof err), "%s", err);
    ck_assert_uint_eq(etrt_st_count(st), 4);
    const struct etrt_st_tensor *t = etrt_st_find(st, "b");
    ck_assert_ptr_nonnull(t);
    ck_assert_str_eq(t->dtype, "BF16");
    ck_assert_int_eq(t->rank, 1);
    ck_assert_int_eq(t->shape[0], 5);
    ck_assert_mem_eq(t->data, data + 24, 10);
    ck_assert_uint_eq(etrt_st_find(st, "none")->bytes, 0);
    ck_assert_uint_eq(etrt_st_find(st, "scalar")->bytes, 4);
    ck_assert_ptr_null(etrt_st_find(st, "c"));
    ck_assert_ptr_null(etrt_st_find(st, "__metadata__"));
    expect_in(etrt_st_path(st, t), "good.safetensors");
    etrt_st_close(st);
}
END_TEST

START_TEST(truncated_anywhere) {
    unsigned char data[GOOD_DATA];
    struct etrt_st *st;
    char err[ETRT_ST_ERR];
    size_t bytes;
    data_pattern(data, sizeof data);
    write_safetensors(scratch("whole"), good_header, data, sizeof data);
    char *whole = read_whole(scratch("whole"), &bytes);
    for (size_t n = 0; n < bytes; n++) {
        write_file(scratch("cut.safetensors"), whole, n);
        err[0] = 0;
        ck_assert_msg(!etrt_st_open(scratch("cut.safetensors"), &st, err, sizeof err),
                      "opens when cut to %zu bytes", n);
        expect_in(err, "cut.safetensors");
    }
    free(whole);
}
END_TEST

/* Every byte of the file changed in turn: whatever the answer, nothing is read outside. */
START_TEST(any_byte_wrong) {
    unsigned char data[GOOD_DATA];
    struct etrt_st *st;
    char err[ETRT_ST_ERR];
    size_t bytes;
    unsigned sum = 0;
    data_pattern(data, sizeof data);
    write_safetensors(scratch("whole"), good_header, data, sizeof data);
    char *whole = read_whole(scratch("whole"), &bytes);
    static const unsigned char values[] = {0, 0xFF, '"', '9', '{', ']'};
    for (size_t at = 0; at < bytes - sizeof data; at++) {
        char saved = whole[at];
        whole[at] = (char)values[at % sizeof values];
        write_file(scratch("wrong.safetensors"), whole, bytes);
        if (etrt_st_open(scratch("wrong.safetensors"), &st, err, sizeof err)) {
            for (size_t i = 0; i < etrt_st_count(st); i++)
                for (size_t k = 0; k < etrt_st_at(st, i)->bytes; k++)
                    sum += ((const unsigned char *)etrt_st_at(st, i)->data)[k];
            etrt_st_close(st);
        }
        whole[at] = saved;
    }
    ck_assert_uint_ne(sum, 0);
    free(whole);
}
END_TEST

START_TEST(lies) {
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {"[0,24]", "[0,20]", "tensor a: has 20 bytes of data, F32 [2, 3] needs 24"},
        {"[0,24]", "[24,0]", "tensor a: \"data_offsets\" runs backwards"},
        {"[0,24]", "[-8,16]", "tensor a: \"data_offsets\" runs backwards"},
        {"[0,24]", "[0]", "tensor a: \"data_offsets\" is not a pair"},
        {"[0,24]", "[0,24.0]", "tensor a: \"data_offsets\" is not a pair"},
        {"[0,24]", "{}", "tensor a: \"data_offsets\" is not a pair"},
        {"[24,34]", "[20,30]", "tensor b: its data overlaps"},
        {"[24,34]", "[1000,1010]", "tensor b: its data ends at 1010, the file's at 38"},
        {"[24,34]", "[9223372036854775797,9223372036854775807]", "tensor b: its data ends"},
        {"[24,34]", "[0,99999999999999999999]", "not JSON"},
        {"[2,3]", "[2,4]", "tensor a: has 24 bytes of data, F32 [2, 4] needs 32"},
        {"[2,3]", "[-2,-3]", "tensor a: an extent"},
        {"[2,3]", "[4611686018427387904,4611686018427387904]", "tensor a: \"shape\" overflows"},
        {"[2,3]", "[1,1,1,1,1,1,1,2,3]", "tensor a: has too many dimensions"},
        {"[2,3]", "6", "tensor a: \"shape\" is not an array"},
        {"[2,3]", "[\"2\",3]", "tensor a: an extent"},
        {"\"F32\"", "\"F99\"", "tensor a: dtype \"F99\" is not known"},
        {"\"F32\"", "32", "tensor a: \"dtype\" is not a string"},
        {"\"F32\"", "\"BF16\"", "tensor a: has 24 bytes of data, BF16 [2, 3] needs 12"},
        {"\"b\"", "\"a\"", "duplicate"},
        {"\"b\"", "\"\xC0\xAF\"", "not JSON"},
        {"\"b\"", "\"\\u0000\"", "not JSON"},
        {"{\"format\":\"pt\"}", "{\"format\":1}", "__metadata__"},
        {"{\"format\":\"pt\"}", "[]", "__metadata__"},
        {"{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[34,38]}", "7",
         "tensor scalar: is not described"},
        {",\"scalar\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[34,38]}", "",
         "4 bytes after the last tensor"},
    };
    ck_assert_uint_eq(sizeof cases / sizeof *cases, 26);
    char *header = replaced(good_header, cases[_i].from, cases[_i].to);
    const char *said = verdict(header, GOOD_DATA);
    expect_in(said, cases[_i].says);
    free(header);
}
END_TEST

START_TEST(hole) {
    expect_in(verdict("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
                      "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[3,5]}}",
                      5),
              "tensor b: there is a hole before its data");
}
END_TEST

/* Elements of four bits are seen as bytes of two. */
START_TEST(four_bits) {
    struct etrt_st *st;
    ck_assert_str_eq(
        verdict("{\"a\":{\"dtype\":\"F4\",\"shape\":[2,6],\"data_offsets\":[0,6]}}", 6), "");
    char err[ETRT_ST_ERR];
    ck_assert_msg(etrt_st_open(scratch("file.safetensors"), &st, err, sizeof err), "%s", err);
    const struct etrt_st_tensor *t = etrt_st_find(st, "a");
    ck_assert(t && strcmp(t->dtype, "U8") == 0 && t->rank == 2);
    ck_assert(t->shape[0] == 2 && t->shape[1] == 3 && t->bytes == 6);
    etrt_st_close(st);
    expect_in(verdict("{\"a\":{\"dtype\":\"F4\",\"shape\":[2,5],\"data_offsets\":[0,5]}}", 5),
              "not of whole bytes");
    expect_in(verdict("{\"a\":{\"dtype\":\"F4\",\"shape\":[],\"data_offsets\":[0,1]}}", 1),
              "not of whole bytes");
}
END_TEST

START_TEST(not_an_object) {
    expect_in(verdict("[]", 0), "not an object");
    expect_in(verdict("", 0), "not JSON");
    expect_in(verdict("{", 0), "not JSON");
    ck_assert_str_eq(verdict("{}", 0), "");
}
END_TEST

START_TEST(huge_header_length) {
    static const unsigned char lengths[][8] = {
        {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, /* wraps when 8 is added */
        {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F},
        {0, 0, 0, 0, 1, 0, 0, 0},
        {100, 0, 0, 0, 0, 0, 0, 0},
    };
    struct etrt_st *st;
    char err[ETRT_ST_ERR];
    write_file(scratch("huge.safetensors"), lengths[_i], 8);
    ck_assert(!etrt_st_open(scratch("huge.safetensors"), &st, err, sizeof err));
    expect_in(err, "huge.safetensors");
    expect_in(err, "header of");
}
END_TEST

START_TEST(deep_json) {
    enum { DEPTH = 200000 };
    char *header = malloc(DEPTH + 16);
    strcpy(header, "{\"a\":");
    memset(header + 5, '[', DEPTH);
    header[5 + DEPTH] = 0;
    expect_in(verdict(header, 0), "not JSON");
    free(header);
}
END_TEST

START_TEST(no_such_file) {
    struct etrt_st *st;
    char err[ETRT_ST_ERR];
    ck_assert(!etrt_st_open(scratch("absent.safetensors"), &st, err, sizeof err));
    expect_in(err, "absent.safetensors: No such file");
}
END_TEST

/* ---- indexes and directories ---- */

static void make_shards(const char *index) {
    mkdir(scratch("ck"), 0777);
    write_safetensors(scratch("ck/s1.safetensors"),
                      "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                      "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
                      "AB", 2);
    write_safetensors(scratch("ck/s2.safetensors"),
                      "{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                      "\"c\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
                      "XC", 2);
    write_file(scratch("ck/model.safetensors.index.json"), index, strlen(index));
}

START_TEST(index_and_directory) {
    struct etrt_st *st;
    char err[ETRT_ST_ERR];
    make_shards("{\"weight_map\":{\"a\":\"s1.safetensors\",\"b\":\"s2.safetensors\","
                "\"c\":\"s2.safetensors\"}}");
    const char *ways[] = {"ck", "ck/", "ck/model.safetensors.index.json"};
    ck_assert_msg(etrt_st_open(scratch(ways[_i]), &st, err, sizeof err), "%s", err);
    ck_assert_uint_eq(etrt_st_count(st), 3);
    ck_assert_int_eq(*(const char *)etrt_st_find(st, "a")->data, 'A');
    ck_assert_int_eq(*(const char *)etrt_st_find(st, "b")->data, 'X');
    expect_in(etrt_st_path(st, etrt_st_find(st, "c")), "s2.safetensors");
    etrt_st_close(st);
}
END_TEST

START_TEST(bad_index) {
    static const struct {
        const char *index, *says;
    } cases[] = {
        {"{\"weight_map\":{\"a\":\"../s1.safetensors\"}}", "\"../s1.safetensors\" is not the name"},
        {"{\"weight_map\":{\"a\":\"/etc/passwd\"}}", "is not the name"},
        {"{\"weight_map\":{\"a\":\".safetensors\"}}", "is not the name"},
        {"{\"weight_map\":{\"a\":\"\"}}", "is not the name"},
        {"{\"weight_map\":{\"a\":\"s1.bin\"}}", "is not the name"},
        {"{\"weight_map\":{\"a\":\"s3.safetensors\"}}", "s3.safetensors: No such file"},
        {"{\"weight_map\":{\"c\":\"s1.safetensors\"}}", "tensor c is not in"},
        {"{\"weight_map\":{\"a\":1}}", "a is not a string"},
        {"{\"weight_map\":[]}", "\"weight_map\" is not an object"},
        {"{}", "\"weight_map\" is not an object"},
        {"[]", "\"weight_map\" is not an object"},
        {"nonsense", "not JSON"},
    };
    ck_assert_uint_eq(sizeof cases / sizeof *cases, 12);
    struct etrt_st *st;
    char err[ETRT_ST_ERR];
    make_shards(cases[_i].index);
    ck_assert(!etrt_st_open(scratch("ck"), &st, err, sizeof err));
    expect_in(err, cases[_i].says);
}
END_TEST

START_TEST(directories) {
    struct etrt_st *st;
    char err[ETRT_ST_ERR];
    mkdir(scratch("dir"), 0777);
    ck_assert(!etrt_st_open(scratch("dir"), &st, err, sizeof err));
    expect_in(err, "no .safetensors file");
    write_safetensors(scratch("dir/x.safetensors"), "{}", "", 0);
    ck_assert(etrt_st_open(scratch("dir"), &st, err, sizeof err));
    etrt_st_close(st);
    write_safetensors(scratch("dir/y.safetensors"), "{}", "", 0);
    ck_assert(!etrt_st_open(scratch("dir"), &st, err, sizeof err));
    expect_in(err, "several");
}
END_TEST

/* ---- writing ---- */

START_TEST(round_trip) {
    static const unsigned char bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const struct etrt_st_tensor out[] = {
        {"odd", "U8", 1, {3}, bytes, 3},
        {"wide \"quoted\" \xC3\xA9", "F32", 2, {1, 2}, bytes, 8},
        {"empty", "BF16", 2, {0, 9}, NULL, 0},
        {"half", "BF16", 1, {5}, bytes, 10},
    };
    struct etrt_st *st;
    char err[ETRT_ST_ERR];
    ck_assert_msg(etrt_st_write(scratch("out.safetensors"), out, 4, err, sizeof err), "%s", err);
    ck_assert_msg(etrt_st_open(scratch("out.safetensors"), &st, err, sizeof err), "%s", err);
    ck_assert_uint_eq(etrt_st_count(st), 4);
    for (size_t i = 0; i < 4; i++) {
        const struct etrt_st_tensor *t = etrt_st_find(st, out[i].name);
        ck_assert_ptr_nonnull(t);
        ck_assert_str_eq(t->dtype, out[i].dtype);
        ck_assert_int_eq(t->rank, out[i].rank);
        ck_assert_mem_eq(t->shape, out[i].shape, (size_t)t->rank * sizeof *t->shape);
        ck_assert_uint_eq(t->bytes, out[i].bytes);
        if (t->bytes) ck_assert_mem_eq(t->data, out[i].data, t->bytes);
        ck_assert_uint_eq((uintptr_t)t->data % etrt_st_dtype_bytes(t->dtype), 0);
    }
    etrt_st_close(st);
}
END_TEST

START_TEST(refused_writes) {
    static const unsigned char bytes[16];
    const struct etrt_st_tensor twice[] = {{"a", "U8", 1, {1}, bytes, 1},
                                           {"a", "U8", 1, {1}, bytes, 1}};
    const struct etrt_st_tensor size[] = {{"a", "F32", 1, {2}, bytes, 7}};
    const struct etrt_st_tensor dtype[] = {{"a", "f32", 1, {2}, bytes, 8}};
    const struct etrt_st_tensor name[] = {{"\xFF", "U8", 1, {1}, bytes, 1}};
    char err[ETRT_ST_ERR];
    const char *path = scratch("bad.safetensors");
    ck_assert(!etrt_st_write(path, twice, 2, err, sizeof err));
    expect_in(err, "two tensors are named a");
    ck_assert(!etrt_st_write(path, size, 1, err, sizeof err));
    expect_in(err, "does not match");
    ck_assert(!etrt_st_write(path, dtype, 1, err, sizeof err));
    ck_assert(!etrt_st_write(path, name, 1, err, sizeof err));
    expect_in(err, "not UTF-8");
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert(!etrt_st_write(scratch("no/such/folder.safetensors"), twice, 1, err, sizeof err));
    expect_in(err, "No such file");
}
END_TEST

/* A write that fails leaves the old file, and no temporary one. */
START_TEST(failing_write_keeps_old_file) {
    static const unsigned char bytes[1];
    const struct etrt_st_tensor t[] = {{"a", "U8", 1, {1}, bytes, 1}};
    char err[ETRT_ST_ERR], temporary[300];
    const char *path = scratch("target.safetensors");
    mkdir(path, 0777); /* a folder cannot be replaced by a file */
    ck_assert(!etrt_st_write(path, t, 1, err, sizeof err));
    snprintf(temporary, sizeof temporary, "%s.tmp.%ld", path, (long)getpid());
    ck_assert_int_ne(access(temporary, F_OK), 0);
    ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

static void add(TCase *tc) {
    tcase_add_test(tc, good);
    tcase_add_test(tc, truncated_anywhere);
    tcase_add_test(tc, any_byte_wrong);
    tcase_add_loop_test(tc, lies, 0, 26);
    tcase_add_test(tc, hole);
    tcase_add_test(tc, four_bits);
    tcase_add_test(tc, not_an_object);
    tcase_add_loop_test(tc, huge_header_length, 0, 4);
    tcase_add_test(tc, deep_json);
    tcase_add_test(tc, no_such_file);
    tcase_add_loop_test(tc, index_and_directory, 0, 3);
    tcase_add_loop_test(tc, bad_index, 0, 12);
    tcase_add_test(tc, directories);
    tcase_add_test(tc, round_trip);
    tcase_add_test(tc, refused_writes);
    tcase_add_test(tc, failing_write_keeps_old_file);
}

int main(void) {
    return run_suite("safetensors", add, 60);
}
