/* config.c - the table of emulated architectures and the device specification. */
#include "runtime/emu/base/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A minute or two of what a host does, and ten. */
enum { DEFAULT_BUDGET = 4000, DEFAULT_IDLE = 600 };

static const struct emu_arch archs[] = {
    {.name = "gfx942",
     .isa_name = "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-",
     .product = "AMD Instinct MI300X (emulated by libetemu)",
     .elf_mach = 0x04c,
     .chip_id = 0x74a1,
     .wave_lanes = 64,
     .simds_per_cu = 4,
     .waves_per_simd = 8,
     .vgprs = 512,
     .vgpr_granule = 8,
     .lds_bytes = 65536,
     .groups_per_cu = 16,
     .cus_per_xcd = 38,
     .max_xcds = 8,
     .clock_mhz = 2100,
     .cache_line = 128,
     .l1_bytes = 32768,
     .l2_bytes = 4194304},
    {.name = "gfx90a",
     .isa_name = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
     .product = "AMD Instinct MI210 (emulated by libetemu)",
     .elf_mach = 0x03f,
     .chip_id = 0x740f,
     .wave_lanes = 64,
     .simds_per_cu = 4,
     .waves_per_simd = 8,
     .vgprs = 512,
     .vgpr_granule = 8,
     .lds_bytes = 65536,
     .groups_per_cu = 16,
     .cus_per_xcd = 104,
     .max_xcds = 1,
     .clock_mhz = 1700,
     .cache_line = 128,
     .l1_bytes = 16384,
     .l2_bytes = 8388608},
    {.name = "gfx950",
     .isa_name = "amdgcn-amd-amdhsa--gfx950:sramecc+:xnack-",
     .product = "AMD Instinct MI355X (emulated by libetemu)",
     .elf_mach = 0x04f,
     .chip_id = 0x75a3,
     .wave_lanes = 64,
     .simds_per_cu = 4,
     .waves_per_simd = 8,
     .vgprs = 512,
     .vgpr_granule = 8,
     .lds_bytes = 163840,
     .groups_per_cu = 16,
     .cus_per_xcd = 32,
     .max_xcds = 8,
     .clock_mhz = 2400,
     .cache_line = 128,
     .l1_bytes = 32768,
     .l2_bytes = 4194304},
    {.name = "gfx1100",
     .isa_name = "amdgcn-amd-amdhsa--gfx1100",
     .product = "AMD Radeon RX 7900 XTX (emulated by libetemu)",
     .elf_mach = 0x041,
     .chip_id = 0x744c,
     .wave_lanes = 32,
     .simds_per_cu = 2,
     .waves_per_simd = 16,
     .vgprs = 1536,
     .vgpr_granule = 24,
     .lds_bytes = 65536,
     .pairs = true,
     .groups_per_cu = 16,
     .cus_per_xcd = 96,
     .max_xcds = 1,
     .clock_mhz = 2500,
     .cache_line = 128,
     .l1_bytes = 32768,
     .l2_bytes = 6291456,
     .array_caches = true},
    {.name = "gfx1201",
     .isa_name = "amdgcn-amd-amdhsa--gfx1201",
     .product = "AMD Radeon RX 9070 XT (emulated by libetemu)",
     .elf_mach = 0x04e,
     .chip_id = 0x7550,
     .wave_lanes = 32,
     .simds_per_cu = 2,
     .waves_per_simd = 16,
     .vgprs = 1536,
     .vgpr_granule = 24,
     .lds_bytes = 65536,
     .pairs = true,
     .groups_per_cu = 16,
     .cus_per_xcd = 64,
     .max_xcds = 1,
     .clock_mhz = 2970,
     .cache_line = 128,
     .l1_bytes = 32768,
     .l2_bytes = 8388608,
     .array_caches = true},
};

/* EF_AMDGPU_MACH values, so that a refused code object can be told by name. */
static const struct {
    uint32_t mach;
    const char *name;
} machs[] = {
    {0x02c, "gfx900"},  {0x02f, "gfx906"},  {0x030, "gfx908"},  {0x033, "gfx1010"},
    {0x036, "gfx1030"}, {0x03f, "gfx90a"},  {0x040, "gfx940"},  {0x041, "gfx1100"},
    {0x046, "gfx1101"}, {0x047, "gfx1102"}, {0x044, "gfx1103"}, {0x043, "gfx1150"},
    {0x04a, "gfx1151"}, {0x048, "gfx1200"}, {0x04b, "gfx941"},  {0x04c, "gfx942"},
    {0x04e, "gfx1201"}, {0x04f, "gfx950"},
};

const char *emu_mach_name(uint32_t mach) {
    for (size_t i = 0; i < sizeof machs / sizeof *machs; i++)
        if (machs[i].mach == mach) return machs[i].name;
    return "an unknown architecture";
}

uint32_t emu_config_die_cus(const struct emu_config *c, uint32_t xcd) {
    return c->die_cus[0] ? c->die_cus[xcd] : c->cus / c->xcds + (xcd < c->cus % c->xcds);
}

uint32_t emu_config_engines(uint32_t die_cus) {
    return die_cus > 64 ? 8 : 4;
}

struct emu_cu_id emu_config_cu_id(const struct emu_config *c, uint32_t die_cus, uint32_t index) {
    uint32_t engines = emu_config_engines(die_cus);
    if (c->arch->pairs) {
        /* both CUs of a pair are in one array, of eight */
        uint32_t pair = index / 2, pair_in_engine = pair / engines;
        return (struct emu_cu_id){.se = pair % engines,
                                  .sh = pair_in_engine / 4 % 2,
                                  .cu = pair_in_engine % 4 * 2 + index % 2};
    }
    uint32_t in_engine = index / engines;
    return (struct emu_cu_id){
        .se = index % engines, .sh = in_engine / 16 % 2, .cu = in_engine % 16};
}

static bool parse_number(const char *key, const char *text, uint32_t lo, uint32_t hi, uint32_t *out,
                         char *err, size_t n) {
    char *end;
    errno = 0;
    unsigned long v = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || v < lo || v > hi) {
        snprintf(err, n, "device option %s=%s: expected a number from %u to %u", key, text, lo, hi);
        return false;
    }
    *out = (uint32_t)v;
    return true;
}

static bool parse_map(const char *text, struct emu_config *c, char *err, size_t n) {
    static const struct {
        const char *prefix;
        enum emu_map map;
        uint32_t most; /* of the number that follows */
    } maps[] = {
        {"rr", EMU_MAP_ROUND_ROBIN, 0},           {"block", EMU_MAP_BLOCK, 0},
        {"shuffle-", EMU_MAP_SHUFFLE, INT32_MAX}, {"fill-", EMU_MAP_FILL, EMU_MAX_XCDS - 1},
        {"", EMU_MAP_ROUND_ROBIN, EMU_MAX_CUS},
    };
    c->shift = 0;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        size_t length = strlen(maps[i].prefix);
        if (strncmp(text, maps[i].prefix, length) != 0) continue;
        c->map = maps[i].map;
        if (!maps[i].most && !text[length]) return true;
        if (maps[i].most && text[length] >= '0' && text[length] <= '9')
            return parse_number("map", text + length, 0, maps[i].most, &c->shift, err, n);
    }
    snprintf(err, n, "device option map=%s: expected rr, block, shuffle-SEED, fill-DIE or a number",
             text);
    return false;
}

/* A number, or the numbers of each die joined by +. */
static bool parse_cus(char *text, struct emu_config *c, char *err, size_t n) {
    memset(c->die_cus, 0, sizeof c->die_cus);
    if (!strchr(text, '+')) return parse_number("cus", text, 1, EMU_MAX_CUS, &c->cus, err, n);
    c->cus = c->xcds = 0;
    for (char *part; (part = strsep(&text, "+"));) {
        if (c->xcds == c->arch->max_xcds) {
            snprintf(err, n, "device option cus: dies of %s, at most %u", c->arch->name,
                     c->arch->max_xcds);
            return false;
        }
        uint32_t *die = &c->die_cus[c->xcds++];
        if (!parse_number("cus", part, 1, EMU_MAX_CUS - c->cus, die, err, n)) return false;
        c->cus += *die;
    }
    return true;
}

static bool parse_coherence(const char *text, struct emu_config *c, char *err, size_t n) {
    static const char *const names[] = {[EMU_COHERENCE_OFF] = "off",
                                        [EMU_COHERENCE_CACHES] = "caches",
                                        [EMU_COHERENCE_MODEL] = "model"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(text, names[i])) {
            c->coherence = (enum emu_coherence)i;
            return true;
        }
    snprintf(err, n, "device option coherence=%s: expected off, caches or model", text);
    return false;
}

/* KIB kibibytes; at least a few lines. */
static bool parse_limit(const char *key, const char *text, uint64_t *out, char *err, size_t n) {
    uint32_t kib;
    if (!parse_number(key, text, 1, 1 << 22, &kib, err, n)) return false;
    *out = (uint64_t)kib << 10;
    return true;
}

/* A number that is absent as 0. */
static bool parse_which(const char *key, const char *text, uint32_t *out, char *err, size_t n) {
    if (!parse_number(key, text, 0, INT32_MAX, out, err, n)) return false;
    ++*out;
    return true;
}

static bool parse_clock(const char *text, struct emu_config *c, char *err, size_t n) {
    c->counted = !strcmp(text, "instructions");
    c->times = 1;
    if (c->counted || !strcmp(text, "host")) return true;
    if (*text >= '0' && *text <= '9')
        return parse_number("clock", text, 1, 100000, &c->times, err, n);
    snprintf(err, n, "clock=%s: expected host, instructions, or how many times as fast", text);
    return false;
}

static bool parse_count(const char *text, struct emu_config *c, char *err, size_t n) {
    c->by_task = !strcmp(text, "tasks");
    if (c->by_task || !strcmp(text, "launches")) return true;
    snprintf(err, n, "count=%s: expected launches or tasks", text);
    return false;
}

static bool parse_option(char *option, struct emu_config *c, char *err, size_t n) {
    char *value = strchr(option, '=');
    if (!value) {
        snprintf(err, n, "device option \"%s\": expected NAME=VALUE", option);
        return false;
    }
    *value++ = 0;
    if (!strcmp(option, "cus")) return parse_cus(value, c, err, n);
    if (!strcmp(option, "xcds"))
        return parse_number("xcds", value, 1, c->arch->max_xcds, &c->xcds, err, n);
    if (!strcmp(option, "firstdie"))
        return parse_number("firstdie", value, 0, EMU_MAX_XCDS - 1, &c->first_die, err, n);
    if (!strcmp(option, "threads"))
        return parse_number("threads", value, 0, EMU_MAX_THREADS, &c->threads, err, n);
    if (!strcmp(option, "map")) return parse_map(value, c, err, n);
    if (!strcmp(option, "seed")) return parse_number("seed", value, 0, INT32_MAX, &c->seed, err, n);
    if (!strcmp(option, "links"))
        return parse_number("links", value, 0, INT32_MAX, &c->links, err, n);
    if (!strcmp(option, "coherence")) return parse_coherence(value, c, err, n);
    if (!strcmp(option, "clock")) return parse_clock(value, c, err, n);
    if (!strcmp(option, "count")) return parse_count(value, c, err, n);
    if (!strcmp(option, "l1")) return parse_limit("l1", value, &c->l1_limit, err, n);
    if (!strcmp(option, "l2")) return parse_limit("l2", value, &c->l2_limit, err, n);
    if (!strcmp(option, "budget"))
        return parse_number("budget", value, 0, INT32_MAX, &c->budget, err, n);
    if (!strcmp(option, "idle")) return parse_number("idle", value, 0, INT32_MAX, &c->idle, err, n);
    if (!strcmp(option, "starve")) return parse_which("starve", value, &c->starve, err, n);
    if (!strcmp(option, "slow")) return parse_which("slow", value, &c->slow, err, n);
    if (!strcmp(option, "stall")) return parse_which("stall", value, &c->stall, err, n);
    snprintf(err, n,
             "unknown device option \"%s\"; there are cus, xcds, firstdie, threads, map, seed, "
             "links, coherence, l1, l2, starve, slow, stall, clock, count, budget, idle",
             option);
    return false;
}

static bool parse_arch(const char *name, struct emu_config *c, char *err, size_t n) {
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (!strcmp(archs[i].name, name)) {
            c->arch = &archs[i];
            return true;
        }
    int used = snprintf(err, n, "no emulated device \"%s\"; there is", name);
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (used > 0 && (size_t)used < n)
            used += snprintf(err + used, n - (size_t)used, " %s", archs[i].name);
    return false;
}

static void fill_defaults(struct emu_config *c) {
    if (c->counted) c->threads = 1;
    if (!c->xcds) {
        uint32_t full = (c->cus + c->arch->cus_per_xcd - 1) / c->arch->cus_per_xcd;
        c->xcds = full > 2 ? full : 2;
        if (c->xcds > c->cus) c->xcds = c->cus;
        if (c->xcds > c->arch->max_xcds) c->xcds = c->arch->max_xcds;
    }
    if (!c->threads) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        c->threads = cores < 1 ? 1 : cores > EMU_MAX_THREADS ? EMU_MAX_THREADS : (uint32_t)cores;
    }
}

bool emu_config_parse(const char *spec, struct emu_config *out, char *err, size_t n) {
    char text[256];
    *out = (struct emu_config){0};
    if (strlen(spec) >= sizeof text) {
        snprintf(err, n, "device specification of %zu characters is too long", strlen(spec));
        return false;
    }
    strcpy(text, spec);
    struct emu_config c = {.cus = 8, .budget = DEFAULT_BUDGET, .idle = DEFAULT_IDLE};
    char *rest = text, *part = strsep(&rest, ":");
    if (!parse_arch(part, &c, err, n)) return false;
    while ((part = strsep(&rest, ":")))
        if (!parse_option(part, &c, err, n)) return false;
    if (c.xcds > c.cus) {
        snprintf(err, n, "xcds=%u is more than cus=%u: every die needs a compute unit", c.xcds,
                 c.cus);
        return false;
    }
    uint32_t listed = 0;
    while (listed < EMU_MAX_XCDS && c.die_cus[listed])
        listed++;
    if (listed && listed != c.xcds) {
        snprintf(err, n, "xcds=%u: cus= lists %u dies", c.xcds, listed);
        return false;
    }
    if (c.arch->pairs && c.cus % 2) {
        snprintf(err, n, "cus=%u: the compute units of %s come in pairs", c.cus, c.arch->name);
        return false;
    }
    fill_defaults(&c);
    if (c.map == EMU_MAP_FILL && c.shift >= c.xcds) {
        snprintf(err, n, "map=fill-%u: the dies are 0 to %u", c.shift, c.xcds - 1);
        return false;
    }
    if (c.first_die + c.xcds > EMU_MAX_XCDS) {
        snprintf(err, n, "firstdie=%u: %u dies would not have numbers below %u", c.first_die,
                 c.xcds, EMU_MAX_XCDS);
        return false;
    }
    if (c.slow > c.xcds) {
        snprintf(err, n, "slow=%u: the dies are 0 to %u", c.slow - 1, c.xcds - 1);
        return false;
    }
    *out = c;
    return true;
}
