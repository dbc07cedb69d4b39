/* isa.h - private to the instruction executor (isa_*.c): decoded instructions, the state of a wave,
 * and the handlers' calling convention.
 *
 * A handler executes one decoded instruction for a whole wave and returns the next one, or NULL
 * after setting w->stop (and w->pc to where execution goes on). Handlers are chosen at decode time;
 * nothing is looked up while running. */
#ifndef ISA_H
#define ISA_H

#include "runtime/emu/emu.h"

#include <string.h>

enum { LANES = 64, MAX_VGPR = 256, NSGPR = 160 };

/* Instruction sets in the order they grew; runtime/emu/isa/decode/arch.c. */
enum isa_gen { GEN_90A, GEN_942, GEN_950, GEN_11, GEN_12, GENS };

/* The scalar file is indexed as operands are encoded; what the encoding keeps elsewhere follows. */
enum {
    S_FLAT_SCRATCH = 102,
    S_XNACK = 104,
    S_VCC = 106,
    S_TTMP = 108,
    S_M0 = 124,
    S_EXEC = 126,
    S_SHARED_BASE = 128,
    S_SHARED_LIMIT = 130,
    S_PRIVATE_BASE = 132,
    S_PRIVATE_LIMIT = 134,
    S_SCC = 136,
    S_NULL = 140, /* what is written to null lands here; sources read zero without it */
};

/* Apertures: bits 63:32 of a flat address that names LDS or scratch. Not canonical host addresses.
 */
enum { APERTURE_SHARED = 0x10000, APERTURE_PRIVATE = 0x20000 };

enum { MODE_DENORM32 = 3 << 4, MODE_DENORM16_64 = 3 << 6 };

/* In the last dword of a buffer descriptor: the address includes the lane's place. */
enum { BUFFER_ADD_LANE = 1 << 23 };

/* How an operand's bits are read: its size, and what an inline constant means there. */
enum emu_type {
    T_none,
    T_u32,
    T_i32,
    T_f32,
    T_u16,
    T_i16,
    T_f16,
    T_u64,
    T_i64,
    T_f64,
    T_u16p, /* results that leave the other half of the register alone */
    T_i16p,
    T_f16p,
    T_p16,  /* two 16-bit integers */
    T_ph16, /* two f16 */
    T_p32,  /* two f32 */
    T_mix,  /* f32, or half of a register as f16 */
    T_x96,  /* three and four dwords, memory data only */
    T_x128,
};

enum emu_src_kind { SRC_NONE, SRC_VGPR, SRC_SGPR, SRC_CONST };

struct emu_src {
    uint8_t kind;
    uint8_t type; /* enum emu_type */
    uint8_t dwords;
    bool high;            /* the upper 16 bits of the register */
    uint32_t reg;         /* VGPR (AGPRs follow the VGPRs) or scalar file index */
    uint64_t imm;         /* SRC_CONST: the value as a scalar */
    const uint32_t *lane; /* SRC_CONST: the value in every lane, dwords * 64 */
};

enum emu_class { C_VALU, C_SALU, C_VMEM, C_SMEM, C_LDS, C_MFMA, C_BRANCH, C_OTHER, C_CLASSES };

struct emu_op;
typedef const struct emu_op *(*emu_handler)(struct emu_wave *, const struct emu_op *);

/* What a vector instruction does beside its arithmetic: only instructions that need one have it. */
struct emu_ext {
    uint8_t encoding; /* enum emu_encoding */
    bool dpp;
    uint32_t and_mask[3], xor_mask[3]; /* abs and neg, on the dword that has the sign */
    uint32_t xor_lo[3];                /* packed f32: neg of the low dword */
    bool clamp;
    uint8_t omod;
    uint8_t op_sel, op_sel_hi; /* a bit per source; bit 3 of op_sel for the result */
    uint8_t lane[LANES];       /* DPP: source lane of each lane */
    uint64_t valid, write;     /* DPP: lanes whose source exists; lanes that may be written */
    bool bound_zero;
    bool inactive;                       /* DPP: lanes that are off are read too */
    uint8_t sel[2], dst_sel, dst_unused; /* SDWA */
    bool sext[2];
};

struct emu_op {
    emu_handler fn;
    void (*kernel)(void); /* lane kernel, for handlers that share one calling sequence */
    struct emu_src s[3];
    uint16_t d, sd; /* results: VGPR or scalar file index; second, scalar result */
    uint8_t d_type, d_dwords;
    uint8_t cls, nsrc;
    uint8_t row_arg, row_arg2;
    bool d_vgpr;
    bool d_high;    /* the result goes to the upper 16 bits */
    int32_t offset; /* memory */
    uint32_t flags; /* memory: F_*; others: raw fields of the encoding */
    uint8_t level;  /* memory: enum emu_level that answers a load, that a store reaches */
    const struct emu_ext *x;
    const struct emu_op *target; /* branches */
    uint32_t at;                 /* byte offset in the text */
    uint16_t count;              /* dwords moved per lane by memory instructions */
    uint16_t mfma;               /* row of the matrix table */
};

struct emu_lane_table;

struct emu_program {
    uint64_t addr;
    size_t bytes;
    uint8_t *text; /* a copy, to name a faulting instruction later */
    struct emu_op *ops;
    size_t nops;
    _Atomic uint64_t *ran; /* by op: a bit for each of the first 64 tasks that came to it */
    uint32_t *index;       /* per dword of the text: op, or UINT32_MAX */
    uint32_t nvgpr, nagpr; /* registers any instruction names */
    struct emu_pool *pool; /* constants and exts */
    char isa[32];
    enum isa_gen gen;
    uint32_t wave_lanes; /* 64 or 32 */
};

/* Vector memory instructions under way, oldest first: as many as the hardware can count. */
enum { EMU_ASKED = 64 };
struct emu_asked {
    uint32_t bytes; /* of a load */
    uint32_t depth; /* of the wave when it asked */
    bool own;       /* a load that the CU's own cache may answer: of data, not of counters */
};
/* See runtime/emu/isa/run/flight.c; nothing where the device does not count by task. */
struct emu_flight {
    struct emu_asked asked[EMU_ASKED];
    uint32_t first, n;
    uint32_t depth;          /* round trips in a row since the wave began */
    uint32_t stored;         /* the depth at which what was asked for last is there */
    uint32_t looked, sleeps; /* the depth when it slept, and how often since it got on */
    uint32_t look;           /* the depth at which it asked for a counter last */
    uint32_t left;           /* and at which it stored last */
    bool looks, leaves;      /* it did, and has not used what it waited for, not told of it */
    uint32_t barriers;
    uint32_t traces, task, from;
    bool marked;
    struct emu_task_counters now; /* since the last mark */
};

/* Stores to memory that devices share, of a wave, in pieces: see runtime/emu/isa/ops/link.h. */
enum { EMU_ON_THE_WAY = 256 };
struct emu_stored {
    uint64_t addr;
    uint8_t data[8] __attribute__((aligned(8)));
    uint8_t bytes, level;
};
struct emu_link {
    uint64_t random; /* what is drawn next follows from it; 0: links are not modelled */
    uint32_t n;
    struct emu_stored of[EMU_ON_THE_WAY];
};

struct emu_wave {
    uint32_t s[NSGPR] __attribute__((aligned(8)));
    uint32_t (*v)[LANES];    /* VGPRs, then AGPRs; 64-byte aligned */
    uint64_t live;           /* lanes that exist */
    uint64_t full;           /* a bit for every lane of a full wave; those above take no part */
    const struct emu_op *pc; /* where the next run starts; NULL when ended */
    enum emu_stop stop;
    uint32_t mode;
    struct emu_range hit[4]; /* live ranges seen, most recent first */
    uint8_t *lds, *scratch;
    uint32_t lds_bytes, scratch_bytes;
    uint32_t index; /* wave in the workgroup */
    uint32_t nreg;  /* rows of v */
    struct emu_group *group;
    struct emu_caches *caches; /* what the CU sees where caches are modelled, else NULL */
    const struct emu_program *program;
    const struct emu_lane_table *lanes;
    bool signalled; /* at a barrier it has yet to wait at */
    bool flush32;   /* MODE asks for f32 denormals to become zero */
    uint64_t turn;  /* instructions counted when its turn began */
    uint64_t slept; /* clocks in this turn */
    struct emu_fault *fault;
    uint32_t trace[2], traces; /* the last words of s_ttracedata, and how many there were */
    uint32_t reached[2];       /* the last pair of them, when there was one */
    uint64_t unmarked;         /* instructions of turns since that changed */
    uint64_t awake;            /* and since it slept */
    uint64_t count[C_CLASSES];
    uint64_t bytes_read, bytes_written, lds_bytes_moved, atomics, sleeps, barriers;
    struct emu_flight flight;
    struct emu_link link;
};

static inline uint64_t get64(const uint32_t *p) {
    uint64_t x;
    memcpy(&x, p, 8);
    return x;
}
static inline void put64(uint32_t *p, uint64_t x) {
    memcpy(p, &x, 8);
}
/* One bit per lane, as scalar registers hold it: one dword or two. */
static inline void put_mask(struct emu_wave *w, uint32_t at, uint64_t mask) {
    if (w->full >> 32)
        put64(&w->s[at], mask);
    else
        w->s[at] = (uint32_t)mask;
}
static inline uint64_t wave_exec(const struct emu_wave *w) {
    return get64(&w->s[S_EXEC]);
}

static inline uint32_t scalar32(const struct emu_wave *w, const struct emu_src *s) {
    return s->kind == SRC_CONST ? (uint32_t)s->imm : w->s[s->reg];
}
static inline uint64_t scalar64(const struct emu_wave *w, const struct emu_src *s) {
    return s->kind == SRC_CONST ? s->imm : get64(&w->s[s->reg]);
}

static inline uint64_t scalar_mask(const struct emu_wave *w, const struct emu_src *s) {
    return s->dwords == 2 ? scalar64(w, s) : scalar32(w, s);
}

/* run.c: what the wave reads as the time. */
uint64_t isa_realtime(const struct emu_wave *);
uint64_t isa_cycles(const struct emu_wave *);

/* run.c: stop the wave at O with a fault; always NULL. */
const struct emu_op *isa_fault(struct emu_wave *, const struct emu_op *, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const struct emu_op *isa_fault_lane(struct emu_wave *, const struct emu_op *, int lane,
                                    uint64_t addr, uint32_t bytes, const char *verb);
const struct emu_op *isa_stop(struct emu_wave *, const struct emu_op *next, enum emu_stop);

/* flight.c: the handler of instructions that wait for memory; their row says for what. */
enum {
    ISA_WAIT_OTHER,
    ISA_WAIT_ALL,
    ISA_WAIT_LOADS,
    ISA_WAIT_LOADS_LDS,
    ISA_WAIT_STORES,
    ISA_WAIT_STORES_LDS,
    ISA_WAIT_IDLE,
};
const struct emu_op *isa_wait(struct emu_wave *, const struct emu_op *);

/* Take M as the MODE register; false after faulting at O when it asks for what is not modelled. */
bool isa_set_mode(struct emu_wave *, const struct emu_op *, uint32_t mode);

/* ---- instruction tables ---- */

/* One operand of the disassembled text. */
enum emu_tok_kind { TOK_VGPR, TOK_AGPR, TOK_SGPR, TOK_INT, TOK_FLOAT, TOK_OFF, TOK_OTHER };
struct emu_tok {
    uint8_t kind;
    uint8_t count;
    bool neg, abs;
    uint8_t half; /* of a 16-bit register: 1 low, 2 high */
    uint16_t reg;
    uint64_t i;
    double f;
    bool literal; /* written as hexadecimal: a 32-bit literal of the encoding */
};

enum emu_encoding { ENC_PLAIN, ENC_VOP3, ENC_DPP, ENC_SDWA, ENC_VOP3P };

struct emu_text {
    char name[64]; /* without _e32, _e64, _dpp, _sdwa */
    struct emu_tok tok[8];
    int ntok;
    uint8_t encoding; /* enum emu_encoding */
    uint8_t gen;      /* enum isa_gen, set before parsing */
    bool dpp;
    uint32_t word[5]; /* the encoding itself */
    int words;
    uint32_t at;
};

/* A row of an instruction table: BIND fills O from T, false when this form is not known. */
struct emu_decode;
struct emu_row {
    const char *name;
    bool (*bind)(struct emu_decode *, const struct emu_row *, const struct emu_text *,
                 struct emu_op *);
    emu_handler fn;
    const char *sig; /* operands in textual order, see runtime/emu/isa/decode/bind.c */
    uint8_t cls, arg, arg2;
    void (*kernel)(void);
    uint8_t type[4]; /* lane rows: result and sources */
};

struct emu_table {
    const struct emu_row *rows;
    size_t n;
};
const struct emu_table *isa_salu_table(void);
const struct emu_table *isa_flow_table(void);
const struct emu_table *isa_valu_table(void);
const struct emu_table *isa_mfma_table(void);
const struct emu_table *isa_vmem_table(void);
const struct emu_table *isa_ds_table(void);
const struct emu_table *isa_salu_more_table(void);
const struct emu_table *isa_flow_more_table(void);
const struct emu_table *isa_valu_more_table(void);
const struct emu_table *isa_wmma_table(void);

/* runtime/emu/isa/decode/arch.c */
struct isa_arch {
    const char *name;
    enum isa_gen gen;
    uint32_t wave_lanes;
};
const struct isa_arch *isa_arch_find(const char *name);
/* What the tables call the instruction that GEN's assembly calls NAME. */
void isa_arch_rename(enum isa_gen gen, char name[64]);
const struct emu_table *isa_buffer_table(void);

/* runtime/emu/isa/decode/decode.c: the instruction at byte AT, as text. */
void isa_disassemble(const struct emu_program *, uint32_t at, char *out, size_t size);
/* The first instruction from index FROM on that decoded to nothing known: one more than its index,
 * and its place in AT; 0 when there is none. */
size_t isa_unknown(const struct emu_program *, size_t from, uint32_t *at);

/* Bind T's instruction, whatever it is; may change T's name. */
bool isa_decode_one(struct emu_decode *, struct emu_text *, struct emu_op *);
/* runtime/emu/isa/ops/dual.c: two vector instructions in one encoding, "X :: Y". */
bool isa_bind_dual(struct emu_decode *, const char *line, const struct emu_text *, struct emu_op *);

/* runtime/emu/isa/decode/parse.c */
bool isa_parse(const char *line, struct emu_text *out);

/* runtime/emu/isa/decode/bind.c: from parsed text to operands. */
struct emu_decode {
    struct emu_program *p;
    struct emu_pool *pool;
    const struct emu_lane_table *lanes;
    enum isa_gen gen;
    int mask_dwords; /* a bit per lane takes */
    bool halves;     /* what is being bound knows 16-bit registers */
    bool failed;     /* out of memory */
};
bool isa_bind_src(struct emu_decode *, const struct emu_tok *, enum emu_type, struct emu_src *);
/* As isa_bind_src, for what cannot be a vector register. The disassembler lets one stand in the
 * field of a lane mask. */
bool isa_bind_scalar(struct emu_decode *, const struct emu_tok *, enum emu_type, struct emu_src *);
bool isa_bind_vdst(struct emu_decode *, const struct emu_tok *, int dwords, struct emu_op *);
bool isa_bind_vreg(struct emu_decode *, const struct emu_tok *, int dwords, uint16_t *reg);
bool isa_bind_sdst(const struct emu_tok *, int dwords, uint16_t *reg);
bool isa_bind_sig(struct emu_decode *, const struct emu_row *, const struct emu_text *,
                  struct emu_op *);
bool isa_bind_lane(struct emu_decode *, const struct emu_row *, const struct emu_text *,
                   struct emu_op *);
/* The modifiers of a vector instruction whose operands are bound; false when some are not known.
 * o->x stays NULL when there are none. */
bool isa_bind_ext(struct emu_decode *, const struct emu_text *, struct emu_op *);
int isa_type_dwords(enum emu_type);

/* runtime/emu/isa/decode/pool.c: what lives as long as the program. */
struct emu_pool *isa_pool_create(void);
void isa_pool_destroy(struct emu_pool *);
void *isa_pool_alloc(struct emu_pool *, size_t bytes);
const uint32_t *isa_pool_broadcast(struct emu_pool *, uint64_t value, int dwords);

#endif
