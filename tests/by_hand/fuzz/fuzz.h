/* fuzz.h - what the fuzz targets share.
 *
 * A target is one file that defines LLVMFuzzerTestOneInput. Linked with libFuzzer it is fuzzed;
 * linked with replay.c it runs files given on its command line, which is how every finding stays a
 * test. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* 0: the input was used; -1: it is not worth keeping. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Stop with a message when the code under test broke a promise it makes. */
#define FUZZ_EXPECT(cond)                                                                          \
    do {                                                                                           \
        if (!(cond)) fuzz_broken(__FILE__, __LINE__, #cond);                                       \
    } while (0)
_Noreturn void fuzz_broken(const char *file, int line, const char *what);

/* A folder of this process alone, in memory where there is /dev/shm; removed at exit. */
const char *fuzz_folder(void);
/* (Over)write a file of it; false when the system does not let us. */
bool fuzz_file(const char *name, const void *data, size_t bytes);
/* "FOLDER/NAME" in a static buffer. */
const char *fuzz_path(const char *name);

/* A stream that takes everything and keeps nothing. */
FILE *fuzz_sink(void);

#endif
