#include "examples/llm/prepare/prepare.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WHOLE = 1 << 20, SAMPLE = 1 << 16, SAMPLES = 64 };

static void add(uint64_t *hash, const void *data, size_t n) {
    const unsigned char *c = data;
    for (size_t i = 0; i < n; i++)
        *hash = (*hash ^ c[i]) * 0x100000001b3u;
}

/* The beginning, which has all names and shapes, the size, and samples of the rest. */
static bool add_file(uint64_t *hash, const char *path, char *err) {
    static const size_t room = WHOLE;
    FILE *f = fopen(path, "rb");
    struct stat st;
    char *data = malloc(room);
    bool ok =
        (f && data && fstat(fileno(f), &st) == 0) || llm_fail(err, "%s: %s", path, strerror(errno));
    if (ok) {
        int64_t size = st.st_size;
        add(hash, &size, sizeof size);
        add(hash, data, fread(data, 1, WHOLE, f));
        for (int i = 1; i <= SAMPLES && size > WHOLE; i++) {
            int64_t at = (size - SAMPLE) / SAMPLES * i;
            if (fseeko(f, at, SEEK_SET) == 0) add(hash, data, fread(data, 1, SAMPLE, f));
        }
    }
    free(data);
    if (f) fclose(f);
    return ok;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* DEPTH: so many folders inside of it count too, as those of modules.json. */
static bool add_folder(uint64_t *hash, const char *path, int depth, char *err) {
    DIR *d = opendir(path);
    char **names = NULL, file[PATH_MAX];
    size_t n = 0;
    struct stat st;
    if (!d) return llm_fail(err, "%s: %s", path, strerror(errno));
    for (struct dirent *e; (e = readdir(d));) {
        char **more = realloc(names, (n + 1) * sizeof *names);
        if (!more || !(more[n] = strdup(e->d_name))) break;
        names = more;
        n++;
    }
    closedir(d);
    if (n) qsort(names, n, sizeof *names, by_name);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        int length = snprintf(file, sizeof file, "%s/%s", path, names[i]);
        if (length >= (int)sizeof file || stat(file, &st) != 0) continue;
        bool folder = S_ISDIR(st.st_mode) && *names[i] != '.' && depth > 0;
        if (!folder && !S_ISREG(st.st_mode)) continue;
        add(hash, names[i], strlen(names[i]) + 1);
        ok = folder ? add_folder(hash, file, depth - 1, err) : add_file(hash, file, err);
    }
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    return ok;
}

bool key_of(const char *path, const char *text, char out[24], char *err) {
    uint64_t hash = 0xcbf29ce484222325u;
    struct stat st;
    if (stat(path, &st) != 0) return llm_fail(err, "%s: %s", path, strerror(errno));
    add(&hash, text, strlen(text));
    bool ok = S_ISDIR(st.st_mode) ? add_folder(&hash, path, 1, err) : add_file(&hash, path, err);
    snprintf(out, 24, "%016llx", (unsigned long long)hash);
    return ok;
}
