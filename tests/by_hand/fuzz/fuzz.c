#include "tests/by_hand/fuzz/fuzz.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

void fuzz_broken(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: broken: %s\n", file, line, what);
    abort();
}

static void remove_folder(void) {
    DIR *d = opendir(folder);
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') unlink(fuzz_path(e->d_name));
    closedir(d);
    rmdir(folder);
}

const char *fuzz_folder(void) {
    if (*folder) return folder;
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%s/etcc-fuzz-XXXXXX", base);
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(2);
    }
    atexit(remove_folder);
    return folder;
}

const char *fuzz_path(const char *name) {
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    return path;
}

bool fuzz_file(const char *name, const void *data, size_t bytes) {
    FILE *f = fopen(fuzz_path(name), "wb");
    bool ok = f && (!bytes || fwrite(data, bytes, 1, f) == 1);
    if (f && fclose(f)) ok = false;
    return ok;
}

FILE *fuzz_sink(void) {
    static FILE *sink;
    if (!sink) sink = fopen("/dev/null", "w");
    return sink;
}
