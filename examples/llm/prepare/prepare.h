/* prepare.h - a checkpoint or a GGUF file made ready to run: imported and compiled by the tools
 * beside this one, into a cache, once for each content, target and version.
 *
 * Failing calls leave why in ERR, LLM_ERR characters. */
#ifndef LLM_PREPARE_H
#define LLM_PREPARE_H

#include "examples/llm/base/error.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct prepare_options {
    const char *model;  /* a GGUF file, or a folder with a checkpoint */
    const char *device; /* as etrt_device_open takes it */
    const char *cache;  /* a folder; NULL: etcc in XDG_CACHE_HOME or ~/.cache */
    int64_t context; /* 0: what the model knows, at most 8,192, as far as the device has memory */
    int64_t slots;   /* 0: as etimport has them */
    int beside;      /* as many models share the device's memory; 0: it is alone */
    int64_t launch;  /* most tokens of a launch; 0: 256, of an emulator as etimport has it */
    bool resident;   /* the kernel can stay on the device */
    bool same_sums;  /* a token has the same bits in any launch (etcc --same-sums) */
};
struct prepared {
    char kernel[PATH_MAX], folder[PATH_MAX]; /* the checkpoint's */
};
/* Says on stderr what takes long. What was begun by another at the same time is made twice. */
bool prepare(const struct prepare_options *, struct prepared *out, char *err);

/* ---- for the files of this room ---- */

/* key.c: letters that stand for the content of PATH, a file or a checkpoint's folder, and for TEXT.
 * Large files count by their size and by samples. */
bool key_of(const char *path, const char *text, char out[24], char *err);
/* room.c: how many bytes all keys and values may take on the device. */
struct lm_device;
int64_t room_of(const struct prepare_options *, const char *folder, const struct lm_device *);
/* tools.c: runs a tool that lies beside this program; ARGV[0] is its name. What it prints goes to
 * LOG; where it fails, its end is in ERR. */
bool tool_run(const char *const *argv, const char *log, char *err);

#endif
