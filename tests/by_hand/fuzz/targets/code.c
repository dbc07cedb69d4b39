/* A code object through both of its readers: the emulator's loader and libetrt's. */
#include "runtime/emu/base/config.h"
#include "runtime/emu/memory/loader.h"
#include "runtime/emu/memory/memory.h"
#include "runtime/etrt/manifest/elf_file.h"
#include "runtime/etrt/manifest/manifest.h"
#include "tests/by_hand/fuzz/fuzz.h"

#include <string.h>

static void load(const struct emu_config *config, const void *image, size_t bytes) {
    char err[256] = "", where[256];
    hsa_status_t status = HSA_STATUS_SUCCESS;
    struct emu_code *code = emu_code_load(image, bytes, config, &status, err);
    if (!code) {
        FUZZ_EXPECT(status != HSA_STATUS_SUCCESS && *err);
        return;
    }
    for (size_t i = 0; i < code->nsymbols; i++) {
        const struct emu_symbol *s = &code->symbols[i];
        FUZZ_EXPECT(strlen(s->name) < bytes);
        emu_code_where(s->addr, where, sizeof where);
        if (!s->kernel) continue;
        const struct emu_symbol *found = emu_code_find_kernel(s->addr);
        FUZZ_EXPECT(found && found->code == code);
        emu_code_release(found->code);
        struct emu_descriptor kd;
        memcpy(&kd, (const void *)(uintptr_t)s->addr, sizeof kd);
        FUZZ_EXPECT(emu_code_text(code, s->addr + (uint64_t)kd.entry_offset));
    }
    emu_code_release(code);
    emu_memory_reset();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static struct emu_config config;
    char err[256];
    uint64_t value, lo, hi;
    struct etrt_manifest m;
    if (!config.arch && !emu_config_parse("gfx942:cus=2:threads=1", &config, err, sizeof err))
        fuzz_broken(__FILE__, __LINE__, err);
    load(&config, data, bytes);
    if (etrt_manifest_of_code(data, bytes, &m) == ETRT_OK) etrt_manifest_free(&m);
    etrt_elf_symbol(data, bytes, "tiny.kd", &value);
    if (etrt_elf_extent(data, bytes, &lo, &hi) == ETRT_OK) FUZZ_EXPECT(lo < hi);
    return 0;
}
