/* writer.h - GGUF files for tests, right ones and wrong ones; shares nothing with the reader. */
#ifndef GGUF_TEST_WRITER_H
#define GGUF_TEST_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
    unsigned char *at;
    size_t n, cap;
};
void put(struct buffer *, const void *data, size_t bytes);
void put_u32(struct buffer *, uint32_t);
void put_u64(struct buffer *, uint64_t);
void put_text(struct buffer *, const char *);

/* The parts of a file. Tensors' data may be put in any order: an info says where. */
struct writer {
    struct buffer values, infos, data;
    uint64_t nvalues, ntensors;
    uint32_t version, alignment;
};
void writer_init(struct writer *);
void writer_free(struct writer *);
/* All of it; free the result's .at. */
struct buffer writer_file(const struct writer *);
/* The same into a file; ends the program when it cannot. */
void writer_save(const struct writer *, const char *path);

void add_u32(struct writer *, const char *key, uint32_t);
void add_f32(struct writer *, const char *key, float);
void add_bool(struct writer *, const char *key, bool);
void add_text(struct writer *, const char *key, const char *);
/* Items of TYPE, BYTES of them in all. */
void add_array(struct writer *, const char *key, uint32_t type, uint64_t count, const void *items,
               size_t bytes);
/* A key and its type; what it holds is put to .values then. */
void add_key(struct writer *, const char *key, uint32_t type);
/* DIMS with the contiguous one first. */
void add_tensor(struct writer *, const char *name, int rank, const uint64_t *dims, uint32_t type,
                const void *data, size_t bytes);

/* A model of ARCH that is right in all that a test does not change; WITHOUT, a key, is left out, or
 * NULL. */
void add_small_model(struct writer *, const char *arch, const char *without);

#endif
