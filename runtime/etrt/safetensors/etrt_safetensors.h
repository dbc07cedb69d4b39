/* etrt_safetensors.h - read and write safetensors files and checkpoints made of them.
 *
 * Needs nothing of libetrt but this pair of files and JSON; etrun and the examples link the CMake
 * target etrt_safetensors. Failing calls return false with one line in ERR (always terminated)
 * that names the file and, where one is at fault, the tensor. */
#ifndef ETRT_SAFETENSORS_H
#define ETRT_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ETRT_ST_MAX_RANK 8
#define ETRT_ST_ERR 512 /* a good size for ERR */

struct etrt_st_tensor {
    const char *name;
    const char *dtype; /* as the format spells it: "F32", "BF16", "I32", ... */
    int rank;
    int64_t shape[ETRT_ST_MAX_RANK];
    const void *data; /* may be unaligned in files that others wrote: memcpy out of it */
    size_t bytes;
};

struct etrt_st; /* an open checkpoint: one file, or the shards of an index */

/* PATH is a .safetensors file, an index ("*.safetensors.index.json"), or a directory that holds
 * model.safetensors.index.json, model.safetensors, or exactly one .safetensors file. Of a directory
 * with a modules.json, model.safetensors in a folder that its entry I names as "path" belongs to
 * it, too: a tensor T there is called modules.I.T. Everything is checked here: header, types,
 * shapes against sizes, overlaps, holes, truncation. A tensor of F4, two elements in a byte, is
 * seen as one of U8, bytes of such pairs: its last dimension is half as long. The files stay mapped
 * until close, so tensors' strings and data live that long. */
bool etrt_st_open(const char *path, struct etrt_st **out, char *err, size_t err_bytes);
void etrt_st_close(struct etrt_st *); /* NULL is fine */

size_t etrt_st_count(const struct etrt_st *);
const struct etrt_st_tensor *etrt_st_at(const struct etrt_st *, size_t index);
const struct etrt_st_tensor *etrt_st_find(const struct etrt_st *, const char *name); /* or NULL */
/* The file a tensor of this checkpoint is in, for messages. */
const char *etrt_st_path(const struct etrt_st *, const struct etrt_st_tensor *);

/* Bytes of one element, or 0 for a dtype that is not known. */
size_t etrt_st_dtype_bytes(const char *dtype);
/* "[3, 40]" for messages; returns BUF. */
char *etrt_st_shape_text(int rank, const int64_t *shape, char *buf, size_t buf_bytes);

/* Write COUNT tensors (names must differ; each .bytes must be what dtype and shape give) to PATH:
 * whole or not at all, as runtime/files/output.h says. */
bool etrt_st_write(const char *path, const struct etrt_st_tensor *tensors, size_t count, char *err,
                   size_t err_bytes);

/* The same for tensors that are made as they are written, whose .data is not looked at: GIVE is
 * called once for each, in the order of the file, and puts all .bytes of tensor INDEX, in pieces of
 * any size. When it returns false, or puts another number of bytes, nothing is written and ERR is
 * empty: GIVE knows what was wrong. */
struct etrt_st_sink;
bool etrt_st_put(struct etrt_st_sink *, const void *data, size_t bytes);
typedef bool (*etrt_st_source)(void *user, size_t index, struct etrt_st_sink *);
bool etrt_st_write_from(const char *path, const struct etrt_st_tensor *tensors, size_t count,
                        etrt_st_source give, void *user, char *err, size_t err_bytes);

#ifdef __cplusplus
}
#endif
#endif
