#include "tests/unit/ir/checkpoint.h"
#include "runtime/etrt_dtype.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct checkpoint {
    char *bytes;
    int64_t size;
    const char *data; /* after the header */
    json_t *header;
};

char *read_whole_file(const char *path, int64_t *out_bytes) {
    FILE *in = fopen(path, "rb");
    if (!in) return NULL;
    fseek(in, 0, SEEK_END);
    int64_t n = ftell(in);
    rewind(in);
    char *bytes = malloc((size_t)n + 1);
    bool ok = bytes && fread(bytes, 1, (size_t)n, in) == (size_t)n;
    fclose(in);
    if (!ok) {
        free(bytes);
        return NULL;
    }
    bytes[n] = 0;
    *out_bytes = n;
    return bytes;
}

checkpoint *checkpoint_open(const char *path) {
    checkpoint *c = calloc(1, sizeof *c);
    uint64_t header = 0;
    if (!c) return NULL;
    c->bytes = read_whole_file(path, &c->size);
    if (c->bytes && c->size >= 8) memcpy(&header, c->bytes, 8);
    if (header > 0 && header <= (uint64_t)c->size - 8) {
        c->header = json_loadb(c->bytes + 8, header, 0, NULL);
        c->data = c->bytes + 8 + header;
    }
    if (!c->header) {
        checkpoint_close(c);
        return NULL;
    }
    return c;
}

void checkpoint_close(checkpoint *c) {
    json_decref(c->header);
    free(c->bytes);
    free(c);
}

static int bytes_of(const char *dtype) {
    return strcmp(dtype, "BF16") == 0                               ? 2
           : strcmp(dtype, "F32") == 0 || strcmp(dtype, "I32") == 0 ? 4
                                                                    : 0;
}

bool checkpoint_read(const checkpoint *c, const char *name, int64_t count, void *out) {
    json_t *t = json_object_get(c->header, name);
    const char *dtype = json_string_value(json_object_get(t, "dtype"));
    json_t *range = json_object_get(t, "data_offsets");
    int64_t begin = json_integer_value(json_array_get(range, 0));
    int64_t end = json_integer_value(json_array_get(range, 1));
    int size = dtype ? bytes_of(dtype) : 0;
    const char *from = c->data + begin;
    if (!size || begin < 0 || (end - begin) / size < count || end > c->bytes + c->size - c->data)
        return false;
    if (size == 4) memcpy(out, from, (size_t)count * 4);
    for (int64_t i = 0; size == 2 && i < count; i++) {
        uint16_t half;
        memcpy(&half, from + 2 * i, 2);
        ((float *)out)[i] = etrt_bf16_to_f32(half);
    }
    return true;
}
