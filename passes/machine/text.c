/* Reading a .machine file: a table of fields, each given once. */
#include "passes/machine/lines.h"
#include "passes/machine/machine.h"
#include <stddef.h>
#include <string.h>

enum kind { TEXT, COUNT, NUMBER };

struct field {
    const char *key;
    size_t at;
    enum kind kind;
    double lo, hi; /* of a text: its length */
    const char *what;
};

#define AT(key) #key, offsetof(et_machine, key)

static const struct field fields[] = {
    {AT(name), TEXT, 1, 40, NULL},
    {AT(target), TEXT, 1, 20, NULL},
    {AT(source), TEXT, 1, 400, NULL},
    {AT(cus), COUNT, 1, 4096, "compute units, all dies together"},
    {AT(dies), COUNT, 1, 64, "dies, each with an L2 of its own"},
    {AT(shader_engines), COUNT, 1, 64, "shader engines of a die"},
    {AT(waves), COUNT, 1, 16, "waves of a workgroup"},
    {AT(wave_size), COUNT, 32, 64, "lanes of a wave"},
    {AT(k_bytes), COUNT, 16, 1024, "bytes of a row that a round of matrix loads covers"},
    {AT(group_waves), COUNT, 0, 16, "waves that multiply together, 0 where each does by itself"},
    {AT(local_copies), COUNT, 0, 1, "1: memory is copied to LDS past the registers"},
    {AT(lds_bytes), COUNT, 16384, 1 << 20, "bytes of LDS that a workgroup may use"},
    {AT(clock_ghz), NUMBER, 0.1, 20, "GHz"},
    {AT(issue_cycles), NUMBER, 0.1, 100, "clocks between instructions of a wave"},
    {AT(matrix_tflops), NUMBER, 0.01, 1e6, "dense bf16, whole chip"},
    {AT(f32_matrix_tflops), NUMBER, 0.01, 1e6, "f32 products, whole chip"},
    {AT(vector_tflops), NUMBER, 0.01, 1e6, "f32 vector operations, whole chip"},
    {AT(code8_ops), NUMBER, 0, 100, "instructions for a weight of 8 bits, 0 for its expression's"},
    {AT(code4_ops), NUMBER, 0, 100, "instructions for a weight of 4 bits, 0 for its expression's"},
    {AT(code8_one_ops), NUMBER, 0, 100, "the same of 8 bits with one row"},
    {AT(bare8_ops), NUMBER, 0, 100, "the same of 8 bits with up to 16 rows, without the scale"},
    {AT(bare4_ops), NUMBER, 0, 100, "the same of 4 bits"},
    {AT(hbm_gbs), NUMBER, 0.1, 1e6, "GB/s that streaming reaches"},
    {AT(crowd), NUMBER, 0, 0.9, "part of a stream lost where memory gives all that it can"},
    {AT(crowd_cache), NUMBER, 0, 10, "how much longer bytes of the cache take then, as a part"},
    {AT(stream_gbs_cu), NUMBER, 0, 1e6, "GB/s of the weight stream to a CU, 0: as cache_gbs_cu"},
    {AT(die_gbs), NUMBER, 0.1, 1e6, "GB/s from memory to one die alone"},
    {AT(cross_gbs), NUMBER, 0.1, 1e6, "GB/s from other dies to one"},
    {AT(link_gbs), NUMBER, 0.1, 1e5, "GB/s to another device, one way"},
    {AT(system_us), NUMBER, 0, 1e4, "us, fences among devices beside those of one"},
    {AT(cache_mb), NUMBER, 0.01, 1e6, "MB in front of memory"},
    {AT(cache_gbs_cu), NUMBER, 0.1, 1e6, "GB/s from the nearest cache to a CU"},
    {AT(copy_gbs_cu), NUMBER, 0.1, 1e6, "GB/s from there to a CU by copies of a pipeline"},
    {AT(load_kb), NUMBER, 0.1, 1e5, "KiB that a workgroup has in flight"},
    {AT(stream_kb), COUNT, 0, 64, "KiB of a slot of a ring of weights, 0 for no ring"},
    {AT(flight_kb), COUNT, 1, 1 << 10, "most KiB of the weight stream in flight"},
    {AT(prefetch_kb), COUNT, 0, 1 << 10,
     "KiB of weights that a CU has in a cache ahead of its ring"},
    {AT(stream_us), NUMBER, 0, 1e4, "us that a task takes longer with a ring"},
    {AT(latency_us), NUMBER, 1e-4, 1e4, "us, a dependent load from memory"},
    {AT(cache_latency_us), NUMBER, 1e-4, 1e4,
     "us, a dependent load of what tasks have just written"},
    {AT(event_us), NUMBER, 1e-4, 1e4, "us, a notify on one die to a waiter on another"},
    {AT(counter_die_us), NUMBER, 1e-4, 1e4, "us, an arrival to a poller of the die"},
    {AT(counter_us), NUMBER, 1e-4, 1e4, "us, the same across dies"},
    {AT(arrival_us), NUMBER, 1e-4, 1e4, "us between arrivals at one counter"},
    {AT(release_us), NUMBER, 1e-4, 1e4, "us to make stores visible to other dies"},
    {AT(flag_us), NUMBER, 0, 1e4, "us that a task takes longer for taking words with tags"},
    {AT(acquire_us), NUMBER, 1e-4, 1e4, "us to forget what other dies have written"},
    {AT(fence_die_us), NUMBER, 1e-4, 1e4, "us, either within a die"},
    {AT(notify_us), NUMBER, 0, 1e4, "us, a task's end to its arrival; 0: release_us"},
    {AT(seen_us), NUMBER, 0, 1e4, "us, an arrival to the next task; 0: counter_us, acquire_us"},
    {AT(atomic_us), NUMBER, 1e-4, 1e4, "us, there and back"},
    {AT(pop_us), NUMBER, 1e-4, 1e4, "us to take a task from a ring"},
    {AT(pop_gap_us), NUMBER, 1e-4, 1e4, "us between pops of one ring"},
    {AT(launch_us), NUMBER, 1e-4, 1e5, "us, a kernel"},
    {AT(graph_us), NUMBER, 1e-4, 1e5, "us between kernels of a graph"},
    {AT(mask_us), NUMBER, 0, 1e5, "us to change the CU mask of a queue"},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static int find(const char *key) {
    for (int i = 0; i < FIELDS; i++)
        if (strcmp(fields[i].key, key) == 0) return i;
    return -1;
}

/* False where the value is not a number of the field's kind, or outside its range. */
static bool set_number(et_machine *m, const struct field *f, const char *value) {
    int64_t n = 0;
    double x = 0;
    if (f->kind == COUNT ? !et_line_int(value, &n) : !et_line_number(value, &x)) return false;
    if (f->kind == COUNT) x = (double)n;
    if (x < f->lo || x > f->hi) return false;
    if (f->kind == COUNT)
        *(int *)((char *)m + f->at) = (int)n;
    else
        *(double *)((char *)m + f->at) = x;
    return true;
}

static void set(et_lines *l, et_machine *m, const struct field *f, const et_line *line) {
    if (f->kind == TEXT) {
        if (*line->value && strlen(line->value) <= (size_t)f->hi)
            *(const char **)((char *)m + f->at) = line->value;
        else
            et_diag(l->diags, ET_ERROR, line->value_loc, "%s is a text of 1 to %.0f bytes", f->key,
                    f->hi);
    } else if (!set_number(m, f, line->value)) {
        et_diag(l->diags, ET_ERROR, line->value_loc, "%s is %s from %.10g to %.10g (%s)", f->key,
                f->kind == COUNT ? "a whole number" : "a number", f->lo, f->hi, f->what);
    }
}

/* Checks that involve several fields. */
static void check(et_lines *l, const et_machine *m, const et_loc *at) {
    if (m->wave_size != 32 && m->wave_size != 64)
        et_diag(l->diags, ET_ERROR, at[find("wave_size")], "a wave has 32 or 64 lanes");
    if (m->cus % m->dies)
        et_diag(l->diags, ET_ERROR, at[find("dies")],
                "%d CUs cannot be divided evenly by %d dies: give the CUs that all dies have",
                m->cus, m->dies);
    if (m->k_bytes % 16)
        et_diag(l->diags, ET_ERROR, at[find("k_bytes")], "k_bytes is a multiple of 16");
}

static void check_missing(et_lines *l, const et_loc *at) {
    const char *missing = "";
    for (int i = 0; i < FIELDS; i++)
        if (!at[i].line)
            missing = et_printf(l->arena, "%s%s %s", missing, *missing ? "," : "", fields[i].key);
    if (*missing)
        et_diag(l->diags, ET_ERROR, (et_loc){.file = l->file, .line = l->line}, "missing:%s",
                missing);
}

const et_machine *et_machine_parse(et_arena *arena, et_diags *d, const char *file_name,
                                   const char *text, size_t bytes) {
    et_lines l;
    et_line line;
    et_loc at[FIELDS] = {{0}};
    int before = et_diag_errors(d);
    et_machine *m = et_alloc(arena, sizeof *m);
    m->file = et_strdup(arena, file_name);
    m->occupancy = 1;
    if (!et_lines_open(&l, arena, d, file_name, text, bytes)) return NULL;
    while (et_lines_next(&l, &line)) {
        int i = find(line.key);
        if (i < 0) {
            et_diag(d, ET_ERROR, line.key_loc, "unknown key '%s'", line.key);
        } else if (at[i].line) {
            et_diag(d, ET_ERROR, line.key_loc, "%s is given twice", line.key);
            et_diag(d, ET_NOTE, at[i], "here for the first time");
        } else {
            at[i] = line.value_loc;
            set(&l, m, &fields[i], &line);
        }
    }
    check_missing(&l, at);
    if (et_diag_errors(d) == before) check(&l, m, at);
    return et_diag_errors(d) == before ? m : NULL;
}

bool et_machine_set(et_machine *m, const char *key, double value) {
    int i = find(key);
    et_check(i >= 0 && fields[i].kind == NUMBER);
    if (!(value >= fields[i].lo && value <= fields[i].hi)) return false;
    *(double *)((char *)m + fields[i].at) = value;
    return true;
}

void et_machine_print(const et_machine *m, FILE *to, et_machine_comment comment, void *ctx) {
    for (int i = 0; i < FIELDS; i++) {
        const char *at = (const char *)m + fields[i].at, *said = comment(ctx, fields[i].key);
        char value[32];
        if (fields[i].kind == TEXT) {
            fprintf(to, "%-18s %s\n", fields[i].key, *(const char *const *)at);
            continue;
        }
        if (fields[i].kind == COUNT)
            snprintf(value, sizeof value, "%d", *(const int *)at);
        else
            snprintf(value, sizeof value, "%.4g", *(const double *)at);
        fprintf(to, said ? "%-18s %-13s # %s\n" : "%-18s %s\n", fields[i].key, value, said);
    }
}
