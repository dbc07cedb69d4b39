#include "runtime/etrt/base/file.h"

#include "runtime/etrt/base/error.h"
#include "runtime/files/input.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static etrt_status read_fd(int fd, const char *path, size_t bytes, void **out) {
    char *data = malloc(bytes + 1);
    if (!data) return etrt_fail(ETRT_NO_MEMORY, "%s: out of host memory", path);
    for (size_t n = 0; n < bytes;) {
        ssize_t got = read(fd, data + n, bytes - n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            free(data);
            return etrt_fail(ETRT_IO, "%s: %s", path,
                             got ? strerror(errno) : "became shorter while it was read");
        }
        n += (size_t)got;
    }
    *out = data;
    return ETRT_OK;
}

/* Sizes are compared before anything is read or allocated. */
etrt_status etrt_file_read(const char *path, uint64_t least, uint64_t most, void **out,
                           size_t *out_bytes) {
    char why[ET_WHY];
    uint64_t bytes;
    *out = NULL;
    *out_bytes = 0;
    int fd = et_file_open(path, &bytes, why);
    if (fd < 0) return etrt_fail(ETRT_IO, "%s: %s", path, why);
    etrt_status st = ETRT_OK;
    if (least == most && bytes != most)
        st = etrt_fail(ETRT_FORMAT, "%s: has %llu bytes, not %llu", path, (unsigned long long)bytes,
                       (unsigned long long)most);
    else if (bytes < least || bytes > most)
        st = etrt_fail(ETRT_FORMAT, "%s: has %llu bytes, not %llu to %llu", path,
                       (unsigned long long)bytes, (unsigned long long)least,
                       (unsigned long long)most);
    if (st == ETRT_OK) st = read_fd(fd, path, (size_t)bytes, out);
    if (st == ETRT_OK) *out_bytes = (size_t)bytes;
    close(fd);
    return st;
}

bool etrt_library_check(const char *path, char *why, size_t why_bytes) {
    char reason[ET_WHY];
    int fd = strchr(path, '/') ? et_file_open(path, NULL, reason) : -1;
    if (fd >= 0) close(fd);
    if (fd >= 0 || !strchr(path, '/')) return true;
    snprintf(why, why_bytes, "%s: %s", path, reason);
    return false;
}

etrt_status etrt_file_write(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wbxe");
    if (!file) return etrt_fail(ETRT_IO, "%s: %s", path, strerror(errno));
    bool ok = !bytes || fwrite(data, bytes, 1, file) == 1;
    int why = ok ? 0 : errno;
    if (fclose(file) != 0 && ok) {
        ok = false;
        why = errno;
    }
    return ok ? ETRT_OK : etrt_fail(ETRT_IO, "%s: %s", path, strerror(why));
}

void etrt_folder_remove(const char *path) {
    char name[PATH_MAX];
    DIR *d = opendir(path);
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));) {
        int n = snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && n > 0 &&
            (size_t)n < sizeof name)
            unlink(name);
    }
    closedir(d);
    rmdir(path);
}
