/* coherence.c - what the cache bits of memory instructions mean on each architecture, by LLVM's
 * AMDGPU memory model, and memory access through modelled caches.
 *
 * An encoding has a field that says for whom an access must be coherent: nobody else, the
 * workgroup, the device, the system. The tables turn its four values into the nearest level that
 * may answer a load and the level a store must reach. Read-modify-writes happen in memory whatever
 * their bits say. */
#include "runtime/emu/isa/ops/coherence.h"

enum { SCOPES = 4 };

/* Two bits of the encoding, the low one first; bit 32 and above are in the second dword; NONE: 0.
 */
enum { NONE = 255 };
struct field {
    uint8_t low, high;
};

#define BIT(level) (1u << (level))
#define NEAR BIT(EMU_NEAR)
#define NEAR_ARRAY (BIT(EMU_NEAR) | BIT(EMU_ARRAY))
#define NEAR_DIE (BIT(EMU_NEAR) | BIT(EMU_DIE))
#define WB FENCE_WRITE_BACK

struct control {
    const char *name;
    struct field scope;
    uint32_t effect[SCOPES];
};

struct coherence {
    const char *isa;
    struct field scope, buffer_scope; /* of global, flat; of buffer instructions */
    uint8_t load[SCOPES], store[SCOPES];
    struct control control[8];
};

/* sc0 and sc1: wave, workgroup, device, system. Several L2 in one device. */
#define GFX942(name)                                                                               \
    {                                                                                              \
        .isa = name, .scope = {16, 25}, .buffer_scope = {14, 15},                                  \
        .load = {EMU_NEAR, EMU_NEAR, EMU_MEMORY, EMU_MEMORY},                                      \
        .store = {EMU_DIE, EMU_DIE, EMU_MEMORY, EMU_MEMORY}, .control = {                          \
            {"buffer_inv", {14, 15}, {0, NEAR, NEAR_DIE, NEAR_DIE}},                               \
            {"buffer_wbl2", {14, 15}, {0, 0, WB, WB}}                                              \
        }                                                                                          \
    }

static const struct coherence archs[] = {
    /* glc: not from the L1; scc: system. One L2, where the device is coherent. */
    {.isa = "gfx90a",
     .scope = {16, 25},
     .buffer_scope = {14, 15},
     .load = {EMU_NEAR, EMU_DIE, EMU_NEAR, EMU_MEMORY},
     .store = {EMU_DIE, EMU_DIE, EMU_MEMORY, EMU_MEMORY},
     .control = {{"buffer_wbinvl1_vol", {NONE, NONE}, {NEAR}},
                 {"buffer_wbinvl1", {NONE, NONE}, {NEAR}},
                 {"buffer_invl2", {NONE, NONE}, {BIT(EMU_DIE)}},
                 {"buffer_wbl2", {NONE, NONE}, {WB}}}},
    GFX942("gfx942"),
    GFX942("gfx950"),
    /* glc: from the L2; the second bit, dlc, is about allocation in the last level only. */
    {.isa = "gfx1100",
     .scope = {14, NONE},
     .buffer_scope = {14, NONE},
     .load = {EMU_NEAR, EMU_DIE},
     .store = {EMU_DIE, EMU_DIE},
     .control = {{"buffer_gl0_inv", {NONE, NONE}, {NEAR}},
                 {"buffer_gl1_inv", {NONE, NONE}, {BIT(EMU_ARRAY)}}}},
    /* CU, SE, DEV, SYS */
    {.isa = "gfx1201",
     .scope = {32 + 18, 32 + 19},
     .buffer_scope = {32 + 18, 32 + 19},
     .load = {EMU_NEAR, EMU_ARRAY, EMU_DIE, EMU_MEMORY},
     .store = {EMU_DIE, EMU_DIE, EMU_DIE, EMU_MEMORY},
     .control = {{"global_inv", {32 + 18, 32 + 19}, {0, NEAR, NEAR_ARRAY, NEAR_ARRAY}},
                 {"global_wb", {32 + 18, 32 + 19}, {0, 0, 0, WB}},
                 {"global_wbinv", {32 + 18, 32 + 19}, {0, NEAR, NEAR_ARRAY, NEAR_ARRAY | WB}}}},
};

static const struct coherence *find(const char *isa) {
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (!strcmp(archs[i].isa, isa)) return &archs[i];
    return NULL;
}

static unsigned bit_of(const struct emu_text *t, uint8_t at) {
    return at == NONE ? 0 : t->word[at / 32] >> at % 32 & 1;
}
static unsigned scope_of(const struct emu_text *t, struct field f) {
    return bit_of(t, f.low) | bit_of(t, f.high) << 1;
}

static unsigned access_scope(const struct coherence *c, const struct emu_text *t) {
    return scope_of(t, !strncmp(t->name, "buffer_", 7) ? c->buffer_scope : c->scope);
}

void isa_bind_load_level(const char *isa, const struct emu_text *t, struct emu_op *o) {
    const struct coherence *c = find(isa);
    o->level = c ? c->load[access_scope(c, t)] : EMU_MEMORY;
}

void isa_bind_store_level(const char *isa, const struct emu_text *t, struct emu_op *o) {
    const struct coherence *c = find(isa);
    o->level = c ? c->store[access_scope(c, t)] : EMU_MEMORY;
}

bool isa_bind_cache_control(const char *isa, const struct emu_text *t, struct emu_op *o) {
    const struct coherence *c = find(isa);
    for (size_t i = 0; c && i < sizeof c->control / sizeof *c->control && c->control[i].name; i++) {
        if (strcmp(c->control[i].name, t->name)) continue;
        o->flags = c->control[i].effect[scope_of(t, c->control[i].scope)];
        return true;
    }
    return false;
}

void isa_cache_control(struct emu_wave *w, const struct emu_op *o) {
    if (o->flags & FENCE_WRITE_BACK) emu_cache_write_back(w->caches);
    uint32_t levels = o->flags & ~(uint32_t)FENCE_WRITE_BACK;
    if (levels) emu_cache_invalidate(w->caches, levels);
}

uint64_t isa_local_lanes(const struct emu_wave *w, const uint64_t *a, uint64_t mask) {
    uint64_t local = 0, lds = (uint64_t)(uintptr_t)w->lds;
    uint64_t scratch = (uint64_t)(uintptr_t)w->scratch;
    uint64_t scratch_bytes = (uint64_t)LANES * w->scratch_bytes;
    for (; mask; mask &= mask - 1) {
        int i = __builtin_ctzll(mask);
        if (a[i] - lds < w->lds_bytes || a[i] - scratch < scratch_bytes) local |= mask & -mask;
    }
    return local;
}

/* Where each lane's bytes are on their way. */
static void stage(uint64_t *to, const uint64_t *a, uint64_t local,
                  uint8_t (*data)[EMU_LANE_BYTES]) {
    for (int i = 0; i < LANES; i++)
        to[i] = local >> i & 1 ? a[i] : (uint64_t)(uintptr_t)data[i];
}

void isa_cached_load(struct emu_wave *w, const struct emu_op *o, uint32_t *d, const uint64_t *a,
                     uint64_t mask, uint64_t local) {
    uint8_t data[LANES][EMU_LANE_BYTES] __attribute__((aligned(16)));
    uint64_t from[LANES] __attribute__((aligned(64)));
    emu_cache_load(w->caches, (enum emu_level)o->level, a, mask & ~local,
                   isa_data_bytes(o->row_arg), data);
    stage(from, a, local, data);
    isa_load(d, from, o->row_arg, mask);
}

void isa_cached_store(struct emu_wave *w, const struct emu_op *o, const uint32_t *s,
                      const uint64_t *a, uint64_t mask, uint64_t local) {
    uint8_t data[LANES][EMU_LANE_BYTES] __attribute__((aligned(16)));
    uint64_t to[LANES] __attribute__((aligned(64)));
    stage(to, a, local, data);
    isa_store(s, to, o->row_arg, mask);
    emu_cache_store(w->caches, (enum emu_level)o->level, a, mask & ~local,
                    isa_data_bytes(o->row_arg), data);
}
