/* Apart from input.c so that libetrt, which has messages and memory of its own, takes this alone.
 */
#include "runtime/files/input.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind(mode_t mode) {
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "is a folder, not a regular file";
    case S_IFIFO:
        return "is a pipe (FIFO), not a regular file";
    case S_IFCHR:
    case S_IFBLK:
        return "is a device, not a regular file";
    case S_IFSOCK:
        return "is a socket, not a regular file";
    default:
        return "is not a regular file";
    }
}

static int failed(char why[ET_WHY], const char *text) {
    snprintf(why, ET_WHY, "%s", text);
    return -1;
}

/* Looked at before it is opened, which some devices take for a command; and after, when it can no
 * longer be exchanged. */
int et_file_open(const char *path, uint64_t *out_bytes, char why[ET_WHY]) {
    struct stat st;
    if (stat(path, &st) != 0) return failed(why, strerror(errno));
    if (!S_ISREG(st.st_mode)) return failed(why, kind(st.st_mode));
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return failed(why, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return failed(why, kind(st.st_mode));
    }
    if (out_bytes) *out_bytes = (uint64_t)st.st_size;
    return fd;
}
