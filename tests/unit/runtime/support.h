/* support.h - what the runtime's tests share. */
#ifndef RUNTIME_TEST_SUPPORT_H
#define RUNTIME_TEST_SUPPORT_H

#include <check.h>
#include <stddef.h>

/* A folder of this test alone, empty at first and removed after it. */
const char *scratch_folder(void);
/* A path in it; valid until 64 calls later. */
const char *scratch(const char *name);
void write_file(const char *path, const void *data, size_t bytes);
/* Free the result; a 0 follows the bytes. */
char *read_whole(const char *path, size_t *out_bytes);
/* A safetensors file out of a header text and data. */
void write_safetensors(const char *path, const char *header, const void *data, size_t bytes);
/* A copy of TEXT with the first FROM replaced by TO; fails the test when FROM is not there. */
char *replaced(const char *text, const char *from, const char *to);

/* TEXT with the frame of a manifest around it; free the result. */
char *framed(const char *text, size_t *out_bytes);
/* Make the frame that is in a file's bytes true again after its text was changed in place. */
void frame_again(char *file, size_t bytes);

#define expect_in(text, part)                                                                      \
    ck_assert_msg(strstr(text, part) != NULL, "\"%s\" not in \"%s\"", part, text)

/* Run all tests of a suite, each in a process of its own; returns main's value. */
int run_suite(const char *name, void (*add)(TCase *), int timeout_seconds);

#endif
