/* replay FILE_OR_FOLDER... - run inputs through a fuzz target without libFuzzer. Every one must
 * come to an end, soon: an input that takes more than LIMIT seconds ends the program. A path that
 * does not exist is an empty corpus. */
#include "tests/by_hand/fuzz/fuzz.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT = 60 };

static int count;

static void run_file(const char *path, size_t bytes) {
    FILE *f = fopen(path, "rb");
    /* Exactly as large as the input, so that reading past it is seen. */
    uint8_t *data = malloc(bytes ? bytes : 1);
    if (!f || !data || fread(data, 1, bytes, f) != bytes) {
        perror(path);
        exit(2);
    }
    fclose(f);
    printf("%s\n", path);
    fflush(stdout);
    alarm(LIMIT);
    LLVMFuzzerTestOneInput(data, bytes);
    alarm(0);
    free(data);
    count++;
}

static void run(const char *path) {
    struct stat info;
    if (stat(path, &info)) return;
    if (!S_ISDIR(info.st_mode)) {
        run_file(path, (size_t)info.st_size);
        return;
    }
    struct dirent **list;
    int n = scandir(path, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char sub[PATH_MAX];
        if (list[i]->d_name[0] != '.' &&
            snprintf(sub, sizeof sub, "%s/%s", path, list[i]->d_name) < (int)sizeof sub)
            run(sub);
        free(list[i]);
    }
    if (n >= 0) free(list);
}

int main(int argc, char **argv) {
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++)
        run(argv[i]);
    printf("%d inputs\n", count);
    return 0;
}
