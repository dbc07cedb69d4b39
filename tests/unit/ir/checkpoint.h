/* checkpoint.h - tensors of a safetensors file as numbers, for tests that trust their files. */
#ifndef TEST_IR_CHECKPOINT_H
#define TEST_IR_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct checkpoint checkpoint;
checkpoint *checkpoint_open(const char *path); /* NULL when it cannot be read */
void checkpoint_close(checkpoint *);
/* The first COUNT elements of the tensor NAME, as floats or as int32 by its type; false when it has
 * fewer. */
bool checkpoint_read(const checkpoint *, const char *name, int64_t count, void *out);

/* The bytes of a file with a zero after them, to be freed; NULL when it cannot be read. */
char *read_whole_file(const char *path, int64_t *out_bytes);

#endif
