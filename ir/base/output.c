#include "ir/base/output.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_stdout(const char *path) {
    return strcmp(path, "-") == 0;
}

static bool is_special(const char *path) {
    struct stat st;
    if (is_stdout(path)) return true;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static bool put_name(char name[PATH_MAX], int n) {
    if (n >= 0 && n < PATH_MAX) return true;
    errno = ENAMETOOLONG;
    name[0] = 0;
    return false;
}

bool et_output_open(et_output *f, const char *path) {
    f->path = path;
    f->temporary[0] = 0;
    if (!is_special(path)) {
        int n = snprintf(f->temporary, PATH_MAX, "%s.%ld.tmp", path, (long)getpid());
        if (!put_name(f->temporary, n)) return false;
    }
    if (is_stdout(path)) { /* one's own stream, so that closing it closes nothing else */
        fflush(stdout);
        int fd = dup(STDOUT_FILENO);
        f->to = fd < 0 ? NULL : fdopen(fd, "w");
        return f->to != NULL;
    }
    f->to = fopen(f->temporary[0] ? f->temporary : path, "we");
    return f->to != NULL;
}

bool et_output_close(et_output *f, bool ok) {
    int why = errno;
    errno = 0;
    bool written = !ferror(f->to);
    if (fclose(f->to) != 0) written = false;
    if (written && ok && f->temporary[0]) written = rename(f->temporary, f->path) == 0;
    int failure = errno ? errno : EIO;
    if (!(written && ok) && f->temporary[0]) unlink(f->temporary);
    errno = written || !ok ? why : failure;
    return written && ok;
}

bool et_output_stem(const char *path, char stem[PATH_MAX]) {
    const char *folder = getenv("TMPDIR");
    if (!is_special(path)) {
        /* A tool that is given the name must not take it for an option. */
        return put_name(stem, snprintf(stem, PATH_MAX, "%s%s", *path == '-' ? "./" : "", path));
    }
    return put_name(stem,
                    snprintf(stem, PATH_MAX, "%s/output", folder && *folder ? folder : P_tmpdir));
}

bool et_output_move(const char *temporary, const char *path) {
    if (!is_special(path)) return rename(temporary, path) == 0;
    char buffer[1 << 16];
    size_t n;
    et_output out;
    FILE *from = fopen(temporary, "re");
    if (!from || !et_output_open(&out, path)) {
        int why = errno;
        if (from) fclose(from);
        errno = why;
        return false;
    }
    while ((n = fread(buffer, 1, sizeof buffer, from)) > 0 && fwrite(buffer, 1, n, out.to) == n)
        ;
    bool ok = et_output_close(&out, !ferror(from));
    fclose(from);
    if (ok) unlink(temporary);
    return ok;
}
