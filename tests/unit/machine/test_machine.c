/* Machines: those that come with etcc, and texts that are none. */
#include "passes/machine/lines.h"
#include "passes/machine/machine.h"
#include "tests/unit/ir/main.h"
#include <stdlib.h>
#include <string.h>

struct asked {
    et_arena *arena;
    et_diags *d;
    const et_machine *m;
};

static struct asked ask(void) {
    struct asked a = {.arena = et_arena_create()};
    a.d = et_diags_create(a.arena);
    return a;
}

static struct asked parse(const char *text, size_t bytes) {
    struct asked a = ask();
    a.m = et_machine_parse(a.arena, a.d, "mine.machine", text, bytes);
    return a;
}

static char *said(struct asked *a) {
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    et_diag_print(a->d, f);
    fclose(f);
    return text;
}

static void done(struct asked *a) {
    et_arena_destroy(a->arena);
}

static char *read_text(const char *name) {
    struct asked a = ask();
    size_t bytes;
    const char *text = et_lines_read(a.arena, a.d, name, &bytes);
    ck_assert_ptr_nonnull(text);
    char *copy = strdup(text);
    done(&a);
    return copy;
}

/* The text of the MI210 with the line of KEY replaced by LINE ("" leaves it out), LINE at the end
 * where KEY is NULL. */
static char *with(const char *key, const char *line) {
    char *text = read_text(MACHINES "/mi210.machine"), *out = NULL;
    size_t n;
    FILE *f = open_memstream(&out, &n);
    char *rest = text;
    for (char *l; (l = strsep(&rest, "\n"));) {
        bool is = key && strncmp(l, key, strlen(key)) == 0 && l[strlen(key)] == ' ';
        if (!is || *line) fprintf(f, "%s\n", is ? line : l);
    }
    if (!key) fprintf(f, "%s\n", line);
    fclose(f);
    free(text);
    return out;
}

static void refuses(const char *text, size_t bytes, const char *message) {
    struct asked a = parse(text, bytes);
    char *all = said(&a);
    ck_assert_msg(!a.m, "taken, and not: %s", message);
    ck_assert_msg(strstr(all, message), "not '%s' but: %s", message, all);
    free(all);
    done(&a);
}

START_TEST(comes_with_etcc) {
    static const char *const first[][2] = {{"gfx942", "MI300X"},      {"gfx90a", "MI210"},
                                           {"gfx950", "MI355X"},      {"gfx1100", "RX 7900 XTX"},
                                           {"gfx1201", "RX 9070 XT"}, {"sm_80", "A100"},
                                           {"sm_90", "H100"},         {"sm_100", "B200"}};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        ck_assert_str_eq(et_machine_for(first[i][0])->name, first[i][1]);
    ck_assert_ptr_null(et_machine_for("gfx900"));
    const et_machine *m = et_machine_for("gfx942");
    ck_assert(m->cus == 304 && m->dies == 8 && m->shader_engines == 4 && m->lds_bytes == 65536);
    ck_assert(m->hbm_gbs == 4300 && m->counter_die_us == 0.642 && m->pop_gap_us == 0.013);
    int n = 0;
    while (et_machine_at(n))
        n++;
    ck_assert_int_eq(n, 11);
    ck_assert_ptr_null(et_machine_at(-1));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(et_machine_at(i)->name, et_machine_at(k)->name);
}
END_TEST

/* Every figure says where it is from; one die has nothing to pay between dies. */
START_TEST(sources) {
    for (int i = 0; et_machine_at(i); i++) {
        const et_machine *m = et_machine_at(i);
        char path[512];
        snprintf(path, sizeof path, "%s/%s", MACHINES, m->file);
        char *text = read_text(path), *rest = text;
        for (char *l; (l = strsep(&rest, "\n"));) {
            bool words = !*l || *l == '#' || !strncmp(l, "name ", 5) || !strncmp(l, "target ", 7) ||
                         !strncmp(l, "source ", 7);
            char *comment = strchr(l, '#');
            ck_assert_msg(words || (comment && strlen(comment) > 6), "%s: no source: %s", path, l);
        }
        free(text);
        ck_assert(m->dies > 1 || (m->release_us == m->fence_die_us &&
                                  m->counter_us == m->counter_die_us && m->die_gbs == m->hbm_gbs));
        ck_assert(m->counter_us >= m->counter_die_us && m->die_gbs <= m->hbm_gbs);
        ck_assert(m->dies * m->die_gbs >= m->hbm_gbs);
    }
}
END_TEST

START_TEST(found_by_name) {
    static const char *const names[] = {"RX 7900 XTX", "rx7900xtx", "RX_7900-xtx"};
    for (int i = 0; i < 3; i++) {
        struct asked a = ask();
        ck_assert_str_eq(et_machine_find(a.arena, a.d, names[i], NULL)->name, names[0]);
        ck_assert_ptr_nonnull(et_machine_find(a.arena, a.d, names[i], "gfx1100"));
        ck_assert_int_eq(et_diag_errors(a.d), 0);
        ck_assert_ptr_null(et_machine_find(a.arena, a.d, names[i], "gfx942"));
        char *all = said(&a);
        ck_assert_ptr_nonnull(strstr(all, "machine RX 7900 XTX is a gfx1100, the code is for"));
        free(all);
        done(&a);
    }
    static const char *const wrong[][2] = {{"", "unknown machine ''"},
                                           {"MI300", "there is MI300X, a gfx942"},
                                           {"none.machine", "none.machine: No such file"},
                                           {"./", "./: is a folder"}};
    for (int i = 0; i < 4; i++) {
        struct asked a = ask();
        ck_assert_ptr_null(et_machine_find(a.arena, a.d, wrong[i][0], NULL));
        char *all = said(&a);
        ck_assert_msg(strstr(all, wrong[i][1]), "%s", all);
        free(all);
        done(&a);
    }
}
END_TEST

/* The more neighbours take, the less there is; what nobody takes costs nothing. */
START_TEST(neighbours) {
    struct asked a = ask();
    const et_machine *m = et_machine_find(a.arena, a.d, "H200", NULL);
    double last = m->stream_gbs_cu, hbm = m->hbm_gbs;
    et_machine alone = et_machine_beside(m, 1000, 0);
    ck_assert_double_eq(alone.stream_gbs_cu, m->stream_gbs_cu);
    ck_assert_double_eq(alone.cache_gbs_cu, m->cache_gbs_cu);
    ck_assert_double_eq(alone.hbm_gbs, m->hbm_gbs);
    for (int i = 1; i < 8; i++) {
        et_machine b = et_machine_beside(m, 1000, 1000 * i);
        ck_assert(b.stream_gbs_cu < last || 1000 * i >= m->hbm_gbs);
        ck_assert(b.hbm_gbs < hbm && b.hbm_gbs >= m->hbm_gbs / (1 + i) * 0.999);
        ck_assert(b.stream_gbs_cu > 0 && b.latency_us >= m->latency_us);
        ck_assert(b.cache_latency_us > m->cache_latency_us && b.copy_gbs_cu < m->copy_gbs_cu);
        last = b.stream_gbs_cu;
        hbm = b.hbm_gbs;
    }
}
END_TEST

START_TEST(takes_a_text) {
    char *text = with("name", "\tname   My GPU\t # not theirs\r");
    struct asked a = parse(text, strlen(text));
    ck_assert_ptr_nonnull(a.m);
    ck_assert_str_eq(a.m->name, "My GPU");
    ck_assert_str_eq(a.m->file, "mine.machine");
    ck_assert(a.m->cus == 104 && a.m->vector_tflops == 22.6);
    done(&a);
    free(text);
}
END_TEST

START_TEST(refuses_texts) {
    static const struct {
        const char *key, *line, *message;
    } cases[] = {
        {"cus", "cus 5000", "mine.machine:7:5: error: cus is a whole number from 1 to 4096"},
        {"cus", "cus 104.5", "cus is a whole number"},
        {"cus", "cus", "cus is a whole number"},
        {"cus", "cus 104 104", "cus is a whole number"},
        {"cus", "cus 99999999999999999999", "cus is a whole number"},
        {"dies", "dies 3", "104 CUs cannot be divided evenly by 3 dies"},
        {"wave_size", "wave_size 48", "a wave has 32 or 64 lanes"},
        {"k_bytes", "k_bytes 65", "k_bytes is a multiple of 16"},
        {"clock_ghz", "clock_ghz nan", "clock_ghz is a number from 0.1 to 20"},
        {"clock_ghz", "clock_ghz 0x1p0", "clock_ghz is a number"},
        {"clock_ghz", "clock_ghz 1e999", "clock_ghz is a number"},
        {"clock_ghz", "clock_ghz 1..7", "clock_ghz is a number"},
        {"pop_us", "", "missing: pop_us"},
        {"pop_us", "pops_us 1", "unknown key 'pops_us'"},
        {"name", "name", "name is a text of 1 to 40 bytes"},
        {"name", "name # nothing but a comment", "name is a text"},
        {"target", "target gfx900000000000000000000", "target is a text of 1 to 20 bytes"},
        {NULL, "cus 7", "cus is given twice"},
        {NULL, "source \xc3\x28", "byte 0xc3 is not text in UTF-8"},
        {NULL, "source \x01", "byte 0x01 is not text"},
        {NULL, "source \xed\xa0\x80", "byte 0xed is not text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = with(cases[i].key, cases[i].line);
        refuses(text, strlen(text), cases[i].message);
        free(text);
    }
    refuses("", 0, "missing: name, target");
    refuses("name a\0b\n", 9, "byte 0x00 is not text");
    char line[ET_LINE_BYTES + 2];
    memset(line, '#', sizeof line);
    refuses(line, sizeof line, "the line is longer than 1024 bytes");
}
END_TEST

TEST_MAIN("machines", comes_with_etcc, neighbours, sources, found_by_name, takes_a_text,
          refuses_texts)
