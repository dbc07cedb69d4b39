/* test_memory.c - global, flat, scratch and LDS instructions on a small memory, atomics, and what
 * happens outside of it. */
#include "tests/unit/isa/harness.h"

#include <math.h>
#include <stdlib.h>

enum { BYTES = 16384 };
static uint8_t *memory, *read_only;
static uint8_t model[BYTES]; /* what memory should hold */

/* v2 (and v[2:3] with the base added) is a byte offset per lane, v[4:7] data, v[10:13] the old
 * result, s[4:5] the base. */
static uint32_t offset[LANES], data[4][LANES], old[4][LANES];
static uint64_t exec;

struct test {
    const char *text;
    int dwords; /* of the result; 0 for stores */
    int align;
    void (*lane)(uint8_t *p, int i,
                 uint32_t *d); /* on the model: may change P, and D, the result */
};

#define LANE(name) static void name(uint8_t *p, int i, uint32_t *d)
#define GET(T, at) get_##T(p + (at))
#define DEFINE(T)                                                                                  \
    static T get_##T(const uint8_t *p) {                                                           \
        T x;                                                                                       \
        memcpy(&x, p, sizeof x);                                                                   \
        return x;                                                                                  \
    }                                                                                              \
    static void put_##T(uint8_t *p, T x) {                                                         \
        memcpy(p, &x, sizeof x);                                                                   \
    }
DEFINE(uint16_t)
DEFINE(uint32_t)
DEFINE(uint64_t)
DEFINE(float)
DEFINE(double)

LANE(ubyte) {
    (void)i, d[0] = p[0];
}
LANE(sbyte) {
    (void)i, d[0] = (uint32_t)(int8_t)p[0];
}
LANE(ushort_) {
    (void)i, d[0] = GET(uint16_t, 0);
}
LANE(sshort) {
    (void)i, d[0] = (uint32_t)(int16_t)GET(uint16_t, 0);
}
LANE(short_lo) {
    (void)i, d[0] = (d[0] & 0xffff0000) | GET(uint16_t, 0);
}
LANE(short_hi) {
    (void)i, d[0] = (d[0] & 0xffff) | (uint32_t)GET(uint16_t, 0) << 16;
}
LANE(ubyte_lo) {
    (void)i, d[0] = (d[0] & 0xffff0000) | p[0];
}
LANE(sbyte_hi) {
    (void)i, d[0] = (d[0] & 0xffff) | (uint32_t)(int8_t)p[0] << 16;
}
LANE(x1) {
    (void)i, memcpy(d, p, 4);
}
LANE(x2) {
    (void)i, memcpy(d, p, 8);
}
LANE(x3) {
    (void)i, memcpy(d, p, 12);
}
LANE(x4) {
    (void)i, memcpy(d, p, 16);
}
LANE(x1_far) {
    (void)i, memcpy(d, p + 4092, 4);
}
LANE(x1_near) {
    (void)i, memcpy(d, p - 16, 4);
}
LANE(byte_store) {
    (void)d, p[0] = (uint8_t)data[0][i];
}
LANE(byte_hi_store) {
    (void)d, p[0] = (uint8_t)(data[0][i] >> 16);
}
LANE(short_store) {
    (void)d, put_uint16_t(p, (uint16_t)data[0][i]);
}
LANE(short_hi_store) {
    (void)d, put_uint16_t(p, (uint16_t)(data[0][i] >> 16));
}
static void store_n(uint8_t *p, int i, int n) {
    for (int k = 0; k < n; k++)
        memcpy(p + 4 * k, &data[k][i], 4);
}
LANE(x1_store) {
    (void)d, store_n(p, i, 1);
}
LANE(x2_store) {
    (void)d, store_n(p, i, 2);
}
LANE(x3_store) {
    (void)d, store_n(p, i, 3);
}
LANE(x4_store) {
    (void)d, store_n(p, i, 4);
}
LANE(read2) {
    (void)i;
    memcpy(d, p + 12, 4);
    memcpy(d + 1, p + 28, 4);
}
LANE(read2st64) {
    (void)i;
    memcpy(d, p + 512, 8);
    memcpy(d + 2, p, 8);
}
LANE(write2) {
    (void)d;
    memcpy(p + 4, &data[0][i], 4);
    memcpy(p + 8, &data[1][i], 4);
}

/* Atomics: the old value comes back. */
#define ATOMIC(name, T, value)                                                                     \
    LANE(name) {                                                                                   \
        T m = GET(T, 0), x, y;                                                                     \
        uint64_t two = data[0][i] | (uint64_t)data[1][i] << 32;                                    \
        uint64_t three = data[2][i] | (uint64_t)data[3][i] << 32;                                  \
        memcpy(&x, &two, sizeof x);                                                                \
        memcpy(&y, sizeof y == 8 ? &three : (uint64_t[]){data[1][i]}, sizeof y);                   \
        (void)x, (void)y;                                                                          \
        memcpy(d, &m, sizeof m);                                                                   \
        put_##T(p, value);                                                                         \
    }
ATOMIC(add32, uint32_t, m + x)
ATOMIC(sub32, uint32_t, m - x)
ATOMIC(smin32, uint32_t, (int32_t)x < (int32_t)m ? x : m)
ATOMIC(umax32, uint32_t, x > m ? x : m)
ATOMIC(and32, uint32_t, m &x)
ATOMIC(inc32, uint32_t, m >= x ? 0 : m + 1)
ATOMIC(dec32, uint32_t, m == 0 || m > x ? x : m - 1)
ATOMIC(swap32, uint32_t, x)
ATOMIC(cmpswap32, uint32_t, m == y ? x : m)
ATOMIC(ds_cmpst32, uint32_t, m == x ? y : m)
ATOMIC(add64, uint64_t, m + x)
ATOMIC(umin64, uint64_t, x < m ? x : m)
ATOMIC(smax64, uint64_t, (int64_t)x > (int64_t)m ? x : m)
ATOMIC(xor64, uint64_t, m ^ x)
ATOMIC(cmpswap64, uint64_t, m == y ? x : m)
ATOMIC(addf32, float, m + x)
ATOMIC(addf64, double, m + x)

static const struct test tests[] = {
    {"global_load_ubyte v10, v2, s[4:5]", 1, 1, ubyte},
    {"global_load_sbyte v10, v[2:3], off", 1, 1, sbyte},
    {"global_load_ushort v10, v2, s[4:5]", 1, 2, ushort_},
    {"global_load_sshort v10, v[2:3], off", 1, 2, sshort},
    {"global_load_short_d16 v10, v2, s[4:5]", 1, 2, short_lo},
    {"global_load_short_d16_hi v10, v2, s[4:5]", 1, 2, short_hi},
    {"global_load_ubyte_d16 v10, v2, s[4:5]", 1, 1, ubyte_lo},
    {"global_load_sbyte_d16_hi v10, v2, s[4:5]", 1, 1, sbyte_hi},
    {"global_load_dword v10, v2, s[4:5]", 1, 4, x1},
    {"global_load_dword v10, v[2:3], off", 1, 1, x1},
    {"global_load_dword v10, v[2:3], off offset:4092", 1, 4, x1_far},
    {"global_load_dword v10, v2, s[4:5] offset:-16", 1, 4, x1_near},
    {"global_load_dwordx2 v[10:11], v2, s[4:5] sc0 sc1", 2, 4, x2},
    {"global_load_dwordx3 v[10:12], v2, s[4:5] nt", 3, 4, x3},
    {"global_load_dwordx4 v[10:13], v2, s[4:5]", 4, 4, x4},
    {"global_load_dwordx4 v[10:13], v[2:3], off", 4, 4, x4},
    {"global_store_byte v2, v4, s[4:5]", 0, 1, byte_store},
    {"global_store_byte_d16_hi v[2:3], v4, off", 0, 1, byte_hi_store},
    {"global_store_short v2, v4, s[4:5]", 0, 2, short_store},
    {"global_store_short_d16_hi v2, v4, s[4:5]", 0, 2, short_hi_store},
    {"global_store_dword v[2:3], v4, off", 0, 4, x1_store},
    {"global_store_dwordx2 v2, v[4:5], s[4:5]", 0, 4, x2_store},
    {"global_store_dwordx3 v2, v[4:6], s[4:5]", 0, 4, x3_store},
    {"global_store_dwordx4 v2, v[4:7], s[4:5]", 0, 4, x4_store},
    {"flat_load_dword v10, v[2:3]", 1, 4, x1},
    {"flat_store_dwordx2 v[2:3], v[4:5]", 0, 4, x2_store},
    {"global_atomic_add v10, v2, v4, s[4:5] sc0", 1, 4, add32},
    {"global_atomic_add v2, v4, s[4:5]", 0, 4, add32},
    {"global_atomic_sub v10, v[2:3], v4, off sc0", 1, 4, sub32},
    {"global_atomic_smin v10, v2, v4, s[4:5] sc0 sc1", 1, 4, smin32},
    {"global_atomic_umax v10, v2, v4, s[4:5] sc0", 1, 4, umax32},
    {"global_atomic_and v10, v2, v4, s[4:5] sc0", 1, 4, and32},
    {"global_atomic_inc v10, v2, v4, s[4:5] sc0", 1, 4, inc32},
    {"global_atomic_dec v10, v2, v4, s[4:5] sc0", 1, 4, dec32},
    {"global_atomic_swap v10, v2, v4, s[4:5] sc0", 1, 4, swap32},
    {"global_atomic_cmpswap v10, v2, v[4:5], s[4:5] sc0", 1, 4, cmpswap32},
    {"global_atomic_add_x2 v[10:11], v2, v[4:5], s[4:5] sc0", 2, 8, add64},
    {"global_atomic_umin_x2 v[10:11], v2, v[4:5], s[4:5] sc0", 2, 8, umin64},
    {"global_atomic_smax_x2 v[10:11], v2, v[4:5], s[4:5] sc0", 2, 8, smax64},
    {"global_atomic_xor_x2 v[10:11], v2, v[4:5], s[4:5] sc0", 2, 8, xor64},
    {"global_atomic_cmpswap_x2 v[10:11], v2, v[4:7], s[4:5] sc0", 2, 8, cmpswap64},
    {"global_atomic_add_f32 v10, v2, v4, s[4:5] sc0", 1, 4, addf32},
    {"global_atomic_add_f64 v[10:11], v2, v[4:5], s[4:5] sc0", 2, 8, addf64},
    {"flat_atomic_add v10, v[2:3], v4 sc0", 1, 4, add32},
    {"buffer_load_dword v10, v2, s[12:15], 0 offen", 1, 4, x1},
    {"buffer_load_dwordx4 v[10:13], v2, s[12:15], 0 offen", 4, 4, x4},
    {"buffer_load_ubyte v10, v2, s[12:15], 0 offen", 1, 1, ubyte},
    {"s_movk_i32 s16, 92\nbuffer_load_dword v10, v2, s[12:15], s16 offen offset:4000", 1, 4,
     x1_far},
    {"buffer_store_dwordx2 v[4:5], v2, s[12:15], 0 offen", 0, 4, x2_store},
    {"buffer_atomic_add v4, v2, s[12:15], 0 offen", 0, 4, add32},
    /* LDS: the same bytes */
    {"ds_read_u8 v10, v2", 1, 1, ubyte},
    {"ds_read_i8 v10, v2", 1, 1, sbyte},
    {"ds_read_u16 v10, v2", 1, 2, ushort_},
    {"ds_read_i16 v10, v2", 1, 2, sshort},
    {"ds_read_u16_d16_hi v10, v2", 1, 2, short_hi},
    {"ds_read_b32 v10, v2", 1, 4, x1},
    {"ds_read_b32 v10, v2 offset:4092", 1, 4, x1_far},
    {"v_subrev_u32 v3, 0x4000, v2\nds_read_b32 v10, v3 offset:16384", 1, 4, x1}, /* around 2^32 */
    {"v_subrev_u32 v3, 0x4000, v2\nds_write_b32 v3, v4 offset:16384", 0, 4, x1_store},
    {"ds_read_b64 v[10:11], v2", 2, 8, x2},
    {"ds_read_b96 v[10:12], v2", 3, 4, x3},
    {"ds_read_b128 v[10:13], v2", 4, 16, x4},
    {"ds_read2_b32 v[10:11], v2 offset0:3 offset1:7", 2, 4, read2},
    {"ds_read2st64_b64 v[10:13], v2 offset0:1 offset1:0", 4, 8, read2st64},
    {"ds_write_b8 v2, v4", 0, 1, byte_store},
    {"ds_write_b16 v2, v4", 0, 2, short_store},
    {"ds_write_b16_d16_hi v2, v4", 0, 2, short_hi_store},
    {"ds_write_b32 v2, v4", 0, 4, x1_store},
    {"ds_write_b64 v2, v[4:5]", 0, 8, x2_store},
    {"ds_write_b96 v2, v[4:6]", 0, 4, x3_store},
    {"ds_write_b128 v2, v[4:7]", 0, 16, x4_store},
    {"ds_write2_b32 v2, v4, v5 offset0:1 offset1:2", 0, 16, write2},
    {"ds_add_u32 v2, v4", 0, 4, add32},
    {"ds_add_rtn_u32 v10, v2, v4", 1, 4, add32},
    {"ds_min_rtn_i32 v10, v2, v4", 1, 4, smin32},
    {"ds_max_rtn_u32 v10, v2, v4", 1, 4, umax32},
    {"ds_inc_rtn_u32 v10, v2, v4", 1, 4, inc32},
    {"ds_wrxchg_rtn_b32 v10, v2, v4", 1, 4, swap32},
    {"ds_cmpst_rtn_b32 v10, v2, v4, v5", 1, 4, ds_cmpst32},
    {"ds_add_rtn_u64 v[10:11], v2, v[4:5]", 2, 8, add64},
    {"ds_max_rtn_i64 v[10:11], v2, v[4:5]", 2, 8, smax64},
    {"ds_add_rtn_f32 v10, v2, v4", 1, 4, addf32},
    {"ds_add_f64 v2, v[4:5]", 0, 8, addf64},
};
enum { NTESTS = sizeof tests / sizeof *tests, SLOT = 256 };

/* Stores that overlap are decided lane by lane, so they may; atomics too. */
static void inputs(const struct test *t, bool lds, int pattern) {
    static const uint8_t tame[] = {0x3f, 0x40, 0xbf, 0x3e};
    exec = pattern & 1 ? random64() : UINT64_MAX;
    for (int i = 0; i < BYTES; i++)
        model[i] = (i & 3) == 3 ? tame[random32() & 3] : (uint8_t)random32();
    for (int i = 0; i < LANES; i++) {
        uint32_t o = random32() % (BYTES - 8192);
        if (pattern / 2 == 1) o = 64 + (uint32_t)i * 4;
        if (pattern / 2 == 2) o = 1024;
        if (pattern / 2 == 3) o = (uint32_t)i * 16;
        offset[i] = (o & ~(uint32_t)(t->align - 1)) + (t->align < 16 ? 64 : 0);
        for (int k = 0; k < 4; k++) {
            data[k][i] = (random32() & 0xffffff) | (uint32_t)tame[random32() & 3] << 24;
            old[k][i] = random32();
        }
        if (random32() & 1) { /* compares that succeed */
            memcpy(&data[1][i], model + offset[i], 4);
            memcpy(&data[2][i], model + offset[i], 8);
        }
    }
    (void)lds;
}

static void run(struct machine *m, const struct test *t, uint64_t entry, int pattern) {
    bool lds = !strncmp(t->text, "ds_", 3) || strstr(t->text, "\nds_");
    inputs(t, lds, pattern);
    uint8_t *where = lds ? m->lds : memory;
    memcpy(where, model, BYTES);
    machine_restart(m, entry);
    struct emu_wave *w = m->waves[0];
    for (int i = 0; i < LANES; i++) {
        uint64_t full = offset[i] + (strstr(t->text, "v[2:3]") ? (uintptr_t)memory : 0);
        w->v[2][i] = (uint32_t)full;
        w->v[3][i] = (uint32_t)(full >> 32);
        for (int k = 0; k < 4; k++) {
            w->v[4 + k][i] = data[k][i];
            w->v[10 + k][i] = old[k][i];
        }
    }
    put64(&w->s[4], (uintptr_t)memory);
    put64(&w->s[12], (uintptr_t)memory);
    put64(&w->s[14], BYTES);
    put64(&w->s[S_EXEC], exec);
    enum emu_stop s = machine_run(m);
    EXPECT(s == EMU_ENDED, "%s: %s", t->text, m->fault.what);
    for (int i = 0; i < LANES; i++) {
        uint32_t d[4];
        for (int k = 0; k < 4; k++)
            d[k] = old[k][i];
        if (exec >> i & 1) t->lane(model + offset[i], i, d);
        for (int k = 0; k < 4; k++) {
            uint32_t want = k < t->dwords ? d[k] : old[k][i];
            EXPECT(w->v[10 + k][i] == want, "%s pattern %d lane %d dword %d: %08x, not %08x",
                   t->text, pattern, i, k, w->v[10 + k][i], want);
        }
    }
    EXPECT(!memcmp(where, model, BYTES), "%s pattern %d: memory differs", t->text, pattern);
}

static void instructions(void) {
    char *text = malloc(NTESTS * 256), *p = text;
    for (int i = 0; i < NTESTS; i++)
        p += sprintf(p, ".p2align 8\n%s\ns_endpgm\n", tests[i].text);
    struct code c = code_from_asm(text);
    struct machine *m = machine_create(&c, 0, 1);
    for (int round = 0; round < 40; round++)
        for (int i = 0; i < NTESTS; i++)
            run(m, &tests[i], (uint64_t)i * SLOT, round % 8);
    machine_destroy(m);
    code_free(&c);
    free(text);
}

/* ---- things that must stop the wave ---- */

struct fault_case {
    const char *text, *instruction, *what;
    int lane; /* expected, -1 for any */
};
static const struct fault_case faults[] = {
    {"global_load_dword v1, v2, s[4:5]", "global_load_dword v1, v2, s[4:5]", "load of 4 bytes at",
     9},
    {"global_store_dwordx4 v2, v[4:7], s[4:5]", "global_store_dwordx4", "store of 16 bytes", 9},
    {"global_atomic_add v2, v1, s[4:5]", "global_atomic_add", "atomic of 4 bytes", 9},
    {"global_store_dword v3, v1, s[6:7]", "global_store_dword", "may not be written", 0},
    {"global_load_dword v1, v3, s[4:5] offset:-4", "global_load_dword", "outside every live", 0},
    {"v_mov_b32 v3, 0x3ffe\nglobal_load_dword v1, v3, s[4:5]", "global_load_dword",
     "past the end of a live allocation", 0},
    {"v_mov_b32 v3, 2\nglobal_atomic_add v3, v1, s[4:5]", "global_atomic_add", "not aligned", 0},
    {"s_load_dwordx4 s[8:11], s[8:9], 0x10", "s_load_dwordx4", "scalar load of 16 bytes", -1},
    {"v_mov_b32 v3, 0x10000\nds_read_b32 v1, v3", "ds_read_b32", "out of bounds", 0},
    {"v_mov_b32 v3, 0xfffc\nds_read_b64 v[4:5], v3", "ds_read_b64", "out of bounds", 0},
    {"v_mov_b32 v3, 2\nds_add_u32 v3, v1", "ds_add_u32", "not aligned", 0},
    {"scratch_load_dword v1, off, off offset:8", "scratch_load_dword", "scratch", 0},
    {"s_trap 2", "s_trap 2", "trap", -1},
    {"s_mov_b64 s[8:9], 4\ns_setpc_b64 s[8:9]", "s_setpc_b64", "jump to 0x4", -1},
    {"s_branch 1000", "(end of text)", "left the code", -1},
    {"v_mfma_f32_16x16x8_xf32 v[4:7], v[4:5], v[6:7], 0", "v_mfma_f32_16x16x8_xf32",
     "does not know", -1},
    {"v_cubeid_f32 v1, v2, v3, v4", "v_cubeid_f32", "does not know", -1},
    {".long 0xffffffff", ".long 0xffffffff", "does not know", -1},
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3", "s_setreg_imm32_b32", "rounding", -1},
    {"v_nop\ns_nop 0\n.Lend:", "", "left the code", -1},
};

static void stops(void) {
    for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
        const struct fault_case *f = &faults[k];
        char text[512];
        bool open_end = strstr(f->text, ".Lend") != NULL;
        snprintf(text, sizeof text, "v_mov_b32 v1, 0\n%s\n%s", f->text,
                 open_end ? "" : "s_endpgm\n");
        struct code c = code_from_asm(text);
        struct machine *m = machine_create(&c, 0, 1);
        struct emu_wave *w = m->waves[0];
        for (int i = 0; i < LANES; i++) {
            if (m->program->nvgpr > 2) w->v[2][i] = i == 9 ? 0x100000 : 4 * (uint32_t)i;
            if (m->program->nvgpr > 3) w->v[3][i] = 0;
        }
        put64(&w->s[4], (uintptr_t)memory);
        put64(&w->s[6], (uintptr_t)read_only);
        m->group.id[1] = 7;
        enum emu_stop s = machine_run(m);
        EXPECT(s == EMU_FAULT && m->fault.set, "%s did not fault", f->text);
        EXPECT(strstr(m->fault.what, f->what) &&
                   !strncmp(m->fault.instruction, f->instruction, strlen(f->instruction)),
               "%s: '%s' '%s'", f->text, m->fault.instruction, m->fault.what);
        EXPECT(f->lane < 0 || (int)m->fault.lane == f->lane, "%s: lane %u", f->text, m->fault.lane);
        EXPECT(m->fault.workgroup[1] == 7, "%s: workgroup", f->text);
        EXPECT(emu_wave_run(w, 10, &m->fault) == EMU_ENDED, "%s: runs after its fault", f->text);
        machine_destroy(m);
        code_free(&c);
    }
}

/* ---- scratch and flat apertures ---- */

static void apertures(void) {
    struct code c = code_from_asm("v_lshlrev_b32 v1, 2, v0\n" /* lane * 4 */
                                  "scratch_store_dword off, v1, off offset:12\n"
                                  "v_mov_b32 v2, 4\n"
                                  "scratch_load_dword v3, v2, off offset:8\n" /* lane * 4 */
                                  "s_mov_b32 s8, 8\n"
                                  "scratch_load_dword v4, off, s8 offset:4\n" /* lane * 4 */
                                  "s_mov_b64 s[4:5], src_private_base\n"
                                  "v_mov_b32 v6, 12\nv_mov_b32 v7, s5\n"
                                  "flat_load_dword v8, v[6:7]\n" /* lane * 4 */
                                  "s_mov_b64 s[4:5], src_shared_base\n"
                                  "v_mov_b32 v6, v1\nv_mov_b32 v7, s5\n"
                                  "ds_write_b32 v1, v1 offset:256\n"
                                  "flat_load_dword v9, v[6:7] offset:256\n" /* lane * 4 */
                                  "flat_store_dword v[6:7], v0\n"
                                  "ds_read_b32 v10, v1\n" /* lane */
                                  "v_mov_b32 v11, 1\nv_mov_b32 v6, 0x800\n"
                                  "flat_atomic_add v[6:7], v11\n"
                                  "ds_read_b32 v12, v6\n" /* 64 */
                                  "s_mov_b32 m0, 0x1000\n"
                                  "v_mov_b32 v13, s6\nv_mov_b32 v14, s7\n"
                                  "global_load_lds_dword v1, s[6:7]\n"
                                  "v_mov_b32 v6, v1\n"
                                  "ds_read_b32 v15, v6 offset:4096\n" /* memory */
                                  "s_endpgm\n");
    struct machine *m = machine_create(&c, 0, 1);
    uint8_t *scratch = live_alloc(64 * 16, true);
    m->dispatch.scratch_bytes = 16;
    emu_wave_init(m->waves[0], &m->group, 0, scratch);
    struct emu_wave *w = m->waves[0];
    put64(&w->s[6], (uintptr_t)memory);
    enum emu_stop s = machine_run(m);
    EXPECT(s == EMU_ENDED, "apertures: %s: %s", m->fault.instruction, m->fault.what);
    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t at;
        memcpy(&at, memory + 4 * i, 4);
        EXPECT(w->v[3][i] == 4 * i && w->v[4][i] == 4 * i, "scratch lane %u", i);
        EXPECT(w->v[8][i] == 4 * i, "flat scratch lane %u: %u", i, w->v[8][i]);
        EXPECT(w->v[9][i] == 4 * i && w->v[10][i] == i, "flat LDS lane %u", i);
        EXPECT(w->v[12][i] == 64, "flat LDS atomic: %u", w->v[12][i]);
        EXPECT(w->v[15][i] == at, "load to LDS lane %u", i);
    }
    machine_destroy(m);
    code_free(&c);
}

/* Outside a buffer reads give zero and writes nothing; records count elements where there is a
 * stride; lanes beyond the end come first. */
static void buffers(void) {
    struct code c = code_from_asm("v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, 7\n"
                                  "buffer_load_dword v2, v1, s[4:7], 0 offen\n"
                                  "buffer_load_dword v3, v0, s[8:11], 0 idxen offset:4\n"
                                  "v_mov_b32 v4, v0\nv_mov_b32 v5, 8\n"
                                  "buffer_load_dword v6, v[4:5], s[8:11], 0 idxen offen\n"
                                  "buffer_store_dword v0, v1, s[4:7], 0 offen\n"
                                  "buffer_load_dword v7, off, s[4:7], 0 offset:16\n"
                                  "v_mov_b32 v8, v0\n"
                                  "buffer_atomic_add v8, v1, s[4:7], 0 offen sc0\ns_endpgm\n");
    struct machine *m = machine_create(&c, 0, 1);
    struct emu_wave *w = m->waves[0];
    uint32_t *p = live_alloc(4096, true);
    for (uint32_t i = 0; i < 1024; i++)
        p[i] = 1000 + i;
    put64(&w->s[4], (uintptr_t)p);
    put64(&w->s[6], 40 * 4);
    put64(&w->s[8], (uintptr_t)p | UINT64_C(12) << 48);
    put64(&w->s[10], 20);
    EXPECT(machine_run(m) == EMU_ENDED, "buffers: %s: %s", m->fault.instruction, m->fault.what);
    for (uint32_t i = 0; i < LANES; i++) {
        EXPECT(w->v[2][i] == (i < 40 ? 1000 + i : 0), "raw lane %u: %u", i, w->v[2][i]);
        EXPECT(w->v[3][i] == (i < 20 ? 1001 + 3 * i : 0), "indexed lane %u: %u", i, w->v[3][i]);
        EXPECT(w->v[6][i] == (i < 20 ? 1002 + 3 * i : 0), "both lane %u: %u", i, w->v[6][i]);
        EXPECT(w->v[7][i] == 4, "no address: %u", w->v[7][i]);
        EXPECT(w->v[8][i] == (i < 40 ? i : 0), "atomic lane %u: %u", i, w->v[8][i]);
        EXPECT(p[i] == (i < 40 ? 2 * i : 1000 + i), "stored lane %u: %u", i, p[i]);
    }
    machine_destroy(m);
    code_free(&c);
    live_drop(1);
}

/* A barrier in the middle of four waves; partial last wave; counters. */
static void workgroup(void) {
    struct code c =
        code_from_asm("v_lshlrev_b32 v1, 2, v0\nds_write_b32 v1, v0\ns_sleep 1\ns_barrier\n"
                      "v_sub_u32 v2, 199, v0\nv_lshlrev_b32 v2, 2, v2\nds_read_b32 v3, v2\n"
                      "global_store_dword v1, v3, s[4:5]\ns_endpgm\n");
    struct machine *m = machine_create(&c, 0, 4);
    m->dispatch.group_size[0] = m->dispatch.grid_size[0] = 200;
    machine_restart(m, 0);
    for (int i = 0; i < 4; i++)
        put64(&m->waves[i]->s[4], (uintptr_t)memory);
    EXPECT(machine_run(m) == EMU_ENDED, "workgroup: %s", m->fault.what);
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t x;
        memcpy(&x, memory + 4 * i, 4);
        EXPECT(x == 199 - i, "work item %u: %u", i, x);
    }
    EXPECT(m->waves[3]->live == 0xff, "last wave's lanes: %llx",
           (unsigned long long)m->waves[3]->live);
    struct emu_counters *n = &m->dispatch.counters;
    EXPECT(n->instructions == 36 && n->valu == 12 && n->lds == 8 && n->vmem == 4 && n->other == 12,
           "counters: %llu", (unsigned long long)n->instructions);
    EXPECT(n->barriers == 4 && n->sleeps == 4 && n->global_bytes_written == 800 &&
               n->lds_bytes == 1600,
           "counted barriers, sleeps, bytes");
    machine_destroy(m);
    code_free(&c);
}

int main(void) {
    memory = live_alloc(BYTES, true);
    read_only = live_alloc(4096, false);
    instructions();
    stops();
    apertures();
    buffers();
    workgroup();
    live_reset();
    printf("%d instructions, %d failures\n", NTESTS, failures);
    return failures != 0;
}
