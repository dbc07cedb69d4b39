#include "runtime/etrt/base/file.h"

#include "runtime/etrt/base/error.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

etrt_status etrt_file_read(const char *path, void **out, size_t *out_bytes) {
    struct stat info;
    *out = NULL;
    *out_bytes = 0;
    FILE *file = fopen(path, "rbe");
    if (!file) return etrt_fail(ETRT_IO, "%s: %s", path, strerror(errno));
    etrt_status st = ETRT_OK;
    if (fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode))
        st = etrt_fail(ETRT_IO, "%s: not a regular file", path);
    size_t bytes = st == ETRT_OK ? (size_t)info.st_size : 0;
    char *data = st == ETRT_OK ? malloc(bytes + 1) : NULL;
    if (st == ETRT_OK && !data) st = etrt_fail(ETRT_NO_MEMORY, "%s: out of host memory", path);
    if (st == ETRT_OK && fread(data, 1, bytes, file) != bytes)
        st = etrt_fail(ETRT_IO, "%s: cannot be read whole", path);
    fclose(file);
    if (st != ETRT_OK) {
        free(data);
        return st;
    }
    *out = data;
    *out_bytes = bytes;
    return ETRT_OK;
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
