#include "runtime/files/output.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_stdout(const char *path) {
    return strcmp(path, "-") == 0;
}

static bool put_name(char name[PATH_MAX], int n) {
    if (n >= 0 && n < PATH_MAX) return true;
    errno = ENAMETOOLONG;
    name[0] = 0;
    return false;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Where PATH leads, there or not: realpath wants it to be there. False with errno. */
static bool follow(const char *path, char target[PATH_MAX]) {
    enum { MOST_LINKS = 40 };
    if (!put_name(target, snprintf(target, PATH_MAX, "%s", path))) return false;
    for (int i = 0; i < MOST_LINKS; i++) {
        char link[PATH_MAX], next[PATH_MAX];
        struct stat st;
        if (lstat(target, &st) != 0 || !S_ISLNK(st.st_mode)) return true;
        ssize_t n = readlink(target, link, sizeof link);
        if (n < 0 || !put_name(link, (int)n)) return false;
        link[n] = 0;
        int folder = *link == '/' ? 0 : (int)(base_name(target) - target);
        if (!put_name(next, snprintf(next, PATH_MAX, "%.*s%s", folder, target, link))) return false;
        strcpy(target, next);
    }
    errno = ELOOP;
    return false;
}

/* Beside TARGET, with a name that is not too long for a file where TARGET's own is not. */
static bool name_temporary(et_output *f) {
    char suffix[32];
    const char *base = base_name(f->target);
    int n = snprintf(suffix, sizeof suffix, ".%ld.tmp", (long)getpid()), most = NAME_MAX - n;
    size_t length = strlen(base);
    if (length == 0) {
        errno = *f->target ? EISDIR : ENOENT;
        return false;
    }
    if (length > NAME_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    return put_name(f->temporary, snprintf(f->temporary, PATH_MAX, "%.*s%.*s%s",
                                           (int)(base - f->target), f->target, most, base, suffix));
}

/* Without a name until it is complete, where the file system can do that: then nothing is left of
 * it even when the program is killed. Else guarded. */
static int open_temporary(et_output *f) {
    char folder[PATH_MAX];
    if (!name_temporary(f)) return -1;
    int n = (int)(base_name(f->target) - f->target);
    snprintf(folder, sizeof folder, "%.*s", n ? n : 1, n ? f->target : ".");
    int fd = access("/proc/self/fd", X_OK) == 0 /* gives it its name later */
                 ? open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666)
                 : -1;
    f->unnamed = fd >= 0;
    if (fd >= 0) return fd;
    bool guarded = et_guard(f->temporary);
    if (guarded)
        fd = open(f->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    else
        errno = EMFILE;
    if (fd < 0 && guarded) et_unguard(f->temporary);
    return fd;
}

/* A pipe that nobody reads refuses at once; a write to one that somebody reads waits for him. */
static int open_special(const char *path) {
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

bool et_output_open(et_output *f, const char *path) {
    struct stat st;
    f->path = path;
    f->to = NULL;
    f->unnamed = false;
    f->temporary[0] = f->target[0] = 0;
    int fd;
    if (is_stdout(path)) { /* one's own stream, so that closing it closes nothing else */
        fflush(stdout);
        fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    } else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        fd = open_special(path);
    } else if (!follow(path, f->target)) {
        return false;
    } else {
        fd = open_temporary(f);
    }
    if (fd < 0) return false;
    f->to = fdopen(fd, "w");
    if (f->to) return true;
    int why = errno;
    close(fd);
    if (f->temporary[0] && !f->unnamed) {
        unlink(f->temporary);
        et_unguard(f->temporary);
    }
    errno = why;
    return false;
}

/* FD, a file without a name, gets one. */
static bool give_name(int fd, const char *name) {
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    for (int again = 1;; again--) {
        if (linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0) return true;
        if (errno != EEXIST || !again || unlink(name) != 0) return false;
    }
}

/* The complete file takes the place of the target. */
static bool finish(et_output *f, int unnamed) {
    if (unnamed < 0) return rename(f->temporary, f->target) == 0;
    if (!et_guard(f->temporary)) return false;
    return give_name(unnamed, f->temporary) && rename(f->temporary, f->target) == 0;
}

bool et_output_close(et_output *f, bool ok) {
    int why = errno, unnamed = -1;
    errno = 0;
    bool written = !ferror(f->to) && fflush(f->to) == 0;
    if (written && ok && f->unnamed)
        written = (unnamed = fcntl(fileno(f->to), F_DUPFD_CLOEXEC, 0)) >= 0;
    if (fclose(f->to) != 0) written = false;
    if (written && ok && f->temporary[0]) written = finish(f, unnamed);
    int failure = errno ? errno : why ? why : EIO;
    if (unnamed >= 0) close(unnamed);
    if (f->temporary[0]) {
        if (!(written && ok)) unlink(f->temporary);
        et_unguard(f->temporary);
    }
    errno = written || !ok ? why : failure;
    return written && ok;
}

/* The folder that PATH, which is not there, would be in. */
static bool stat_folder(const char *path, struct stat *st) {
    char folder[PATH_MAX];
    int n = (int)(base_name(path) - path);
    return put_name(folder, snprintf(folder, PATH_MAX, "%.*s", n ? n : 1, n ? path : ".")) &&
           stat(folder, st) == 0;
}

static bool same_inode(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool et_same_file(const char *a, const char *b) {
    char x[PATH_MAX], y[PATH_MAX];
    struct stat s, t;
    if (is_stdout(a) || is_stdout(b)) return false;
    bool there = stat(a, &s) == 0;
    if (there != (stat(b, &t) == 0)) return false;
    if (there) return S_ISREG(s.st_mode) && same_inode(&s, &t);
    if (!follow(a, x) || !follow(b, y)) return false;
    return strcmp(base_name(x), base_name(y)) == 0 && stat_folder(x, &s) && stat_folder(y, &t) &&
           same_inode(&s, &t);
}
