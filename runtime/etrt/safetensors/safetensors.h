/* safetensors.h - shared by the safetensors sources only. */
#ifndef ETRT_SAFETENSORS_PRIVATE_H
#define ETRT_SAFETENSORS_PRIVATE_H

#include "runtime/etrt/safetensors/etrt_safetensors.h"

#include <jansson.h>

/* One mapped file. Its header's JSON owns the strings of its tensors. */
struct st_file {
    char *path;
    const unsigned char *map;
    size_t map_bytes;
    json_t *header;
    struct etrt_st_tensor *tensors;
    size_t count;
};

/* A tensor of the checkpoint and the file it is in. */
struct st_entry {
    struct etrt_st_tensor tensor; /* first: etrt_st_path goes back from it */
    const struct st_file *file;
};

struct etrt_st {
    struct st_file *files;
    size_t file_count;
    struct st_entry *entries; /* in file order */
    const struct st_entry **by_name;
    size_t count;
    struct st_file *modules; /* of folders that modules.json lists, and their tensors' names */
    size_t module_count;
    json_t *module_names;
};

bool st_fail(char *err, size_t err_bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

bool st_add_entry(struct etrt_st *, const struct st_file *, const struct etrt_st_tensor *);
/* The tensors of the modules of the directory DIR, if there are any. */
bool st_add_modules(struct etrt_st *, const char *dir, char *err, size_t err_bytes);
/* Map and check one .safetensors file. On failure OUT needs no close. */
bool st_file_open(const char *path, struct st_file *out, char *err, size_t err_bytes);
void st_file_close(struct st_file *);
/* Map a whole file; an empty one is an error. */
bool st_map(const char *path, const unsigned char **out, size_t *out_bytes, char *err,
            size_t err_bytes);
void st_unmap(const unsigned char *map, size_t bytes);
/* "line 1, column 2: reason" of a JSON error. */
bool st_json_fail(char *err, size_t err_bytes, const char *path, const json_error_t *json);

#endif
