#include "runtime/etrt/hsa/library.h"

#include "runtime/etrt/error.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One entry per library; opened at most once at a time, counted. */
static struct slot {
    struct etrt_hsa hsa;
    int users;
    char spec[256];
} slots[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool try_open(struct etrt_hsa *hsa, const char *path, char *why, size_t why_bytes) {
    hsa->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!hsa->library && !*why) snprintf(why, why_bytes, "%s", dlerror());
    return hsa->library != NULL;
}

/* DIR/SUB/libetemu.so where DIR holds FILE; the first failure of a file that exists is kept, since
 * that is the one worth reading. */
static bool try_beside(struct etrt_hsa *hsa, const char *file, const char *sub, char *why,
                       size_t why_bytes) {
    const char *slash = strrchr(file, '/');
    char path[PATH_MAX];
    int n = slash
                ? snprintf(path, sizeof path, "%.*s/%slibetemu.so", (int)(slash - file), file, sub)
                : -1;
    if (n < 0 || (size_t)n >= sizeof path || access(path, F_OK) != 0) return false;
    return try_open(hsa, path, why, why_bytes);
}

static bool open_emulator(struct etrt_hsa *hsa, char *why, size_t why_bytes) {
    const char *chosen = secure_getenv("ETRT_EMU_LIB");
    if (chosen && *chosen) return try_open(hsa, chosen, why, why_bytes);
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = 0;
    if (try_beside(hsa, exe, "", why, why_bytes)) return true;
    Dl_info self;
    if (dladdr((void *)&slots, &self) && self.dli_fname &&
        try_beside(hsa, self.dli_fname, "", why, why_bytes))
        return true;
    if (try_beside(hsa, exe, "../lib/", why, why_bytes)) return true;
    if (try_beside(hsa, exe, ETRT_BIN_TO_LIB, why, why_bytes)) return true;
    if (try_beside(hsa, ETRT_INSTALL_LIBDIR, "", why, why_bytes)) return true;
    return try_open(hsa, "libetemu.so", why, why_bytes);
}

static etrt_status find_functions(struct etrt_hsa *hsa) {
#define X(name)                                                                                    \
    *(void **)&hsa->name = dlsym(hsa->library, #name);                                             \
    if (!hsa->name)                                                                                \
        return etrt_fail(ETRT_NO_DEVICE, "%s lacks " #name,                                        \
                         hsa->emulator ? "libetemu.so" : "libhsa-runtime64.so.1");
    ETRT_HSA_REQUIRED(X)
#undef X
#define X(name) *(void **)&hsa->name = dlsym(hsa->library, #name);
    ETRT_HSA_OPTIONAL(X)
#undef X
    return ETRT_OK;
}

static etrt_status open_library(struct etrt_hsa *hsa) {
    char why[1024] = "";
    if (hsa->emulator) {
        if (!open_emulator(hsa, why, sizeof why))
            return etrt_fail(ETRT_NO_DEVICE, "cannot open the emulator libetemu.so: %s", why);
    } else if (!try_open(hsa, "libhsa-runtime64.so.1", why, sizeof why) &&
               !try_open(hsa, "libhsa-runtime64.so", why, sizeof why)) {
        return etrt_fail(ETRT_NO_DEVICE, "no AMD GPU driver library: %s", why);
    }
    return find_functions(hsa);
}

const char *etrt_hsa_text(const struct etrt_hsa *hsa, hsa_status_t status) {
    const char *text = NULL;
    if (hsa->hsa_status_string(status, &text) != HSA_STATUS_SUCCESS || !text)
        return "unknown HSA status";
    return text;
}

static etrt_status start(struct slot *slot, const char *spec) {
    struct etrt_hsa *hsa = &slot->hsa;
    etrt_status st = open_library(hsa);
    if (st == ETRT_OK && hsa->emulator && spec) {
        char err[512] = "libetemu.so cannot be configured";
        if (!hsa->etemu_configure || hsa->etemu_configure(spec, err, sizeof err) != 0)
            st = etrt_fail(ETRT_INVALID, "device \"emu:%s\": %s", spec, err);
    }
    if (st == ETRT_OK) {
        hsa_status_t hs = hsa->hsa_init();
        const char *detail = hsa->etemu_last_fault ? hsa->etemu_last_fault() : "";
        if (hs != HSA_STATUS_SUCCESS)
            st = etrt_fail(ETRT_NO_DEVICE, "%s: hsa_init failed: %s",
                           hsa->emulator ? "emulator" : "no AMD GPU",
                           *detail ? detail : etrt_hsa_text(hsa, hs));
    }
    return st;
}

etrt_status etrt_hsa_open(bool emulator, const char *emu_spec, const struct etrt_hsa **out) {
    struct slot *slot = &slots[emulator];
    etrt_status st = ETRT_OK;
    *out = NULL;
    if (emu_spec && strlen(emu_spec) >= sizeof slot->spec)
        return etrt_fail(ETRT_INVALID, "the device specification is too long");
    pthread_mutex_lock(&lock);
    if (slot->users == 0) {
        memset(slot, 0, sizeof *slot);
        slot->hsa.emulator = emulator;
        st = start(slot, emu_spec);
        if (st == ETRT_OK && emu_spec) strcpy(slot->spec, emu_spec);
    } else if (emu_spec && strcmp(emu_spec, slot->spec) != 0) {
        st = etrt_fail(ETRT_INVALID, "the emulator already runs as \"emu:%s\" in this process",
                       slot->spec);
    }
    if (st == ETRT_OK) {
        slot->users++;
        *out = &slot->hsa;
    }
    pthread_mutex_unlock(&lock);
    return st;
}

void etrt_hsa_close(const struct etrt_hsa *hsa) {
    if (!hsa) return;
    struct slot *slot = &slots[hsa->emulator];
    pthread_mutex_lock(&lock);
    /* The library stays mapped: the vendor's does not survive being unloaded. */
    if (--slot->users == 0) hsa->hsa_shut_down();
    pthread_mutex_unlock(&lock);
}
