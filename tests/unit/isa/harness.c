/* harness.c - assembling, and a machine with one workgroup around the executor. */
#include "tests/unit/isa/harness.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int failures;

/* ---- the GPU ---- */

static const struct target targets[] = {
    {"gfx942", 64, "940"},   {"gfx90a", 64, "90a"},   {"gfx950", 64, "940"},
    {"gfx1100", 32, "1030"}, {"gfx1201", 32, "1030"},
};
const struct target *target = targets;

void target_choose(int argc, char **argv) {
    if (argc < 2) return;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (strcmp(targets[i].name, argv[1])) continue;
        target = &targets[i];
        return;
    }
    fprintf(stderr, "unknown GPU %s\n", argv[1]);
    exit(2);
}

/* ---- memory and clocks the executor asks for ---- */

enum { MAX_LIVE = 64 };
static struct emu_range live[MAX_LIVE];
static void *owned[MAX_LIVE];
static int nlive;

struct emu_range emu_memory_find(uint64_t addr) {
    for (int i = 0; i < nlive; i++)
        if (addr >= live[i].lo && addr < live[i].hi) return live[i];
    return (struct emu_range){.lo = 0};
}

void *live_alloc(size_t bytes, bool writable) {
    void *p = NULL;
    if (nlive == MAX_LIVE || posix_memalign(&p, 4096, bytes)) abort();
    memset(p, 0, bytes);
    owned[nlive] = p;
    live[nlive++] =
        (struct emu_range){.lo = (uintptr_t)p, .hi = (uintptr_t)p + bytes, .writable = writable};
    return p;
}

void live_drop(int n) {
    while (nlive && n--)
        free(owned[--nlive]);
}
void live_reset(void) {
    live_drop(MAX_LIVE);
}

static uint64_t ticks;
uint64_t emu_clock_realtime(void) {
    return 1000 + ticks++;
}
void emu_tasks_add(uint32_t task, const struct emu_task_counters *c) {
    (void)task;
    (void)c;
}
uint64_t emu_clock_cycles(void) {
    return 5000 + ticks++;
}

/* ---- code ---- */

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(2);
}

static uint8_t *read_file(const char *name, size_t *bytes) {
    FILE *f = fopen(name, "rb");
    if (!f) fail("cannot read the object file");
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    uint8_t *p = malloc((size_t)n + 1);
    if (!p || fread(p, 1, (size_t)n, f) != (size_t)n) fail("cannot read the object file");
    fclose(f);
    *bytes = (size_t)n;
    return p;
}

static const Elf64_Shdr *sections(const uint8_t *elf, int *n, const char **names) {
    const Elf64_Ehdr *h = (const void *)elf;
    const Elf64_Shdr *s = (const void *)(elf + h->e_shoff);
    *n = h->e_shnum;
    *names = (const char *)elf + s[h->e_shstrndx].sh_offset;
    return s;
}

static const Elf64_Shdr *find_text(const uint8_t *elf) {
    int n;
    const char *names;
    const Elf64_Shdr *s = sections(elf, &n, &names);
    for (int i = 0; i < n; i++)
        if (!strcmp(names + s[i].sh_name, ".text")) return &s[i];
    fail("the object file has no .text");
    return NULL;
}

bool code_choose(struct code *c, const char *kernel) {
    int n;
    const char *names;
    const Elf64_Shdr *s = sections(c->elf, &n, &names);
    size_t len = strlen(kernel);
    for (int i = 0; i < n; i++) {
        if (s[i].sh_type != SHT_SYMTAB) continue;
        const char *strings = (const char *)c->elf + s[s[i].sh_link].sh_offset;
        const Elf64_Sym *sym = (const void *)(c->elf + s[i].sh_offset);
        for (size_t k = 0; k < s[i].sh_size / sizeof *sym; k++) {
            const char *name = strings + sym[k].st_name;
            if (strncmp(name, kernel, len) || strcmp(name + len, ".kd")) continue;
            const Elf64_Shdr *in = &s[sym[k].st_shndx];
            memcpy(c->descriptor, c->elf + in->sh_offset + (sym[k].st_value - in->sh_addr), 64);
            int64_t entry;
            memcpy(&entry, c->descriptor + 16, 8);
            c->entry = sym[k].st_value + (uint64_t)entry - find_text(c->elf)->sh_addr;
            c->kernel = true;
            return true;
        }
    }
    return false;
}

static void run_tool(const char *command) {
    if (!system(command)) return;
    fprintf(stderr, "failed: %s\n", command);
    exit(2);
}

static void temp_name(char *out, size_t size, const char *ext) {
    static int serial;
    const char *dir = getenv("TMPDIR");
    snprintf(out, size, "%s/isa-test-%d-%d.%s", dir ? dir : "/tmp", (int)getpid(), serial++, ext);
}

struct code code_from_asm(const char *text) {
    char source[256], object[256], command[1024];
    struct code c = {.addr = 0x100000};
    temp_name(source, sizeof source, "s");
    temp_name(object, sizeof object, "o");
    FILE *f = fopen(source, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) fail("cannot write the assembly");
    snprintf(command, sizeof command,
             LLVM_MC " -triple=amdgcn-amd-amdhsa -mcpu=%s -filetype=obj %s -o %s", target->name,
             source, object);
    run_tool(command);
    size_t bytes;
    c.elf = read_file(object, &bytes);
    const Elf64_Shdr *t = find_text(c.elf);
    c.text = c.elf + t->sh_offset;
    c.bytes = t->sh_size;
    unlink(source);
    unlink(object);
    return c;
}

void assembler_knows(const char *const *lines, size_t n, bool *known) {
    char source[256], errors[256], command[1024], line[512];
    temp_name(source, sizeof source, "s");
    temp_name(errors, sizeof errors, "err");
    FILE *f = fopen(source, "w");
    if (!f) fail("cannot write the assembly");
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "%s\n", lines[i]);
        known[i] = true;
    }
    fclose(f);
    snprintf(command, sizeof command,
             LLVM_MC " -triple=amdgcn-amd-amdhsa -mcpu=%s -filetype=null %s 2> %s", target->name,
             source, errors);
    int status = system(command);
    size_t refused = 0, at, skip = strlen(source) + 1;
    f = fopen(errors, "r");
    if (!f) fail("cannot read the assembler's errors");
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, source, skip - 1) || !strstr(line, ": error:")) continue;
        if (sscanf(line + skip, "%zu", &at) == 1 && at >= 1 && at <= n) known[at - 1] = false;
        refused++;
    }
    fclose(f);
    if (status && !refused) fail("the assembler failed");
    unlink(source);
    unlink(errors);
}

/* ---- names ---- */

struct rename {
    const char *gfx9, *name;
};
static const struct rename since_gfx11[] = {
    {"v_add_u32", "v_add_nc_u32"},
    {"v_sub_u32", "v_sub_nc_u32"},
    {"v_subrev_u32", "v_subrev_nc_u32"},
    {"v_add_i32", "v_add_nc_i32"},
    {"v_sub_i32", "v_sub_nc_i32"},
    {"v_add_u16", "v_add_nc_u16"},
    {"v_sub_u16", "v_sub_nc_u16"},
    {"v_add_i16", "v_add_nc_i16"},
    {"v_sub_i16", "v_sub_nc_i16"},
    {"v_addc_co_u32", "v_add_co_ci_u32"},
    {"v_subb_co_u32", "v_sub_co_ci_u32"},
    {"v_subbrev_co_u32", "v_subrev_co_ci_u32"},
    {"v_ffbh_u32", "v_clz_i32_u32"},
    {"v_ffbl_b32", "v_ctz_i32_b32"},
    {"v_ffbh_i32", "v_cls_i32"},
    {"v_cvt_pkrtz_f16_f32", "v_cvt_pk_rtz_f16_f32"},
    {"v_cvt_rpi_i32_f32", "v_cvt_nearest_i32_f32"},
    {"v_cvt_flr_i32_f32", "v_cvt_floor_i32_f32"},
    {"v_cvt_pknorm_i16_f32", "v_cvt_pk_norm_i16_f32"},
    {"v_cvt_pknorm_u16_f32", "v_cvt_pk_norm_u16_f32"},
    {"v_cvt_pknorm_i16_f16", "v_cvt_pk_norm_i16_f16"},
    {"v_cvt_pknorm_u16_f16", "v_cvt_pk_norm_u16_f16"},
    {"s_andn2_b32", "s_and_not1_b32"},
    {"s_andn2_b64", "s_and_not1_b64"},
    {"s_orn2_b32", "s_or_not1_b32"},
    {"s_orn2_b64", "s_or_not1_b64"},
    {"s_ff1_i32_b32", "s_ctz_i32_b32"},
    {"s_ff1_i32_b64", "s_ctz_i32_b64"},
    {"s_flbit_i32_b32", "s_clz_i32_u32"},
    {"s_flbit_i32_b64", "s_clz_i32_u64"},
    {"s_flbit_i32", "s_cls_i32"},
    {"s_flbit_i32_i64", "s_cls_i32_i64"},
};
static const struct rename since_gfx12[] = {
    {"s_add_u32", "s_add_co_u32"},         {"s_sub_u32", "s_sub_co_u32"},
    {"s_add_i32", "s_add_co_i32"},         {"s_sub_i32", "s_sub_co_i32"},
    {"s_addc_u32", "s_add_co_ci_u32"},     {"s_subb_u32", "s_sub_co_ci_u32"},
    {"v_mad_u64_u32", "v_mad_co_u64_u32"}, {"v_mad_i64_i32", "v_mad_co_i64_i32"},
    {"v_min_f16", "v_min_num_f16"},        {"v_max_f16", "v_max_num_f16"},
    {"v_min_f32", "v_min_num_f32"},        {"v_max_f32", "v_max_num_f32"},
    {"v_min_f64", "v_min_num_f64"},        {"v_max_f64", "v_max_num_f64"},
    {"v_min3_f16", "v_min3_num_f16"},      {"v_max3_f16", "v_max3_num_f16"},
    {"v_med3_f16", "v_med3_num_f16"},      {"v_min3_f32", "v_min3_num_f32"},
    {"v_max3_f32", "v_max3_num_f32"},      {"v_med3_f32", "v_med3_num_f32"},
    {"v_minmax_f32", "v_minmax_num_f32"},  {"v_maxmin_f32", "v_maxmin_num_f32"},
    {"v_minmax_f16", "v_minmax_num_f16"},  {"v_maxmin_f16", "v_maxmin_num_f16"},
    {"v_pk_min_f16", "v_pk_min_num_f16"},  {"v_pk_max_f16", "v_pk_max_num_f16"},
};

static const char *renamed(const struct rename *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].gfx9, name)) return list[i].name;
    return name;
}

const char *target_name(const char *name) {
    if (target->lanes == 64) return name;
    if (!strcmp(target->name, "gfx1201"))
        name = renamed(since_gfx12, sizeof since_gfx12 / sizeof *since_gfx12, name);
    return renamed(since_gfx11, sizeof since_gfx11 / sizeof *since_gfx11, name);
}

struct code code_from_cl(const char *source) {
    static const char *const libraries[] = {"opencl",
                                            "ocml",
                                            "ockl",
                                            "oclc_daz_opt_off",
                                            "oclc_finite_only_off",
                                            "oclc_unsafe_math_off",
                                            "oclc_correctly_rounded_sqrt_on",
                                            "oclc_abi_version_500"};
    char object[256], command[4096];
    temp_name(object, sizeof object, "hsaco");
    int n = snprintf(command, sizeof command,
                     CLANG " -x cl -Xclang -finclude-default-header -cl-std=CL2.0 -target "
                           "amdgcn-amd-amdhsa -mcpu=%s -nogpulib -O2 -w "
                           "-cl-fp32-correctly-rounded-divide-sqrt %s -o %s",
                     target->name, source, object);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        n += snprintf(command + n, sizeof command - (size_t)n,
                      " -Xclang -mlink-builtin-bitcode -Xclang " BITCODE "/%s.bc", libraries[i]);
    snprintf(command + n, sizeof command - (size_t)n,
             " -Xclang -mlink-builtin-bitcode -Xclang " BITCODE "/oclc_isa_version_%s.bc"
             " -Xclang -mlink-builtin-bitcode -Xclang " BITCODE "/oclc_wavefrontsize64_%s.bc",
             target->isa_library, target->lanes == 64 ? "on" : "off");
    run_tool(command);
    size_t bytes;
    struct code c = {.elf = read_file(object, &bytes)};
    unlink(object);
    const Elf64_Ehdr *h = (const void *)c.elf;
    const Elf64_Phdr *p = (const void *)(c.elf + h->e_phoff);
    uint64_t end = 0;
    for (int i = 0; i < h->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && p[i].p_vaddr + p[i].p_memsz > end)
            end = p[i].p_vaddr + p[i].p_memsz;
    uint8_t *image = live_alloc(end, true);
    for (int i = 0; i < h->e_phnum; i++)
        if (p[i].p_type == PT_LOAD)
            memcpy(image + p[i].p_vaddr, c.elf + p[i].p_offset, p[i].p_filesz);
    const Elf64_Shdr *t = find_text(c.elf);
    c.text = image + t->sh_addr;
    c.bytes = t->sh_size;
    c.addr = (uintptr_t)c.text;
    return c;
}

void code_free(struct code *c) {
    emu_program_destroy(c->program);
    free(c->elf);
    memset(c, 0, sizeof *c);
}

/* ---- a workgroup ---- */

struct machine *machine_create(struct code *c, uint64_t entry, unsigned nwaves) {
    char err[256];
    struct machine *m = calloc(1, sizeof *m);
    if (!m) abort();
    if (!c->program &&
        !emu_program_create(target->name, c->addr, c->text, c->bytes, &c->program, err))
        fail(err);
    m->program = c->program;
    m->kernel = c->kernel;
    memcpy(m->descriptor, c->descriptor, 64);
    if (!c->kernel) {
        /* f32 and f16/f64 denormals kept, as LLVM asks for by default */
        uint32_t rsrc1 = 0xf0 << 12;
        memcpy(m->descriptor + 48, &rsrc1, 4);
    }
    m->dispatch.program = m->program;
    m->dispatch.descriptor = m->descriptor;
    m->dispatch.group_size[0] = m->dispatch.grid_size[0] = target->lanes * nwaves;
    m->dispatch.group_size[1] = m->dispatch.grid_size[1] = 1;
    m->dispatch.group_size[2] = m->dispatch.grid_size[2] = 1;
    m->dispatch.lds_bytes = sizeof m->lds;
    m->group.dispatch = &m->dispatch;
    m->group.nwaves = nwaves;
    m->group.lds = m->lds;
    m->group.waves = m->waves;
    for (unsigned i = 0; i < nwaves; i++) {
        m->waves[i] = aligned_alloc(64, (emu_wave_bytes(&m->dispatch) + 63) & ~(size_t)63);
        if (!m->waves[i]) abort();
    }
    machine_restart(m, entry);
    return m;
}

void machine_restart(struct machine *m, uint64_t entry) {
    m->dispatch.entry = m->program->addr + entry;
    memset(&m->fault, 0, sizeof m->fault);
    for (unsigned i = 0; i < m->group.nwaves; i++)
        emu_wave_init(m->waves[i], &m->group, i, NULL);
    if (!m->kernel) {
        for (unsigned i = 0; i < m->group.nwaves; i++) {
            memset(m->waves[i]->s, 0, 4 * S_FLAT_SCRATCH);
            memset(m->waves[i]->v + 1, 0, (m->waves[i]->nreg - 1) * sizeof *m->waves[i]->v);
        }
    }
}

void machine_destroy(struct machine *m) {
    for (unsigned i = 0; i < m->group.nwaves; i++)
        free(m->waves[i]);
    free(m);
}

enum emu_stop machine_run(struct machine *m) {
    bool ended[16] = {false};
    for (unsigned alive = m->group.nwaves; alive;) {
        alive = 0;
        for (unsigned i = 0; i < m->group.nwaves; i++) {
            enum emu_stop s = EMU_ENDED;
            while (!ended[i] && (s = emu_wave_run(m->waves[i], 100000, &m->fault)) != EMU_ENDED &&
                   s != EMU_BARRIER && s != EMU_FAULT)
                continue;
            if (s == EMU_FAULT) return s;
            ended[i] = s == EMU_ENDED;
            alive += !ended[i];
        }
    }
    return EMU_ENDED;
}

/* ---- random values ---- */

static uint64_t seed = 0x123456789abcdef;
uint64_t random64(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 0x2545f4914f6cdd1d;
}
uint32_t random32(void) {
    return (uint32_t)(random64() >> 32);
}

uint32_t random_f32(void) {
    static const uint32_t special[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000,
                                       0xff800000, 0x7fc00000, 0x00000001, 0x807fffff, 0x00800000,
                                       0x7f7fffff, 0x3f000000, 0x4b000000, 0xcf000000, 0x4f800000};
    uint32_t r = random32();
    switch (r & 7) {
    case 0:
        return special[(r >> 8) % (sizeof special / sizeof *special)];
    case 1:
        return random32(); /* any bits */
    case 2:
        return random32() & 0x807fffff; /* denormal */
    default: {
        float f = ((float)(int32_t)random32() / 2147483648.0f) * (float)(1u << (r >> 8 & 15));
        memcpy(&r, &f, 4);
        return r;
    }
    }
}
uint32_t random_f16(void) {
    static const uint16_t special[] = {0,      0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00,
                                       0x7e00, 1,      0x83ff, 0x400,  0x7bff};
    uint32_t r = random32();
    if (!(r & 7)) return special[(r >> 8) % (sizeof special / sizeof *special)];
    return r >> 16;
}
uint64_t random_f64(void) {
    static const uint64_t special[] = {0,
                                       0x8000000000000000,
                                       0x3ff0000000000000,
                                       0x7ff0000000000000,
                                       0xfff0000000000000,
                                       0x7ff8000000000000,
                                       1,
                                       0x7fefffffffffffff};
    uint32_t r = random32();
    if (!(r & 7)) return special[(r >> 8) % (sizeof special / sizeof *special)];
    if (r & 8) return random64();
    double d = (double)(int64_t)random64() / 1e15;
    memcpy(&r, &d, 4);
    uint64_t u;
    memcpy(&u, &d, 8);
    return u;
}
