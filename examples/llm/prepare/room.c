/* How many bytes keys and values may take, where nobody says how many positions there are. */
#include "examples/llm/engine/lm.h"
#include "examples/llm/prepare/prepare.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Of a checkpoint's weights. */
static uint64_t weights_bytes(const char *folder) {
    uint64_t sum = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        char path[PATH_MAX];
        struct stat st;
        const char *end = strstr(e->d_name, ".safetensors");
        if (!end || end[12]) continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < PATH_MAX &&
            stat(path, &st) == 0)
            sum += (uint64_t)st.st_size;
    }
    if (d) closedir(d);
    return sum;
}

int64_t room_of(const struct prepare_options *o, const char *folder, const struct lm_device *d) {
    const uint64_t emulated = 1 << 30, lot = 64 << 20;
    /* Its memory is the host's, and is cleared before the first launch. */
    if (d->emulated) return (int64_t)emulated;
    uint64_t memory = d->memory / (uint64_t)(o->beside ? o->beside : 1);
    uint64_t weights = weights_bytes(folder);
    /* A tenth is for what else launches need. */
    uint64_t room = memory / 10 * 9 > weights ? memory / 10 * 9 - weights : 0;
    /* What the kernel's name in the cache depends on does not change with a few bytes. */
    return (int64_t)(room / lot * lot);
}
