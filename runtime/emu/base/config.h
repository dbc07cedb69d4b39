/* config.h - the device that was asked for. */
#ifndef EMU_CONFIG_H
#define EMU_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EMU_MAX_CUS = 1024, EMU_MAX_XCDS = 16, EMU_MAX_THREADS = 256 };

/* What an architecture fixes. One row per emulated architecture in config.c. */
struct emu_arch {
    const char *name;     /* "gfx942" */
    const char *isa_name; /* as HSA spells it, with the features of the emulated board */
    const char *product;  /* marketing name of the board */
    uint32_t elf_mach;    /* EF_AMDGPU_MACH_* in e_flags */
    uint32_t chip_id;     /* PCI device id */
    uint32_t wave_lanes;
    uint32_t simds_per_cu;
    uint32_t waves_per_simd;
    uint32_t vgprs; /* per lane and SIMD, shared by its waves */
    uint32_t vgpr_granule;
    uint32_t lds_bytes;     /* per CU, and what one workgroup may have */
    bool pairs;             /* two CUs make a workgroup processor that can share a workgroup */
    uint32_t groups_per_cu; /* of more than one wave: barrier resources */
    uint32_t cus_per_xcd;   /* full die, for choosing a default number of dies */
    uint32_t max_xcds;
    uint32_t clock_mhz;
    uint32_t cache_line;
    uint32_t l1_bytes, l2_bytes;
    bool array_caches; /* a cache of each shader array between those of its CUs and the L2 */
};

enum emu_coherence {
    EMU_COHERENCE_OFF,
    EMU_COHERENCE_CACHES, /* caches that never evict on their own */
    EMU_COHERENCE_MODEL,  /* and everything the memory model allows besides */
};

enum emu_map {
    EMU_MAP_ROUND_ROBIN,
    EMU_MAP_BLOCK,
    EMU_MAP_SHUFFLE, /* each workgroup's die is drawn */
    EMU_MAP_FILL,    /* one die while it has room, then the next */
};

struct emu_config {
    const struct emu_arch *arch;
    uint32_t cus, xcds;
    uint32_t threads; /* never 0 once parsed */
    enum emu_map map;
    uint32_t shift;                 /* of the round robin, seed of the shuffle, first die to fill */
    uint32_t first_die;             /* what the hardware calls die 0 */
    uint32_t die_cus[EMU_MAX_XCDS]; /* where asked for one by one; else 0 */
    uint32_t seed;                  /* of the order in which waves run; 0: in turn */
    uint32_t starve, slow; /* one more than the workgroup, the die, that runs last; 0: none */
    uint32_t stall;        /* one more than the queue whose dispatches stop half way; 0: none */
    uint32_t links; /* seed of the order in which stores to shared memory arrive; 0: at once */
    enum emu_coherence coherence;
    bool counted;                /* clocks count instructions */
    uint32_t times;              /* or are so many times as fast as the host's; 0: as fast */
    bool by_task;                /* what waves do is counted by task */
    uint64_t l1_limit, l2_limit; /* bytes; 0: none */
    /* What a dispatch may do without getting on before it counts as one that never ends: so many
     * million instructions, and so many seconds in which all only wait. 0: anything. */
    uint32_t budget, idle;
};

/* Parse what etemu_configure takes. False with a message in ERR. */
bool emu_config_parse(const char *spec, struct emu_config *out, char *err, size_t err_bytes);

/* The architecture with this EF_AMDGPU_MACH value as LLVM names it, known to the emulator or not.
 */
const char *emu_mach_name(uint32_t mach);

/* CUs of die XCD: as given, or an even share, of which the first dies take the remainder. */
uint32_t emu_config_die_cus(const struct emu_config *, uint32_t xcd);

/* Where CU number INDEX of a die is. Beyond what the identifiers can tell apart they repeat. */
struct emu_cu_id {
    uint32_t se, sh, cu;
};
struct emu_cu_id emu_config_cu_id(const struct emu_config *, uint32_t die_cus, uint32_t index);

/* Shader engines of the largest die. */
uint32_t emu_config_engines(uint32_t die_cus);

#endif
