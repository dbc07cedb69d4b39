/* quantise.h - rows of numbers as blocks of GGUF's formats, to the nearest codes, for tests. */
#ifndef GGUF_TEST_QUANTISE_H
#define GGUF_TEST_QUANTISE_H

#include "tests/unit/gguf/writer.h"

/* A format: its number in files, and what a block of ELEMENTS, of BYTES, is made by. */
struct quantiser {
    const char *name; /* "q4_k" */
    uint32_t type;
    int elements, bytes;
    void (*block)(const float *from, unsigned char *to);
};
/* The one called NAME, or NULL. */
const struct quantiser *quantiser_called(const char *name);
/* N elements, a multiple of the block, behind what is in TO. */
void quantise(const struct quantiser *, const float *from, size_t n, struct buffer *to);

#endif
