#include "runtime/etrt/hsa/library.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt/base/file.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One entry per library. It is opened once and stays: the vendor's does not survive being unloaded.
 * Its users are counted between hsa_init and hsa_shut_down. */
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
    if (chosen && *chosen)
        return etrt_library_check(chosen, why, why_bytes) && try_open(hsa, chosen, why, why_bytes);
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

/* The functions stand in struct etrt_hsa in the order of these names. */
#define X(name) #name "\0"
static const char required[] = ETRT_HSA_REQUIRED(X), optional[] = ETRT_HSA_OPTIONAL(X);
#undef X

static etrt_status find_functions(struct etrt_hsa *hsa) {
    char *slot = (char *)hsa + offsetof(struct etrt_hsa, hsa_init);
    for (int pass = 0; pass < 2; pass++)
        for (const char *name = pass ? optional : required; *name; name += strlen(name) + 1) {
            void *function = dlsym(hsa->library, name);
            if (!function && !pass)
                return etrt_fail(ETRT_NO_DEVICE, "%s lacks %s",
                                 hsa->emulator ? "libetemu.so" : "libhsa-runtime64.so.1", name);
            memcpy(slot, &function, sizeof function);
            slot += sizeof function;
        }
    return ETRT_OK;
}

static etrt_status open_library(struct etrt_hsa *hsa, bool emulator) {
    char why[1024] = "";
    if (hsa->library) return ETRT_OK;
    hsa->emulator = emulator;
    if (emulator) {
        if (!open_emulator(hsa, why, sizeof why))
            return etrt_fail(ETRT_NO_DEVICE, "cannot open the emulator libetemu.so: %s", why);
    } else if (!try_open(hsa, "libhsa-runtime64.so.1", why, sizeof why) &&
               !try_open(hsa, "libhsa-runtime64.so", why, sizeof why)) {
        return etrt_fail(ETRT_NO_DEVICE, "no AMD GPU driver library: %s", why);
    }
    etrt_status st = find_functions(hsa);
    if (st != ETRT_OK) {
        dlclose(hsa->library);
        memset(hsa, 0, sizeof *hsa);
    }
    return st;
}

const char *etrt_hsa_text(const struct etrt_hsa *hsa, hsa_status_t status) {
    const char *text = NULL;
    if (hsa->hsa_status_string(status, &text) != HSA_STATUS_SUCCESS || !text)
        return "unknown HSA status";
    return text;
}

/* What the environment says the emulator is, or NULL. */
static const char *usual_spec(void) {
    const char *spec = secure_getenv("ETEMU_DEVICE");
    return spec && *spec ? spec : NULL;
}

static etrt_status start(struct slot *slot, const char *spec) {
    struct etrt_hsa *hsa = &slot->hsa;
    etrt_status st = ETRT_OK;
    if (!spec) spec = usual_spec();
    if (hsa->emulator && spec) {
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
    st = open_library(&slot->hsa, emulator);
    if (st != ETRT_OK) {
    } else if (slot->users == 0) {
        slot->spec[0] = 0;
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

etrt_status etrt_hsa_settled(bool *out) {
    pthread_mutex_lock(&lock);
    etrt_status st = open_library(&slots[true].hsa, true);
    *out = slots[true].users > 0 || usual_spec();
    pthread_mutex_unlock(&lock);
    return st;
}

void etrt_hsa_close(const struct etrt_hsa *hsa) {
    if (!hsa) return;
    struct slot *slot = &slots[hsa->emulator];
    pthread_mutex_lock(&lock);
    if (--slot->users == 0) hsa->hsa_shut_down();
    pthread_mutex_unlock(&lock);
}
