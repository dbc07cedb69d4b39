#include "runtime/files/input.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *failed(char *data, char why[ET_WHY], const char *text) {
    free(data);
    snprintf(why, ET_WHY, "%s", text);
    return NULL;
}

static char *too_large(size_t max, char why[ET_WHY]) {
    snprintf(why, ET_WHY, "larger than %zu %s", max >> 20 ? max >> 20 : max,
             max >> 20 ? "MB" : "bytes");
    return NULL;
}

/* Read until it ends: the size is what the file had, and 0 for some that are made as they are read.
 */
static char *read_all(int fd, size_t room, size_t max, size_t *out_bytes, char why[ET_WHY]) {
    size_t n = 0;
    char *data = malloc(room + 1);
    for (;;) {
        if (!data) return failed(NULL, why, "out of memory");
        ssize_t got = read(fd, data + n, room - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return failed(data, why, strerror(errno));
        n += (size_t)got;
        if (n > max) {
            free(data);
            return too_large(max, why);
        }
        if (got == 0) break;
        if (n < room) continue;
        room = room > max / 2 ? max + 1 : 2 * room;
        char *more = realloc(data, room + 1);
        if (!more) return failed(data, why, "out of memory");
        data = more;
    }
    data[n] = 0;
    *out_bytes = n;
    return data;
}

char *et_file_read(const char *path, size_t max, size_t *out_bytes, char why[ET_WHY]) {
    uint64_t bytes = 0;
    *out_bytes = 0;
    int fd = et_file_open(path, &bytes, why);
    if (fd < 0) return NULL;
    char *data = NULL;
    if (bytes > max)
        too_large(max, why);
    else /* one byte more, to see the end without growing */
        data = read_all(fd, bytes ? (size_t)bytes + 1 : 65536, max, out_bytes, why);
    close(fd);
    return data;
}
