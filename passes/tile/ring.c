/* Products of many rows: both operands through a multistage pipeline in local memory, every wave
 * with a rectangle of the tile's sums in registers. */
#include "ir/program/step.h"
#include "ir/target/target.h"
#include "passes/cost/cost.h"
#include "passes/tile/tiler.h"

enum {
    ROW_BYTES = 64, /* of a row in a part of a chunk: four loads of 16 bytes */
    MOST_STAGES = 8,
    ALIGN = 1024,         /* of rows of a warpgroup MMA */
    MOST_PARTS = 2,       /* of so many bytes, which are multiplied between two barriers, */
    GROUP_PARTS = 4,      /* or so many with warpgroup MMA */
    IN_FLIGHT = 64 << 10, /* in flight: more does not come sooner */
    GROUP_IN_FLIGHT = 96 << 10,
    GROUP_STAGES = 4,
    SUM_REGISTERS = 128,       /* of a lane, half of what it has; */
    GROUP_SUM_REGISTERS = 160, /* with warpgroup MMA nothing else of a product is there */
    LARGE_LDS = 64 << 10,
    LDS_SPARE = 4 << 10, /* left for reductions */
};

/* Sums of a lane. */
static int sums_of(const et_step *s, const et_machine *m) {
    return s->tm / s->wm * (s->nacc * s->tn / s->wn) / m->wave_size;
}

/* Registers for sums, for two units' fragments and for what is in flight, of which three quarters
 * of a lane's may be taken: it has 512 in waves of 64, and 256 in such of 32. */
static bool holds(const et_step *s, const et_machine *m, int sums) {
    int lanes = m->waves * m->wave_size, fragment = 16 * m->k_bytes / m->wave_size / 4;
    int fragments = (s->tm / s->wm + s->nacc * s->tn / s->wn) / 16;
    int loaded = (int)(m->load_kb * 1024) / (4 * lanes);
    return sums + 2 * fragments * fragment + loaded <= m->wave_size * 6;
}

/* Do the waves divide the sums, do these fit in registers, and, where waves could multiply
 * together, do they? Of several products each such wave may have one: then fewer groups read a
 * row. */
static bool fits(const et_step *s, const et_machine *m, int groups, int spans) {
    bool apart = groups && s->nacc > 1 && s->nacc * s->tn == 16 * s->wn;
    if (s->wm * s->wn * s->wk != m->waves || s->tm % (16 * s->wm) ||
        (s->tn % (16 * s->wn) && !apart))
        return false;
    int sums = sums_of(s, m);
    int most = groups ? GROUP_SUM_REGISTERS : SUM_REGISTERS;
    return sums <= (spans > 1 ? most / 2 : most) && (m->local_copies || holds(s, m, sums)) &&
           (!groups || et_step_warpgroup(s, groups));
}

/* Waves over m and n such that the fewest rows are read for the sums. Only where too few are left
 * to multiply together, groups of them take parts of k. With an order of sums, which has SPANS,
 * they do not: a lane has the sums of a span and those of all spans before it. */
static bool divide(et_step *s, const et_machine *m, int spans) {
    int groups = et_dtype_bytes(s->operand) == 2 ? m->group_waves : 0,
        most = groups && !spans ? GROUP_PARTS : 1;
    et_step best = {0}, try = *s;
    double least = 0;
    for (try.wk = 1; try.wk <= most && !best.wm; try.wk *= 2)
        for (try.wn = 1; try.wn * try.wk <= m->waves; try.wn++) {
            try.wm = m->waves / (try.wn * try.wk);
            if (!fits(&try, m, groups, spans)) continue;
            double rows = et_pipeline_rows(&try, et_step_warpgroup(&try, groups), groups);
            if (best.wm && rows >= least) continue;
            least = rows;
            best = try;
        }
    if (best.wm) s->wm = best.wm, s->wn = best.wn, s->wk = best.wk;
    return best.wm > 0;
}

/* Local memory that is copied to is cut from what also holds loads that are in flight, of which the
 * other tasks of the kernel need theirs: half as much with warpgroup MMA, whose waves have four
 * chunks of whole lines of their largest tiles then. */
static int room(const et_machine *m, bool large) {
    int all = m->lds_bytes - LDS_SPARE;
    if (!m->local_copies) return all;
    int loads = (int)m->load_kb * 1024 / (large ? 4 : m->group_waves ? 2 : 1);
    int shared = m->lds_bytes - loads - ET_LDS_OWN;
    int least = shared > LARGE_LDS ? shared : LARGE_LDS;
    return all < least ? all : least;
}

/* How many parts a chunk has, of PART bytes of local memory of which LEFT are left, and how many
 * chunks there are; 0: they do not fit. SPAN: bytes of a row that have whole chunks, or 0. */
static int copied(const et_step *s, const et_machine *m, int left, int part, int span,
                  int *stages) {
    /* Waves that multiply together have two chunks at once. */
    int busy = m->group_waves && et_step_warpgroup(s, m->group_waves) ? 2 : 1;
    int parts = busy > 1 ? GROUP_PARTS : MOST_PARTS;
    while (span && parts > 1 && span % (parts * ROW_BYTES))
        parts /= 2;
    while (parts > s->wk && left / (parts * part) < (busy > 1 ? GROUP_STAGES : 3))
        parts /= 2;
    int chunk = parts * part;
    int enough = (busy > 1 ? GROUP_IN_FLIGHT : IN_FLIGHT) / chunk + busy + 1;
    *stages = left / chunk;
    if (*stages < 1 + busy) return 0;
    if (*stages > enough) *stages = enough;
    if (*stages > MOST_STAGES) *stages = MOST_STAGES;
    return parts;
}

/* The same where what is in flight is in registers: one chunk is multiplied while another is
 * stored, and the larger they are the fewer barriers there are; but two are in flight where a
 * chunk has more than two parts, and none is in part past the last k. */
static int loaded(const et_exprs *x, const et_step *s, const et_machine *m, int left, int part,
                  int *stages) {
    enum { STAGES = 2, ON_THEIR_WAY = 2 };
    int64_t k = 0;
    int parts = GROUP_PARTS;
    et_is_int(x, s->kextent, &k);
    while (parts > 1 && (STAGES * parts * part > left ||
                         (parts > 2 ? ON_THEIR_WAY : 1) * parts * part > (int)(m->load_kb * 1024) ||
                         k * et_dtype_bytes(s->operand) % (parts * ROW_BYTES)))
        parts /= 2;
    *stages = STAGES;
    return STAGES * parts * part <= left ? parts : 0;
}

bool et_tile_ring(et_program *p, et_func *f, const et_machine *m, const et_product_order *order,
                  et_step *s) {
    int bytes = et_dtype_bytes(s->operand), columns = s->nacc * s->tn;
    int spans = order && order->terms == ET_TERMS_IN_STEPS ? order->waves : 0,
        span = spans > 1 ? order->chunk / spans * bytes : 0;
    int part = (s->tm + columns) * ROW_BYTES;
    int at = f->lds_bytes;
    if (m->group_waves) at = (at + ALIGN - 1) / ALIGN * ALIGN;
    if (!divide(s, m, spans)) return false;
    int left = room(m, sums_of(s, m) > SUM_REGISTERS) - at;
    /* Rows begin in other banks than those next to them: where lanes store two sums of a row at a
     * time, four rows that are stored at once fill all, and where one, four that are two apart. */
    int pad = m->group_waves && et_step_warpgroup(s, m->group_waves) == ET_WARPGROUP_M ? 8 : 4;
    int rows = s->tm, of_row = s->wk * s->nacc * (s->tn + pad) * 4;
    while (!m->local_copies && rows * of_row > left && rows % (32 * s->wm) == 0)
        rows /= 2;
    int sums = rows * of_row;
    if (sums > left) return false;
    int stages, parts = m->local_copies ? copied(s, m, left, part, span, &stages)
                                        : loaded(p->g->exprs, s, m, left, part, &stages);
    if (!parts) return false;
    int kc = parts * ROW_BYTES / bytes;
    f->lds_bytes = at;
    for (int a = 0; a < s->nacc; a++) {
        s->acc[a] = et_local_add(p, f, et_printf(p->g->arena, "acc%d", a), ET_F32, 3,
                                 (int[]){s->wk, s->tm, s->tn}, s->tn + pad);
        et_local *l = &f->locals[s->acc[a]];
        l->rows = rows < s->tm ? rows : 0;
        f->lds_bytes = l->offset + et_local_bytes(l);
    }
    at += sums;
    f->lds_bytes -= sums; /* the chunks are in the same place: et_locals_may_meet */
    s->stage_a = et_local_add(p, f, "a", s->operand, 3, (int[]){stages, s->tm, kc}, kc);
    s->stage_b = et_local_add(p, f, "b", s->operand, 3, (int[]){stages, columns, kc}, kc);
    if (f->lds_bytes < at) f->lds_bytes = at;
    return true;
}
