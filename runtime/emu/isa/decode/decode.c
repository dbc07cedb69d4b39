/* decode.c - a code object's text to an array of operations, once.
 *
 * LLVM disassembles; the name finds a row in the tables; the row's bind function reads operands
 * from the text and modifiers from the encoding. What is not known becomes an operation that
 * faults. */
#include "runtime/emu/isa/decode/guard.h"
#include "runtime/emu/isa/lanes/lanes.h"

#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const struct emu_op *unknown(struct emu_wave *w, const struct emu_op *o) {
    const struct emu_op *next = isa_fault(w, o, "the emulator does not know this instruction");
    w->fault->kind = EMU_FAULT_UNKNOWN;
    return next;
}
static const struct emu_op *outside(struct emu_wave *w, const struct emu_op *o) {
    return isa_fault(w, o, "execution left the code object's text");
}

static void init_llvm(void) {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
}

/* ---- names ---- */

enum { NAME_SLOTS = 4096 };
struct names {
    const struct emu_row *row[NAME_SLOTS];
    size_t n;
};
static struct names names;
static struct emu_row *lane_rows;

static struct emu_row const **slot(const char *name) {
    uint32_t h = 2166136261u;
    for (const char *c = name; *c; c++)
        h = (h ^ (uint8_t)*c) * 16777619u;
    for (;; h++) {
        const struct emu_row **r = &names.row[h % NAME_SLOTS];
        if (!*r || !strcmp((*r)->name, name)) return r;
    }
}

static void add_names(const struct emu_table *t) {
    for (size_t i = 0; i < t->n; i++)
        *slot(t->rows[i].name) = &t->rows[i];
}

static bool names_ready;
static void init_names(void) {
    init_llvm();
    const struct emu_lane_table *l = isa_lanes();
    lane_rows = calloc(2 * l->n, sizeof *lane_rows);
    char(*text)[40] = calloc(l->n, sizeof *text);
    if (!lane_rows || !text) return;
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (l->rows[i].kind == LK_SAT) continue;
        lane_rows[n++] = (struct emu_row){.name = l->rows[i].name, .bind = isa_bind_lane};
        if (l->rows[i].kind != LK_CMP) continue;
        snprintf(text[i], sizeof text[i], "v_cmpx_%s", l->rows[i].name + 6);
        lane_rows[n++] = (struct emu_row){.name = text[i], .bind = isa_bind_lane};
    }
    const struct emu_table lanes = {lane_rows, n};
    add_names(&lanes);
    add_names(isa_salu_table());
    add_names(isa_flow_table());
    add_names(isa_valu_table());
    add_names(isa_mfma_table());
    add_names(isa_vmem_table());
    add_names(isa_ds_table());
    add_names(isa_salu_more_table());
    add_names(isa_flow_more_table());
    add_names(isa_valu_more_table());
    add_names(isa_wmma_table());
    add_names(isa_buffer_table());
    names_ready = true;
}

/* ---- instructions ---- */

bool isa_decode_one(struct emu_decode *d, struct emu_text *t, struct emu_op *o) {
    isa_arch_rename(d->gen, t->name);
    const struct emu_row *row = *slot(t->name);
    if (!row) return false;
    d->halves = false;
    o->cls = row->cls;
    if (!row->bind(d, row, t, o) || !o->fn) return false;
    /* a wave of 32 has its lanes in one register; the other half of EXEC stays zero */
    const struct emu_tok *first = &t->tok[0];
    return d->mask_dwords == 2 || !t->ntok || first->kind != TOK_SGPR || first->reg < S_EXEC ||
           first->reg + first->count <= S_EXEC + 1 || first->reg >= S_SHARED_BASE;
}

static void decode_text(struct emu_decode *d, LLVMDisasmContextRef dc, size_t at, size_t *bytes,
                        struct emu_op *o) {
    struct emu_program *p = d->p;
    char line[256];
    struct emu_text t = {.at = (uint32_t)at, .gen = (uint8_t)d->gen};
    size_t left = p->bytes - at;
    size_t n = isa_llvm_text(dc, p, at, line, sizeof line);
    *bytes = n >= 4 && n <= sizeof t.word && n <= left ? n & ~(size_t)3 : 4;
    memset(o, 0, sizeof *o);
    o->at = (uint32_t)at;
    t.words = (int)(*bytes / 4);
    memcpy(t.word, p->text + at, *bytes < left ? *bytes : left);
    bool known = n >= 4 && (strstr(line, " :: ") ? isa_bind_dual(d, line, &t, o)
                                                 : isa_parse(line, &t) && isa_decode_one(d, &t, o));
    if (known) return;
    memset(o, 0, sizeof *o);
    o->at = (uint32_t)at;
    o->cls = C_OTHER;
    o->fn = unknown;
}

/* AGPRs were numbered from MAX_VGPR while their place was not known. */
static void settle_registers(struct emu_program *p) {
    for (size_t i = 0; i < p->nops; i++) {
        struct emu_op *o = &p->ops[i];
        if (o->d_vgpr && o->d >= MAX_VGPR) o->d = (uint16_t)(o->d - MAX_VGPR + p->nvgpr);
        for (int n = 0; n < 3; n++)
            if (o->s[n].kind == SRC_VGPR && o->s[n].reg >= MAX_VGPR)
                o->s[n].reg += p->nvgpr - MAX_VGPR;
    }
}

static void settle_branches(struct emu_program *p) {
    for (size_t i = 0; i < p->nops; i++) {
        struct emu_op *o = &p->ops[i];
        if (o->cls != C_BRANCH) continue;
        int64_t to = (int64_t)o->at + 4 + 4 * (int64_t)(int16_t)o->flags;
        bool inside = to >= 0 && (uint64_t)to < p->bytes && p->index[to / 4] != UINT32_MAX;
        o->target = &p->ops[inside ? p->index[to / 4] : p->nops];
    }
}

static bool decode(struct emu_program *p, LLVMDisasmContextRef dc, char err[256]) {
    struct emu_decode d = {.p = p,
                           .pool = p->pool,
                           .lanes = isa_lanes(),
                           .gen = p->gen,
                           .mask_dwords = p->wave_lanes == 64 ? 2 : 1};
    size_t words = p->bytes / 4;
    p->ops = malloc((words + 1) * sizeof *p->ops);
    p->index = malloc((words + 1) * sizeof *p->index);
    p->ran = calloc(words + 1, sizeof *p->ran);
    if (!p->ops || !p->index || !p->ran) d.failed = true;
    for (size_t at = 0, bytes; !d.failed && at + 4 <= p->bytes; at += bytes) {
        memset(&p->index[at / 4], 0xff, 4);
        decode_text(&d, dc, at, &bytes, &p->ops[p->nops]);
        for (size_t k = 1; k < bytes / 4; k++)
            p->index[at / 4 + k] = UINT32_MAX;
        p->index[at / 4] = (uint32_t)p->nops++;
    }
    if (d.failed) {
        snprintf(err, 256, "out of memory decoding %zu bytes of code", p->bytes);
        return false;
    }
    p->ops[p->nops] = (struct emu_op){.fn = outside, .at = (uint32_t)p->bytes, .cls = C_OTHER};
    if (!p->nvgpr) p->nvgpr = 1;
    settle_registers(p);
    settle_branches(p);
    return true;
}

bool emu_program_create(const char *isa, uint64_t addr, const void *text, size_t bytes,
                        struct emu_program **out, char err[256]) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_names);
    *out = NULL;
    const struct isa_arch *arch = isa_arch_find(isa);
    if (!arch) {
        snprintf(err, 256, "the emulator does not execute '%.32s'", isa);
        return false;
    }
    if (bytes % 4 || bytes > UINT32_MAX / 2 || addr % 4) {
        snprintf(err, 256, "code of %zu bytes is not a whole number of instructions", bytes);
        return false;
    }
    struct emu_program *p = calloc(1, sizeof *p);
    bool ok = p && names_ready && (p->pool = isa_pool_create()) && (p->text = malloc(bytes + 1));
    LLVMDisasmContextRef dc = NULL;
    if (ok) {
        p->addr = addr;
        p->bytes = bytes;
        p->gen = arch->gen;
        p->wave_lanes = arch->wave_lanes;
        memcpy(p->text, text, bytes);
        snprintf(p->isa, sizeof p->isa, "%s", isa);
        dc = LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", isa, "", NULL, 0, NULL, NULL);
    }
    if (!dc) {
        snprintf(err, 256, ok ? "LLVM has no disassembler for %s" : "out of memory (%s)", isa);
        ok = false;
    } else {
        ok = decode(p, dc, err);
        LLVMDisasmDispose(dc);
    }
    if (!ok) {
        emu_program_destroy(p);
        return false;
    }
    *out = p;
    return true;
}

void emu_program_destroy(struct emu_program *p) {
    if (!p) return;
    isa_pool_destroy(p->pool);
    free(p->text);
    free(p->ops);
    free(p->index);
    free(p->ran);
    free(p);
}

uint32_t emu_program_wave_lanes(const struct emu_program *p) {
    return p->wave_lanes;
}

void isa_disassemble(const struct emu_program *p, uint32_t at, char *out, size_t size) {
    LLVMDisasmContextRef dc =
        LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", p->isa, "", NULL, 0, NULL, NULL);
    char line[256] = "";
    size_t n = 0;
    if (dc && at < p->bytes) n = isa_llvm_text(dc, p, at, line, sizeof line);
    if (dc) LLVMDisasmDispose(dc);
    uint32_t word = 0;
    if (at + 4 <= p->bytes) memcpy(&word, p->text + at, 4);
    if (n) {
        const char *s = line;
        while (*s == '\t' || *s == ' ')
            s++;
        snprintf(out, size, "%s", s);
        for (char *c = out; *c; c++)
            if (*c == '\t') *c = ' ';
    } else {
        snprintf(out, size, at < p->bytes ? ".long 0x%08x" : "(end of text)", word);
    }
}

size_t isa_unknown(const struct emu_program *p, size_t from, uint32_t *at) {
    for (size_t i = from; i < p->nops; i++) {
        if (p->ops[i].fn == unknown) {
            *at = p->ops[i].at;
            return i + 1;
        }
    }
    return 0;
}
