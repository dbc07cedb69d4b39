/* The machines that come with etcc: the texts of machines/, part of this file when it is built. */
#include "passes/machine/machine.h"
#include "ir/target/target.h"
#include "ir/weights/stream.h"
#include "passes/machine/lines.h"
#include <ctype.h>
#include <string.h>
#include <threads.h>

#define X(id, path)                                                                                \
    extern const char machine_##id[], machine_##id##_end[];                                        \
    __asm__(".pushsection .rodata\n"                                                               \
            "machine_" #id ": .incbin \"" path "\"\n"                                              \
            "machine_" #id "_end: .byte 0\n"                                                       \
            ".popsection");
#include "machines.inc"
#undef X

static const struct {
    const char *file, *text, *end;
} texts[] = {
#define X(id, path) {#id ".machine", machine_##id, machine_##id##_end},
#include "machines.inc"
#undef X
};
enum { MACHINES = sizeof texts / sizeof *texts };

static const et_machine *machines[MACHINES];
static et_arena *arena; /* for the life of the process */
static once_flag once = ONCE_FLAG_INIT;

static void parse_all(void) {
    arena = et_arena_create();
    et_diags *d = et_diags_create(arena);
    for (int i = 0; i < MACHINES; i++) {
        size_t bytes = (size_t)(texts[i].end - texts[i].text);
        machines[i] = et_machine_parse(arena, d, texts[i].file, texts[i].text, bytes);
        if (!machines[i]) {
            et_diag_print(d, stderr);
            et_bug("%s, which is part of etcc, is wrong", texts[i].file);
        }
    }
}

const et_machine *et_machine_at(int i) {
    call_once(&once, parse_all);
    return i >= 0 && i < MACHINES ? machines[i] : NULL;
}

const et_machine *et_machine_default(void) {
    return et_machine_at(0);
}

const et_machine *et_machine_for(const char *target) {
    const et_machine *m;
    for (int i = 0; (m = et_machine_at(i)); i++)
        if (strcmp(m->target, target) == 0) return m;
    return NULL;
}

static bool same_name(const char *a, const char *b) {
    for (;; a++, b++) {
        while (*a == ' ' || *a == '-' || *a == '_')
            a++;
        while (*b == ' ' || *b == '-' || *b == '_')
            b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
        if (!*a) return true;
    }
}

static bool is_file(const char *what) {
    size_t n = strlen(what), suffix = strlen(".machine");
    return strchr(what, '/') || (n > suffix && strcmp(what + n - suffix, ".machine") == 0);
}

static const et_machine *named(et_diags *d, const char *name) {
    const et_machine *m;
    for (int i = 0; (m = et_machine_at(i)); i++)
        if (same_name(m->name, name)) return m;
    et_diag(d, ET_ERROR, (et_loc){0}, "unknown machine '%s'", name);
    for (int i = 0; (m = et_machine_at(i)); i++)
        et_diag(d, ET_NOTE, (et_loc){0}, "there is %s, a %s", m->name, m->target);
    et_diag(d, ET_NOTE, (et_loc){0}, "or name a file of your own: ./%s.machine", name);
    return NULL;
}

/* Whether the machine has the sizes that code for its target depends on, at whatever speed. */
static bool fits_target(et_diags *d, const et_machine *m) {
    const et_machine *first = et_machine_for(m->target);
    if (!first || (m->waves == first->waves && m->wave_size == first->wave_size &&
                   m->k_bytes == first->k_bytes && m->lds_bytes == first->lds_bytes &&
                   m->group_waves == first->group_waves && m->local_copies == first->local_copies))
        return true;
    et_diag(d, ET_ERROR, (et_loc){0},
            "%s: code for %s has waves %d, wave_size %d, k_bytes %d, lds_bytes %d, group_waves %d, "
            "local_copies %d",
            m->file, m->target, first->waves, first->wave_size, first->k_bytes, first->lds_bytes,
            first->group_waves, first->local_copies);
    return false;
}

const et_machine *et_machine_find(et_arena *a, et_diags *d, const char *what, const char *target) {
    size_t bytes;
    const char *text = is_file(what) ? et_lines_read(a, d, what, &bytes) : NULL;
    const et_machine *m = text            ? et_machine_parse(a, d, what, text, bytes)
                          : is_file(what) ? NULL
                                          : named(d, what);
    if (m && !fits_target(d, m)) return NULL;
    if (!m || !target || strcmp(m->target, target) == 0) return m;
    et_diag(d, ET_ERROR, (et_loc){0}, "machine %s is a %s, the code is for %s", m->name, m->target,
            target);
    return NULL;
}

/* What a stream keeps of a CU's bandwidth while memory gives so many GB/s. */
static double kept(const et_machine *m, double gbs) {
    const double least = 0.05;
    double used = gbs < m->hbm_gbs ? gbs / m->hbm_gbs : 1, part = 1 - m->crowd * used * used * used;
    return part > least ? part : least;
}

et_machine et_machine_beside(const et_machine *m, double own, double others) {
    et_machine out = *m;
    if (!(others > 0)) return out;
    double part = kept(m, own + others) / kept(m, own), left = m->hbm_gbs - others;
    double fair = m->hbm_gbs * own / (own + others);
    double near = 1 + m->crowd_cache * others / m->hbm_gbs;
    out.hbm_gbs = left > fair ? left : fair;
    out.stream_gbs_cu *= part;
    out.latency_us /= part;
    out.cache_gbs_cu /= near;
    out.copy_gbs_cu /= near;
    out.cache_latency_us *= near;
    return out;
}

const et_machine *et_machine_share(et_arena *a, et_diags *d, const et_machine *m, int occupancy) {
    if (occupancy == m->occupancy) return m;
    int waves = m->waves / occupancy;
    if (waves * occupancy != m->waves || waves < m->group_waves || !waves) {
        et_diag(d, ET_ERROR, (et_loc){0},
                "--occupancy=%d: the %d waves of a workgroup on %s cannot be divided so", occupancy,
                m->waves, m->target);
        return NULL;
    }
    et_machine *part = et_alloc(a, sizeof *part);
    *part = *m;
    part->occupancy = occupancy;
    part->cus *= occupancy;
    part->waves = waves;
    part->lds_bytes = et_lds_share(m->lds_bytes, occupancy);
    part->stream_kb /= occupancy;
    part->load_kb /= occupancy;
    part->cache_gbs_cu /= occupancy;
    part->copy_gbs_cu /= occupancy;
    return part;
}

void et_machine_list(FILE *to) {
    const et_machine *m;
    fprintf(to, "%-12s %-8s %4s %9s %12s %5s %6s %7s  %s\n", "machine", "target", "CUs", "dies",
            "engines/die", "GHz", "GB/s", "TFLOPS", "figures");
    for (int i = 0; (m = et_machine_at(i)); i++)
        fprintf(to, "%-12s %-8s %4d %9d %12d %5.2f %6.0f %7.0f  %s\n", m->name, m->target, m->cus,
                m->dies, m->shader_engines, m->clock_ghz, m->hbm_gbs, m->matrix_tflops, m->source);
}

int et_machine_slots(const et_machine *m, int locals, int slot) {
    int from = (locals + ET_RING_ALIGN - 1) / ET_RING_ALIGN * ET_RING_ALIGN;
    int left = m->lds_bytes - et_lds_words(m->waves) - from, n = slot > 0 ? left / slot : 0;
    while (n > 0 && n * slot + et_ring_words(n, m->wave_size, m->prefetch_kb > 0) > left)
        n--;
    return n > 0 ? n : 0;
}
