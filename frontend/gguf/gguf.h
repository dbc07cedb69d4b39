/* gguf.h - a GGUF file, checked: its metadata and where its tensors are.
 *
 * Nothing of the file is trusted. Counts, lengths and offsets are held against the bytes there are
 * before anything is allocated for them, so that what is allocated is at most a small multiple of
 * the file's header. Failing calls return false, or what stands for nothing, with one line in the
 * fault that names the file and the field. */
#ifndef ET_GGUF_H
#define ET_GGUF_H

#include "ir/base/arena.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { GGUF_MOST_DIMS = 4 };

/* What was wrong, first of all: what follows does not replace it. */
struct gguf_fault {
    char text[600];
};
void gguf_note(struct gguf_fault *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* False, where compilers see it. */
#define gguf_fail(...) (gguf_note(__VA_ARGS__), false)

/* Text of the file: not ended by a 0, and it may hold any bytes. */
struct gguf_text {
    const char *at;
    size_t bytes;
};
/* TEXT for messages: at most some 80 characters of it, '?' for what is not printable. One of a few
 * buffers, used in turn. */
const char *gguf_shown(struct gguf_text);
bool gguf_is(struct gguf_text, const char *);

enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_TYPES
};

/* A value of the metadata, or an item of an array. */
struct gguf_value {
    struct gguf_text key;
    enum gguf_type type, item; /* ITEM: of an array */
    uint64_t count;            /* of an array; 1 otherwise */
    const unsigned char *at;   /* the value; the first item of an array */
};

struct gguf_tensor {
    struct gguf_text name;
    int rank;
    uint64_t dims[GGUF_MOST_DIMS]; /* the first one is contiguous; 1 beyond the rank */
    uint32_t type;                 /* a row of gguf_format */
    uint64_t offset, bytes;        /* in the file */
    uint64_t elements;
};

struct gguf {
    const char *path; /* the caller's */
    struct gguf_fault *fault;
    et_arena *arena;
    int fd; /* -1: of bytes in memory */
    const unsigned char *map;
    size_t bytes;
    uint32_t version;
    uint64_t alignment;
    struct gguf_value *values; /* sorted by key */
    int nvalues, cvalues;
    struct gguf_tensor *tensors; /* sorted by name */
    int ntensors, ctensors;
};

/* PATH, a regular file, mapped until it is closed: of the map the header alone is read, tensors
 * come by gguf_read. On failure OUT needs no close. Reports to FAULT also later. */
bool gguf_open(const char *path, et_arena *, struct gguf_fault *, struct gguf *out);
void gguf_close(struct gguf *);
/* The same for bytes in memory, which stay the caller's; PATH is for messages. */
bool gguf_parse(const char *path, const void *data, size_t bytes, et_arena *, struct gguf_fault *,
                struct gguf *out);
/* BYTES of the file from OFFSET on. */
bool gguf_read(const struct gguf *, uint64_t offset, void *to, size_t bytes);

/* ---- values.c ---- */

/* The value called KEY, or NULL. */
const struct gguf_value *gguf_find(const struct gguf *, const char *key);
/* Below, the value called KEY. Absent: DEFAULT, without an error. Of another type than asked for:
 * an error. Integers of all types serve as one, f32 and f64 too. */
bool gguf_get_int(const struct gguf *, const char *key, int64_t otherwise, int64_t *out);
bool gguf_get_real(const struct gguf *, const char *key, double otherwise, double *out);
bool gguf_get_bool(const struct gguf *, const char *key, bool otherwise, bool *out);
/* .at NULL where there is none. */
bool gguf_get_text(const struct gguf *, const char *key, struct gguf_text *out);
/* An array whose items are all ITEM, which is not GGUF_ARRAY; *OUT NULL where there is none. */
bool gguf_get_array(const struct gguf *, const char *key, enum gguf_type item,
                    const struct gguf_value **out);
/* Item I of a value, of one that is no array I is 0, as a number: false where it is none. */
bool gguf_item_int(const struct gguf_value *, uint64_t i, int64_t *out);
bool gguf_item_real(const struct gguf_value *, uint64_t i, double *out);
bool gguf_says_nothing(const struct gguf_value *); /* 0, false, empty */
/* An array's texts, one after the other: begin with AT = the value's .at. */
struct gguf_text gguf_next_text(const unsigned char **at);
size_t gguf_type_bytes(enum gguf_type); /* 0: strings and arrays */

const struct gguf_tensor *gguf_tensor(const struct gguf *, const char *name);

/* ---- blocks.c: how elements are stored ---- */

/* A row for each type of tensors. A block of BYTES holds ELEMENTS; UNPACK makes floats of COUNT of
 * them. */
struct gguf_format {
    uint32_t type;
    const char *name; /* "Q4_K" */
    uint32_t elements, bytes;
    void (*unpack)(const unsigned char *blocks, size_t count, float *to);
};
/* The row of TYPE, or NULL. */
const struct gguf_format *gguf_format(uint32_t type);
const struct gguf_format *gguf_format_at(int index); /* NULL at the end */
/* What TYPE is called, also where there is no row: "type 16 (IQ2_XXS)". */
const char *gguf_format_name(uint32_t type);

#endif
