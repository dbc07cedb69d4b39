/* Manifests and the ELF files around them, as untrusted input. */
#include "runtime/etrt/manifest/elf_file.h"
#include "runtime/etrt/manifest/manifest.h"
#include "runtime/etrt_abi.h"
#include "tests/unit/runtime/support.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *text; /* the probe's manifest */
static char *code; /* the probe's code object */
static size_t code_bytes;

START_TEST(good) {
    struct etrt_manifest m;
    ck_assert_msg(etrt_manifest_parse(text, strlen(text), &m) == ETRT_OK, "%s", etrt_last_error());
    ck_assert_str_eq(m.model, "probe");
    ck_assert_str_eq(m.kernel, "probe");
    ck_assert_int_eq(m.nsymbols, 3);
    ck_assert_int_eq(m.ntensors, 4);
    ck_assert_int_eq(m.tensors[0].max_bytes, 4000);
    ck_assert_int_eq(m.tensors[1].kind, ETRT_WEIGHT);
    ck_assert_int_eq(m.tensors[1].nloops, 1);
    ck_assert_int_eq(m.tensors[1].loops[0].lo, 5);
    ck_assert_int_eq(m.events[0].words, 6);
    ck_assert_int_eq(m.events[1].shape[0], 1);
    ck_assert_uint_eq(m.kernarg_bytes, sizeof(struct etrt_kernarg) + 16 + 4 * 8);
    ck_assert_int_eq(etrt_manifest_tensor(&m, "y"), 3);
    ck_assert_int_eq(etrt_manifest_symbol(&m, "Q"), -1);
    ck_assert_int_eq(m.profile_tasks, -1);
    etrt_manifest_free(&m);
}
END_TEST

static const struct {
    const char *from, *to, *says;
    etrt_status status;
} lies[] = {
    {"\"abi\": 4", "\"abi\": 1", "ABI version 1, this runtime 4", ETRT_UNSUPPORTED},
    {"\"abi\": 4", "\"abi\": \"1\"", "abi: must be an integer", ETRT_FORMAT},
    {"\"abi\": 4,", "", "abi: is missing", ETRT_FORMAT},
    {"\"target\": \"gfx942\"", "\"target\": 942", "target: must be a string", ETRT_FORMAT},
    {"\"model\": \"probe\"", "\"model\": \"\"", "model: must have 1 to 1024", ETRT_FORMAT},
    {"\"model\": \"probe\"", "\"model\": \"a\\nb\"", "control character", ETRT_FORMAT},
    {"\"workgroup\": 64", "\"workgroup\": 1025", "kernel.workgroup: 1025", ETRT_FORMAT},
    {"\"workgroup\": 64", "\"workgroup\": 0", "kernel.workgroup: 0", ETRT_FORMAT},
    {"\"lds_bytes\": 40960", "\"lds_bytes\": -1", "kernel.lds_bytes: -1", ETRT_FORMAT},
    {"\"kernel\": {", "\"kernel\": 7, \"k\": {", "kernel: must be an object", ETRT_FORMAT},
    {"\"symbols\": [", "\"models\": 7, \"symbols\": [", "models: must be an array", ETRT_FORMAT},
    {"\"symbols\": [", "\"models\": [7], \"symbols\": [", "models[0]: must be an object",
     ETRT_FORMAT},
    {"\"symbols\": [", "\"models\": [{\"name\": \"a\", \"from\": 0, \"to\": 0}], \"symbols\": [",
     "models[0].to: 0", ETRT_FORMAT},
    {"\"symbols\": [",
     "\"models\": [{\"name\": \"a\", \"from\": 0, \"to\": 1000001}], \"symbols\": [",
     "models[0].to: 1000001", ETRT_FORMAT},
    {"\"symbols\": [", "\"models\": [{\"name\": \"a.b\", \"from\": 0, \"to\": 9}], \"symbols\": [",
     "has a dot", ETRT_FORMAT},
    {"\"symbols\": [",
     "\"models\": [{\"name\": \"a\", \"from\": 0, \"to\": 9, \"done\": 64}, {\"name\": \"a\", "
     "\"from\": 0, \"to\": 9, \"done\": 68}], \"symbols\": [",
     "second model a", ETRT_FORMAT},
    {"\"symbols\": [",
     "\"models\": [{\"name\": \"a\", \"from\": 0, \"to\": 9, \"done\": 64}], \"symbols\": [",
     "\"B\" begins with the name of no model", ETRT_FORMAT},
    {"\"symbols\": [", "\"models\": [{\"name\": \"a\", \"from\": 0, \"to\": 9}], \"symbols\": [",
     "models[0].done: is missing", ETRT_FORMAT},
    {"\"symbols\": [",
     "\"models\": [{\"name\": \"a\", \"from\": 0, \"to\": 9, \"done\": 60}], \"symbols\": [",
     "models[0].done: 60", ETRT_FORMAT},
    {"\"symbols\": [",
     "\"models\": [{\"name\": \"a\", \"from\": 0, \"to\": 9, \"done\": 128}], \"symbols\": [",
     "models[0].done: 128", ETRT_FORMAT},
    {"\"symbols\": [",
     "\"models\": [{\"name\": \"a\", \"from\": 0, \"to\": 9, \"done\": 66}], \"symbols\": [",
     "is the place of no word", ETRT_FORMAT},
    {"\"lo\": 1, \"hi\": 1000", "\"lo\": 5, \"hi\": 4", "symbols[2].hi: 4", ETRT_FORMAT},
    {"\"hi\": 1000", "\"hi\": 4294967296", "symbols[2].hi", ETRT_FORMAT},
    {"\"hi\": 1000", "\"hi\": 1000, \"chunk\": 1001", "symbols[2].chunk: 1001", ETRT_FORMAT},
    {"\"hi\": 1000", "\"hi\": 1e3", "symbols[2].hi: must be an integer", ETRT_FORMAT},
    {"\"name\": \"N\"", "\"name\": \"B\"", "second symbol B", ETRT_FORMAT},
    {"\"name\": \"N\"", "\"name\": \"a/b\"", "\"a/b\" is not made of", ETRT_FORMAT},
    {"\"name\": \"y\"", "\"name\": \"../y\"", "is not made of", ETRT_FORMAT},
    {"\"name\": \"y\"", "\"name\": \"x\"", "second tensor x", ETRT_FORMAT},
    {"\"kind\": \"state\"", "\"kind\": \"stat\"", "tensors[2].kind: \"stat\"", ETRT_FORMAT},
    {"\"dtype\": \"f32\"", "\"dtype\": \"F32\"", "tensors[0].dtype: \"F32\"", ETRT_FORMAT},
    {"\"shape\": [4]", "\"shape\": [-4]", "tensors[2].shape[0]: -4", ETRT_FORMAT},
    {"\"shape\": [4]", "\"shape\": [4.5]", "tensors[2].shape[0]: must be", ETRT_FORMAT},
    {"\"shape\": [4]", "\"shape\": 4", "tensors[2].shape: must be an array", ETRT_FORMAT},
    {"\"shape\": [4]", "\"shape\": [1,1,1,1,1,1,1,1,1]", "has 9 elements", ETRT_FORMAT},
    {"\"shape\": [4]", "\"shape\": [\"Q\"]", "\"Q\" is not a symbol", ETRT_FORMAT},
    {"\"shape\": [4]", "\"shape\": [\"N 0 /\"]", "divides by zero", ETRT_FORMAT},
    {"\"shape\": [4]", "\"shape\": [\"0 N -\"]", "dimension 0 is -1000", ETRT_FORMAT},
    {"\"shape\": [4]", "\"shape\": [70368744177664, 70368744177664, 70368744177664]", "larger than",
     ETRT_FORMAT},
    {"\"shape\": [4]", "\"shape\": [17592186044416]", "all tensors take more", ETRT_FORMAT},
    {"\"shape\": [2, 3], \"source\"", "\"shape\": [2, \"N\"], \"source\"", "depends on a symbol",
     ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\"", "\"source\": \"model.{k}.w\"",
     "names something that is no loop", ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\"", "\"source\": \"model.{4*l+k}.w\"",
     "names something that is no loop", ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\"", "\"source\": \"model.{4*l+}.w\"", "names something",
     ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\"", "\"source\": \"model.{4}.w\"", "names something", ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\"", "\"source\": \"model.{l.w\"", "names something", ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\"", "\"source\": \"model.l}.w\"", "names something", ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\",", "", "source: is missing", ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\"", "\"packed\": 63, \"source\": \"model.{l}.w\"", "packed: 63",
     ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\"", "\"packed\": 64, \"source\": \"model.{l}.w\"",
     "is no weight of 16 bits that has rows", ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\"", "\"order\": [1, 0], \"source\": \"model.{l}.w\"",
     "order[0]: dimension 1 cannot be here", ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\"", "\"order\": [0, 0], \"source\": \"model.{l}.w\"",
     "order[1]: dimension 0 cannot be here", ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\"", "\"order\": [0, 2], \"source\": \"model.{l}.w\"", "order[1]: 2",
     ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\"", "\"order\": [0], \"source\": \"model.{l}.w\"",
     "must have 2 dimensions", ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\"", "\"order\": [0, 1], \"zeros\": 64, \"source\": \"model.{l}.w\"",
     "of a weight with \"zeros\"", ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\"", "\"host\": 0, \"source\": \"model.{l}.w\"", "host: 0",
     ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\"", "\"host\": 1, \"source\": \"model.{l}.w\"",
     "has no entries of 16 bytes", ETRT_FORMAT},
    {"\"source\": \"model.{l}.w\"", "\"host\": 2, \"source\": \"model.{l}.w\"",
     "has no entries of 16 bytes", ETRT_FORMAT},
    {"[[\"l\", 5, 7]]", "[[\"l\", 5, 8]]", "5..8 does not match dimension 0", ETRT_FORMAT},
    {"[[\"l\", 5, 7]]", "[[\"l\", 5]]", "must be [name, lo, hi]", ETRT_FORMAT},
    {"[[\"l\", 5, 7]]", "[[\"l\",5,7],[\"m\",0,3],[\"n\",0,1]]", "has 3 elements", ETRT_FORMAT},
    {"\"workspace_bytes\":              256", "\"workspace_bytes\": 9223372036854775807",
     "workspace_bytes", ETRT_FORMAT},
    {"\"workspace_bytes\":              256", "\"workspace_bytes\": -1", "workspace_bytes: -1",
     ETRT_FORMAT},
    {"\"offset\": 64", "\"offset\": 257", "temporaries[0].offset: 257", ETRT_FORMAT},
    {"\"offset\": 64", "\"offset\": 65", "temporaries[0]: h ends past the workspace", ETRT_FORMAT},
    {"\"offset\": 64", "\"offset\": -1", "temporaries[0].offset: -1", ETRT_FORMAT},
    {"[\"N\", 1, 48]", "[\"N\", 1, 49]", "temporaries[0]: h ends past", ETRT_FORMAT},
    {"[\"N\", 1, 48]", "[\"N\", 0, 48]", "temporaries[0].when: 0 is outside", ETRT_FORMAT},
    {"[\"N\", 1, 48]", "[\"N\", 9, 8]", "temporaries[0].when: 8 is outside", ETRT_FORMAT},
    {"[\"N\", 1, 48]", "[\"Q\", 1, 48]", "temporaries[0].when: \"Q\" is not a symbol", ETRT_FORMAT},
    {"[\"N\", 1, 48]", "[\"N\", 1]", "must be [symbol, lo, hi]", ETRT_FORMAT},
    {"\"event_words\": 64", "\"event_words\": 31", "event_words: 31", ETRT_FORMAT},
    {"\"event_words\": 64", "\"event_words\": 36", "event e0 is not inside", ETRT_FORMAT},
    {"\"base\": 32", "\"base\": 31", "event e0 is not inside", ETRT_FORMAT},
    {"\"base\": 32", "\"base\": 60", "event e0 is not inside", ETRT_FORMAT},
    {"\"base\": 32, \"shape\": [2, 3]", "\"base\": 32, \"shape\": [4294967296, 4294967296]",
     "event e0 is not inside", ETRT_FORMAT},
    {"{ \"name\": \"load\" }", "\"load\"", "tasks[0]: must be an object", ETRT_FORMAT},
    {"\"tasks\"", "\"task\"", "tasks: is missing", ETRT_FORMAT},
    {"\"tasks\"", "\"kernels\": 7, \"tasks\"", "kernels: must be an array", ETRT_FORMAT},
    {"\"tasks\"", "\"kernels\": [], \"tasks\"", "kernels: there is none", ETRT_FORMAT},
    {"\"tasks\"", "\"kernels\": [7], \"tasks\"", "kernels[0]: must be an object", ETRT_FORMAT},
    {"\"tasks\"", "\"kernels\": [{\"task\": 0, \"lds_bytes\": 0}], \"tasks\"",
     "kernels[0].symbol: is missing", ETRT_FORMAT},
    {"\"tasks\"", "\"kernels\": [{\"symbol\": \"k\", \"task\": 2, \"lds_bytes\": 0}], \"tasks\"",
     "kernels[0].task: 2", ETRT_FORMAT},
    {"\"tasks\"",
     "\"kernels\": [{\"symbol\": \"k\", \"task\": 0, \"lds_bytes\": 40961}], \"tasks\"",
     "kernels[0].lds_bytes: 40961", ETRT_FORMAT},
    {"\"tasks\"",
     "\"kernels\": [{\"symbol\": \"k\", \"task\": 0, \"lds_bytes\": 0, \"tiles\": [\"Q\"]}], "
     "\"tasks\"",
     "kernels[0].tiles[0]", ETRT_FORMAT},
    {"\"tasks\"", "\"kernels\": [{\"symbol\": \"k\", \"task\": 0, \"lds_bytes\": 0}], \"tasks\"",
     "sequences: is missing", ETRT_FORMAT},
    {"\"tasks\"",
     "\"kernels\": [{\"symbol\": \"k\", \"task\": 0, \"lds_bytes\": 0}], \"sequences\": [], "
     "\"tasks\"",
     "sequences: there is none", ETRT_FORMAT},
    {"\"tasks\"",
     "\"kernels\": [{\"symbol\": \"k\", \"task\": 0, \"lds_bytes\": 0}], \"sequences\": [{\"run\": "
     "[]}], \"tasks\"",
     "it runs no kernel", ETRT_FORMAT},
    {"\"tasks\"",
     "\"kernels\": [{\"symbol\": \"k\", \"task\": 0, \"lds_bytes\": 0}], \"sequences\": [{\"run\": "
     "[1]}], \"tasks\"",
     "sequences[0].run[0]: 1", ETRT_FORMAT},
    {"\"tasks\"",
     "\"kernels\": [{\"symbol\": \"k\", \"task\": 0, \"lds_bytes\": 0}], \"sequences\": [{\"run\": "
     "[{\"times\": -1, \"run\": [0]}]}], \"tasks\"",
     "times: -1", ETRT_FORMAT},
    {"\"tasks\"",
     "\"kernels\": [{\"symbol\": \"k\", \"task\": 0, \"lds_bytes\": 0}], \"sequences\": [{\"run\": "
     "[{\"times\": [4], \"run\": [0]}]}], \"tasks\"",
     "times: must be a number or [most, iterations of a launch]", ETRT_FORMAT},
    {"\"tasks\"",
     "\"kernels\": [{\"symbol\": \"k\", \"task\": 0, \"lds_bytes\": 0}], \"sequences\": [{\"run\": "
     "[{\"times\": [4, \"Q\"], \"run\": [0]}]}], \"tasks\"",
     "times[1]", ETRT_FORMAT},
    {"\"tasks\"",
     "\"kernels\": [{\"symbol\": \"k\", \"task\": 0, \"lds_bytes\": 0}], \"sequences\": [{\"run\": "
     "[{\"times\": [4, \"N\"], \"run\": [0]}, {\"times\": [-1, \"N\"], \"run\": []}]}], "
     "\"tasks\"",
     "times[0]: -1", ETRT_FORMAT},
    {"\"tasks\"",
     "\"kernels\": [{\"symbol\": \"k\", \"task\": 0, \"lds_bytes\": 0}], \"sequences\": [{\"run\": "
     "[{\"times\": 1048576, \"run\": [0, 0]}]}], \"tasks\"",
     "more than 1048576 launches", ETRT_FORMAT},
    {"\"tasks\"",
     "\"kernels\": [{\"symbol\": \"k\", \"task\": 0, \"lds_bytes\": 0}], \"sequences\": "
     "[{\"upto\": [\"Q\", 1], \"run\": [0]}], \"tasks\"",
     "\"Q\" is not a symbol", ETRT_FORMAT},
    {"\"tasks\"",
     "\"kernels\": [{\"symbol\": \"k\", \"task\": 0, \"lds_bytes\": 0}], \"sequences\": "
     "[{\"upto\": [\"N\", 9], \"run\": [0]}], \"tasks\"",
     "none is for the upper bound of N", ETRT_FORMAT},
    {"\"tasks\"",
     "\"kernels\": [{\"symbol\": \"k\", \"task\": 0, \"lds_bytes\": 0}], \"sequences\": "
     "[{\"workgroups\": 9, \"run\": [0]}], \"tasks\"",
     "none is for the upper bound of workgroups", ETRT_FORMAT},
    {"\"tasks\"",
     "\"kernels\": [{\"symbol\": \"k\", \"task\": 0, \"lds_bytes\": 0}], \"sequences\": "
     "[{\"workgroups\": 0, \"run\": [0]}], \"tasks\"",
     "sequences[0].workgroups: 0 is outside", ETRT_FORMAT},
    {"\"tasks\"", "\"profile\": 5, \"tasks\"", "profile: must be an object", ETRT_FORMAT},
    {"\"tasks\"", "\"profile\": {}, \"tasks\"", "profile.tasks: is missing", ETRT_FORMAT},
    {"\"tasks\"", "\"profile\": {\"tasks\": -1}, \"tasks\"", "profile.tasks: -1", ETRT_FORMAT},
    {"\"tasks\"", "\"profile\": {\"tasks\": 1073741825}, \"tasks\"", "profile.tasks: 1073741825",
     ETRT_FORMAT},
    {"\"etcc\"", "\"abi\"", "duplicate", ETRT_FORMAT},
    {"\"schedule\"", "\"\xED\xA0\x80\"", "not JSON", ETRT_FORMAT},
};
enum { LIES = sizeof lies / sizeof *lies };

/* Launches run the first sequence that neither their dims nor their workgroups pass. */
START_TEST(widths) {
    static const struct {
        int64_t n;
        uint32_t workgroups;
        int kernel;
    } of[] = {{1, 1, 0}, {1, 63, 0}, {1, 64, 1}, {4, 68, 1}, {5, 68, 2}, {5, 64, 2}, {1, 69, 3}};
    struct etrt_manifest m;
    char *changed = replaced(
        text, "\"tasks\"",
        "\"kernels\": [{\"symbol\": \"a\", \"task\": 0, \"lds_bytes\": 0}, {\"symbol\": \"b\", "
        "\"task\": 0, \"lds_bytes\": 0}, {\"symbol\": \"c\", \"task\": 0, \"lds_bytes\": 0}, "
        "{\"symbol\": \"d\", \"task\": 0, \"lds_bytes\": 0}], \"sequences\": [{\"workgroups\": 63, "
        "\"run\": [0]}, {\"upto\": [\"N\", 4], \"workgroups\": 68, \"run\": [1]}, "
        "{\"workgroups\": 68, \"run\": [2]}, {\"run\": [3]}], \"tasks\"");
    ck_assert_msg(etrt_manifest_parse(changed, strlen(changed), &m) == ETRT_OK, "%s",
                  etrt_last_error());
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        int64_t values[ETRT_MAX_RANK] = {0};
        values[etrt_manifest_symbol(&m, "N")] = of[i].n;
        ck_assert_int_eq(etrt_manifest_sequence(&m, values, of[i].workgroups)->steps[0].kernel,
                         of[i].kernel);
    }
    etrt_manifest_free(&m);
    free(changed);
}
END_TEST

START_TEST(lie) {
    struct etrt_manifest m;
    char *changed = replaced(text, lies[_i].from, lies[_i].to);
    ck_assert_int_eq(etrt_manifest_parse(changed, strlen(changed), &m), lies[_i].status);
    expect_in(etrt_last_error(), "manifest: ");
    expect_in(etrt_last_error(), lies[_i].says);
    ck_assert_ptr_null(m.tensors);
    free(changed);
}
END_TEST

/* Of a weight that four devices divide: 3 elements each, or for two of them, in all or from 5 on
 * of 40. */
static const struct {
    const char *cut, *says; /* NULL: it is right */
} cuts[] = {
    {"\"cut\": 1", NULL},
    {"\"cut\": 1, \"repeat\": 2", NULL},
    {"\"cut\": 1, \"from\": 5, \"of\": 17", NULL},
    {"\"cut\": 1, \"repeat\": 2, \"from\": 5, \"of\": 11", NULL},
    {"\"cut\": 0", "cannot be cut along dimension 0"},
    {"\"cut\": 2", "cannot be cut along dimension 2"},
    {"\"cut\": 1, \"repeat\": 3", "no parts that 3 share"},
    {"\"cut\": 1, \"repeat\": 4", "no parts that 4 share"},
    {"\"cut\": 1, \"repeat\": 0", "repeat: 0"},
    {"\"cut\": 1, \"from\": 5, \"of\": 16", "no piece of 16"},
    {"\"cut\": 1, \"from\": 41, \"of\": 40", "no piece of 40"},
    {"\"cut\": 1, \"of\": 40", "from: is missing"},
    {"\"cut\": 1, \"from\": -1, \"of\": 40", "from: -1"},
};
enum { CUTS = sizeof cuts / sizeof *cuts };

START_TEST(cut) {
    struct etrt_manifest m;
    char to[200];
    snprintf(to, sizeof to, "\"loops\": [[\"l\", 5, 7]], %s }", cuts[_i].cut);
    char *part = replaced(text, "\"loops\": [[\"l\", 5, 7]] }", to);
    char *all =
        replaced(part, "\"abi\": 4",
                 "\"abi\": 13, \"devices\": {\"count\": 4, \"inbox_bytes\": 0, \"launches\": 1}");
    etrt_status st = etrt_manifest_parse(all, strlen(all), &m);
    ck_assert_msg(st == (cuts[_i].says ? ETRT_FORMAT : ETRT_OK), "%s", etrt_last_error());
    if (cuts[_i].says)
        expect_in(etrt_last_error(), cuts[_i].says);
    else
        ck_assert_int_eq(etrt_parts(&m, &m.tensors[1]), strstr(cuts[_i].cut, "repeat") ? 2 : 4);
    if (!cuts[_i].says) etrt_manifest_free(&m);
    free(all);
    free(part);
}
END_TEST

START_TEST(truncated_text) {
    struct etrt_manifest m;
    size_t whole = strlen(text);
    while (whole && text[whole - 1] != '}')
        whole--;
    for (size_t n = 0; n < whole; n++)
        ck_assert_int_eq(etrt_manifest_parse(text, n, &m), ETRT_FORMAT);
    ck_assert_int_eq(etrt_manifest_parse(text, whole, &m), ETRT_OK);
    etrt_manifest_free(&m);
}
END_TEST

/* ---- ELF ---- */

/* Ask everything the runtime asks of an ELF file. */
static bool all_answers(const char *bytes, size_t n) {
    struct etrt_manifest m;
    uint64_t a, b;
    bool ok = etrt_elf_symbol(bytes, n, "probe.kd", &a) == ETRT_OK;
    ok = etrt_elf_extent(bytes, n, &a, &b) == ETRT_OK && ok;
    if (etrt_manifest_of_code(bytes, n, &m) != ETRT_OK) return false;
    etrt_manifest_free(&m);
    return ok;
}

START_TEST(elf_good) {
    uint64_t lo, hi, kd;
    ck_assert(all_answers(code, code_bytes));
    ck_assert_int_eq(etrt_elf_extent(code, code_bytes, &lo, &hi), ETRT_OK);
    ck_assert_int_eq(etrt_elf_symbol(code, code_bytes, "probe.kd", &kd), ETRT_OK);
    ck_assert(lo <= kd && kd < hi);
    ck_assert_int_eq(etrt_elf_symbol(code, code_bytes, "nope.kd", &kd), ETRT_FORMAT);
}
END_TEST

/* Copies of exactly N bytes, so that a sanitizer sees a read past the end. */
START_TEST(elf_truncated) {
    for (size_t n = 0; n < code_bytes; n += n < 512 ? 1 : 61) {
        char *copy = malloc(n + !n);
        memcpy(copy, code, n);
        ck_assert(!all_answers(copy, n));
        free(copy);
    }
}
END_TEST

START_TEST(elf_any_byte_wrong) {
    char *copy = malloc(code_bytes);
    unsigned answered = 0;
    for (size_t at = 0; at < code_bytes; at++) {
        memcpy(copy, code, code_bytes);
        copy[at] = (char)(copy[at] ^ (at % 3 ? 0xFF : 0x80));
        answered += all_answers(copy, code_bytes);
    }
    ck_assert_uint_ne(answered, 0);
    free(copy);
}
END_TEST

START_TEST(elf_of_something_else) {
    struct etrt_manifest m;
    size_t n;
    char *self = read_whole("/proc/self/exe", &n);
    ck_assert_int_eq(etrt_manifest_of_code(self, n, &m), ETRT_FORMAT);
    expect_in(etrt_last_error(), "holds no manifest");
    self[EI_CLASS] = ELFCLASS32;
    ck_assert_int_eq(etrt_manifest_of_code(self, n, &m), ETRT_FORMAT);
    expect_in(etrt_last_error(), "not 64-bit");
    free(self);
    ck_assert_int_eq(etrt_manifest_of_code("no ELF at all, but long enough to be one, if it were so"
                                           " inclined to be: 64 bytes",
                                           80, &m),
                     ETRT_FORMAT);
    expect_in(etrt_last_error(), "holds no manifest");
    ck_assert_int_eq(etrt_manifest_of_code("", 0, &m), ETRT_FORMAT);
}
END_TEST

/* ---- other files ---- */

static void finds(const char *file, size_t bytes) {
    struct etrt_manifest m;
    ck_assert_msg(etrt_manifest_of_code(file, bytes, &m) == ETRT_OK, "%s", etrt_last_error());
    ck_assert_str_eq(m.model, "probe");
    etrt_manifest_free(&m);
}

static void refuses(const char *file, size_t bytes, const char *says) {
    struct etrt_manifest m;
    char *copy =
        malloc(bytes + !bytes); /* exactly so much, so that a sanitizer sees a read past it */
    memcpy(copy, file, bytes);
    ck_assert_int_eq(etrt_manifest_of_code(copy, bytes, &m), ETRT_FORMAT);
    expect_in(etrt_last_error(), says);
    free(copy);
}

/* Anywhere among other bytes, behind what only looks like the beginning of one. */
START_TEST(bytes_hold_a_frame) {
    size_t n;
    char *frame = framed(text, &n), *file = calloc(1, n + 400);
    memcpy(file, "\1\2" ETRT_MANIFEST_MAGIC "0000 too short", 30);
    memcpy(file + 100, ETRT_MANIFEST_MAGIC "00000003 00000000\nabc", ETRT_MANIFEST_HEAD + 3);
    memcpy(file + 200, frame, n);
    finds(file, n + 400);
    finds(file, n + 200);
    refuses(file, n + 199, "holds no manifest");
    file[200 + n / 2] ^= 1;
    refuses(file, n + 400, "holds no manifest");
    for (size_t k = 0; k < n; k += 13)
        refuses(frame, k, "holds no manifest");
    free(frame);
    free(file);
}
END_TEST

/* A cubin, say: an ELF file for another machine that has the frame among its data. */
START_TEST(elf_holds_a_frame) {
    size_t n;
    char *frame = framed(text, &n), *file = calloc(1, n + 100);
    Elf64_Ehdr head = {.e_machine = 190, .e_ehsize = sizeof head};
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    memcpy(file, &head, sizeof head);
    memcpy(file + 90, frame, n);
    finds(file, n + 100);
    free(frame);
    free(file);
}
END_TEST

/* As LLVM writes an array into PTX. */
static char *numbers(const char *bytes, size_t n, const char *before, const char *after) {
    char *file = malloc(strlen(before) + 6 * n + strlen(after) + 1), *p = stpcpy(file, before);
    for (size_t i = 0; i < n; i++)
        p += sprintf(p, "%s%u", i ? i % 20 ? ", " : ",\n  " : "", (unsigned char)bytes[i]);
    strcpy(p, after);
    return file;
}

START_TEST(text_holds_an_array) {
    size_t n;
    char *frame = framed(text, &n);
    static const char before[] =
        ".version 8.0\n.target sm_90\n.global .align 1 .b8 etcc_manifest[4] = {";
    char *whole = numbers(frame, n, before, "};\n.visible .entry f() { ret; }\n");
    finds(whole, strlen(whole));
    for (size_t k = sizeof before; k < strlen(whole); k += 31)
        if (k < (size_t)(strstr(whole, "};") - whole)) refuses(whole, k, "no intact manifest");
    free(whole);
    static const char *const bad[] = {"", "}", "{}", "{1,,", "{256, ", "{-1, ", "{0069, ", "{ , "};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char start[64];
        snprintf(start, sizeof start, ".b8 etcc_manifest[3] = %s", bad[i]);
        char *file = numbers(frame, strlen(bad[i]) > 2 ? n : 0, start, "}");
        refuses(file, strlen(file), "no intact manifest");
        free(file);
    }
    frame[40] ^= 1;
    char *wrong = numbers(frame, n, before, "}");
    refuses(wrong, strlen(wrong), "no intact manifest");
    free(wrong);
    free(frame);
}
END_TEST

static void add(TCase *tc) {
    tcase_add_test(tc, good);
    tcase_add_test(tc, widths);
    tcase_add_loop_test(tc, lie, 0, LIES);
    tcase_add_loop_test(tc, cut, 0, CUTS);
    tcase_add_test(tc, truncated_text);
    tcase_add_test(tc, elf_good);
    tcase_add_test(tc, elf_truncated);
    tcase_add_test(tc, elf_any_byte_wrong);
    tcase_add_test(tc, elf_of_something_else);
    tcase_add_test(tc, bytes_hold_a_frame);
    tcase_add_test(tc, elf_holds_a_frame);
    tcase_add_test(tc, text_holds_an_array);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    text = read_whole(argv[1], NULL);
    code = read_whole(argv[2], &code_bytes);
    int failed = run_suite("manifest", add, 60);
    free(text);
    free(code);
    return failed;
}
