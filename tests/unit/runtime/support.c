#include "tests/unit/runtime/support.h"

#include "runtime/etrt_abi.h"

#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[256];
static pid_t owner;

static void remove_tree(const char *path) {
    char name[PATH_MAX];
    DIR *d = opendir(path);
    if (!d) {
        unlink(path);
        return;
    }
    for (struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            snprintf(name, sizeof name, "%s/%s", path, e->d_name);
            remove_tree(name);
        }
    closedir(d);
    rmdir(path);
}

static void clean(void) {
    if (getpid() == owner) remove_tree(folder);
}

/* A test's process nests its folder in the one its parent removes, whatever becomes of the test. */
const char *scratch_folder(void) {
    char parent[sizeof folder - 16];
    const char *outer = getenv("TMPDIR");
    if (owner == getpid()) return folder;
    if (*folder)
        snprintf(parent, sizeof parent, "%.200s/t", folder);
    else
        snprintf(parent, sizeof parent, "%.200s/etrt-test", outer ? outer : "/tmp");
    snprintf(folder, sizeof folder, "%s-XXXXXX", parent);
    if (!mkdtemp(folder)) abort();
    owner = getpid();
    atexit(clean);
    return folder;
}

const char *scratch(const char *name) {
    static char paths[64][PATH_MAX];
    static unsigned turn;
    char *path = paths[turn++ % 64];
    snprintf(path, PATH_MAX, "%s/%s", scratch_folder(), name);
    return path;
}

void write_file(const char *path, const void *data, size_t bytes) {
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    if (bytes) ck_assert_uint_eq(fwrite(data, 1, bytes, f), bytes);
    ck_assert_int_eq(fclose(f), 0);
}

char *read_whole(const char *path, size_t *out_bytes) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        abort(); /* main uses this too, where no test can fail */
    }
    size_t used = 0, room = 4096;
    char *data = malloc(room + 1);
    for (size_t n; (n = fread(data + used, 1, room - used, f)) > 0;)
        if ((used += n) == room) data = realloc(data, (room *= 2) + 1);
    fclose(f);
    data[used] = 0;
    if (out_bytes) *out_bytes = used;
    return data;
}

void write_safetensors(const char *path, const char *header, const void *data, size_t bytes) {
    uint64_t n = strlen(header);
    char *all = malloc(8 + n + bytes + 1);
    memcpy(all, &n, 8);
    memcpy(all + 8, header, n);
    if (bytes) memcpy(all + 8 + n, data, bytes);
    write_file(path, all, 8 + n + bytes);
    free(all);
}

char *replaced(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    ck_assert_msg(at != NULL, "\"%s\" is not in the text", from);
    char *out = malloc(strlen(text) + strlen(to) + 1);
    sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

char *framed(const char *text, size_t *out_bytes) {
    size_t n = strlen(text);
    char *all = malloc(ETRT_MANIFEST_HEAD + n + 1);
    sprintf(all, "%s%08zx %08x\n%s", ETRT_MANIFEST_MAGIC, n, etrt_manifest_sum(text, n), text);
    *out_bytes = ETRT_MANIFEST_HEAD + n;
    return all;
}

void frame_again(char *file, size_t bytes) {
    char *head = memmem(file, bytes, ETRT_MANIFEST_MAGIC, strlen(ETRT_MANIFEST_MAGIC)), sum[9];
    ck_assert_ptr_nonnull(head);
    size_t n = strtoul(head + strlen(ETRT_MANIFEST_MAGIC), NULL, 16);
    snprintf(sum, sizeof sum, "%08x", etrt_manifest_sum(head + ETRT_MANIFEST_HEAD, n));
    memcpy(head + strlen(ETRT_MANIFEST_MAGIC) + 9, sum, 8);
}

int run_suite(const char *name, void (*add)(TCase *), int timeout_seconds) {
    scratch_folder();
    Suite *suite = suite_create(name);
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, timeout_seconds);
    add(tc);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
