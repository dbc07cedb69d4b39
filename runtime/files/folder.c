/* Folders that tools write. */
#include "runtime/files/output.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Is PATH a folder without anything in it? False with errno. */
static bool is_empty(const char *path) {
    DIR *d = opendir(path);
    if (!d) return false;
    const struct dirent *e;
    do {
        errno = 0;
        e = readdir(d);
    } while (e && (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")));
    int why = e ? ENOTEMPTY : errno;
    closedir(d);
    errno = why;
    return !why;
}

/* PATH without links where it is there, and without slashes at its end. False with errno. */
static bool find_target(const char *path, char target[PATH_MAX]) {
    struct stat st;
    size_t n = strlen(path);
    if (stat(path, &st) == 0) return realpath(path, target) && is_empty(target);
    if (errno != ENOENT || n == 0) return false;
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(target, path, n);
    target[n] = 0;
    return true;
}

bool et_output_folder_open(et_output_folder *f, const char *path) {
    f->temporary[0] = 0;
    if (!find_target(path, f->target)) return false;
    int n = snprintf(f->temporary, PATH_MAX, "%s.%ld.tmp", f->target, (long)getpid());
    errno = n < 0 || n >= PATH_MAX ? ENAMETOOLONG : EMFILE;
    if (n < 0 || n >= PATH_MAX || !et_guard(f->temporary)) return false;
    if (mkdir(f->temporary, 0777) == 0) return true;
    int why = errno;
    et_unguard(f->temporary);
    errno = why;
    return false;
}

bool et_output_folder_close(et_output_folder *f, bool ok) {
    if (ok && rename(f->temporary, f->target) == 0) {
        et_unguard(f->temporary);
        return true;
    }
    int why = errno;
    et_folder_remove(f->temporary);
    errno = why;
    return false;
}
