/* remake RECORD.json NAME CHECKPOINT FOLDER [FORMAT]: the GGUF file that llama.cpp's converter made
 * of a golden checkpoint, FOLDER/model.gguf, again, and FOLDER/config.json, the configuration it
 * was made of. The record says where each tensor's values are in the checkpoint and how they lie in
 * the file; shares nothing with etgguf. Matrices are in FORMAT where their rows are whole blocks of
 * it, else in q8_0. */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "runtime/etrt_dtype.h"
#include "tests/unit/gguf/quantise.h"
#include "tests/unit/gguf/writer.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { F32 = 0, BF16 = 30, TEXT = 8, ARRAY = 9, BOOL = 7, REAL = 6 };

static void die(const char *what, const char *why) {
    fprintf(stderr, "remake: %s: %s\n", what, why);
    exit(1);
}

static json_t *load(const char *path) {
    json_error_t e;
    json_t *j = json_load_file(path, 0, &e);
    if (!j) die(path, e.text);
    return j;
}

struct model {
    const struct etrt_st *st;
    json_t *config;
    struct writer w;
    const struct quantiser *quantiser; /* of matrices that the file has in bf16; or NULL */
};

/* ---- metadata ---- */

static float real_of(const json_t *value) {
    const char *text = json_string_value(value); /* "-inf" */
    return text ? strtof(text, NULL) : (float)json_number_value(value);
}

static void put_item(struct buffer *b, int64_t type, const json_t *value) {
    if (type == TEXT)
        put_text(b, json_string_value(value));
    else if (type == BOOL)
        put(b, &(unsigned char){json_is_true(value)}, 1);
    else if (type == REAL)
        put_u32(b, etrt_word_of_f32(real_of(value)));
    else
        put_u32(b, (uint32_t)json_integer_value(value));
}

static void add_values(struct model *m, const json_t *values) {
    size_t i, k;
    json_t *row, *item;
    json_array_foreach(values, i, row) {
        const json_t *types = json_array_get(row, 1), *value = json_array_get(row, 2);
        int64_t type = json_integer_value(json_array_get(types, 0));
        add_key(&m->w, json_string_value(json_array_get(row, 0)), (uint32_t)type);
        if (type == ARRAY) {
            type = json_integer_value(json_array_get(types, 1));
            put_u32(&m->w.values, (uint32_t)type);
            put_u64(&m->w.values, json_array_size(value));
            json_array_foreach(value, k, item) put_item(&m->w.values, type, item);
        } else {
            put_item(&m->w.values, type, value);
        }
    }
}

/* ---- tensors ---- */

static const char *replaced(const char *name, const char *mark, int64_t number, char out[300]) {
    const char *at = strstr(name, mark);
    if (!at) return name;
    snprintf(out, 300, "%.*s%lld%s", (int)(at - name), name, (long long)number, at + strlen(mark));
    return out;
}

static float value_at(const struct etrt_st_tensor *t, size_t i) {
    const unsigned char *p = t->data;
    uint32_t word = 0;
    size_t bytes = etrt_st_dtype_bytes(t->dtype);
    memcpy(&word, p + i * bytes, bytes);
    return bytes == 4 ? etrt_f32_of_word(word) : etrt_bf16_to_f32(word);
}

/* The values of the tensor NAME, whose HEADS heads, if any, have their halves row by row. */
static void put_values(struct model *m, const char *name, size_t heads, struct buffer *out) {
    const struct etrt_st_tensor *t = etrt_st_find(m->st, name);
    if (!t) die(name, "missing");
    size_t n = t->bytes / etrt_st_dtype_bytes(t->dtype), rows = (size_t)t->shape[0], row = n / rows,
           head = heads ? rows / heads : 1;
    for (size_t r = 0; r < rows; r++) {
        size_t in = r % head, from = heads ? r - in + in / 2 + in % 2 * (head / 2) : r;
        for (size_t i = 0; i < row; i++) {
            float x = value_at(t, from * row + i);
            put(out, &x, sizeof x);
        }
    }
}

/* ---- views: numbers of a tensor of the checkpoint, from one on, by sizes and strides ---- */

/* What is done to each value. */
static float changed(const char *how, float x) {
    return !strcmp(how, "plus") ? x + 1 : !strcmp(how, "minus_exp") ? -expf(x) : x;
}

static void put_view(const struct etrt_st_tensor *t, const char *how, const json_t *view,
                     struct buffer *values) {
    const json_t *sizes = json_array_get(view, 2), *strides = json_array_get(view, 3);
    size_t n = 1, count = t->bytes / etrt_st_dtype_bytes(t->dtype), rank = json_array_size(sizes);
    for (size_t d = 0; d < rank; d++)
        n *= (size_t)json_integer_value(json_array_get(sizes, d));
    for (size_t i = 0; i < n; i++) {
        size_t at = (size_t)json_integer_value(json_array_get(view, 1)), rest = i;
        for (size_t d = rank; d-- > 0;) {
            size_t size = (size_t)json_integer_value(json_array_get(sizes, d));
            at += rest % size * (size_t)json_integer_value(json_array_get(strides, d));
            rest /= size;
        }
        if (at >= count) die(t->name, "is smaller than what is recorded of it");
        float x = changed(how, value_at(t, at));
        put(values, &x, sizeof x);
    }
}

/* Views one behind the other, of layer LAYER; a name with "{e}" is of all experts in turn. */
static void put_views(struct model *m, const char *how, const json_t *views, int64_t layer,
                      struct buffer *values) {
    char name[300], expert[300];
    size_t i;
    json_t *view;
    json_array_foreach(views, i, view) {
        const char *from = replaced(json_string_value(json_array_get(view, 0)), "{l}", layer, name);
        const struct etrt_st_tensor *t;
        for (int64_t e = 0; e < (strstr(from, "{e}") ? 4096 : 1); e++) {
            t = etrt_st_find(m->st, replaced(from, "{e}", e, expert));
            if (!t && e) break;
            if (!t) die(from, "missing");
            put_view(t, how, view, values);
        }
    }
}

static int64_t number(const struct model *m, const char *field) {
    return json_integer_value(json_object_get(m->config, field));
}

/* In blocks, where the tensor has rows of whole ones and the file is to have any. */
static void add_floats(struct model *m, const char *name, int rank, const uint64_t *dims,
                       uint32_t type, const struct buffer *values) {
    struct buffer data = {0};
    const float *x = (const void *)values->at;
    size_t n = values->n / sizeof *x;
    const struct quantiser *q = type == BF16 ? m->quantiser : NULL;
    if (q && dims[0] % (size_t)q->elements) q = quantiser_called("q8_0");
    if (q && !(dims[0] % (size_t)q->elements)) {
        quantise(q, x, n, &data);
        type = q->type;
    } else {
        for (size_t i = 0; i < n; i++) {
            uint32_t word = type == F32 ? etrt_word_of_f32(x[i]) : etrt_f32_to_bf16(x[i]);
            put(&data, &word, type == F32 ? 4 : 2);
        }
    }
    add_tensor(&m->w, name, rank, dims, type, data.at, data.n);
    free(data.at);
}

static void add_views(struct model *m, const char *name, const json_t *row, int64_t layer, int rank,
                      const uint64_t *dims, uint32_t type) {
    struct buffer values = {0};
    put_views(m, json_string_value(json_array_get(row, 1)), json_array_get(row, 0), layer, &values);
    add_floats(m, name, rank, dims, type, &values);
    free(values.at);
}

/* A bar behind a name: its tensors are of another shape in other layers. */
static void add_layer(struct model *m, const char *pattern, const json_t *row, int64_t layer) {
    char name[300];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(pattern, "|"), pattern);
    char file[300], from[300], expert[300];
    const char *how = json_string_value(json_array_get(row, 1));
    const json_t *shape = json_array_get(row, 2);
    uint32_t type = (uint32_t)json_integer_value(json_array_get(row, 3));
    uint64_t dims[4];
    struct buffer data = {0};
    int rank = (int)json_array_size(shape);
    for (int d = 0; d < rank; d++)
        dims[d] = (uint64_t)json_integer_value(json_array_get(shape, (size_t)d));
    if (json_is_array(json_array_get(row, 0))) {
        add_views(m, replaced(name, "{l}", layer, file), row, layer, rank, dims, type);
        return;
    }
    const char *source = replaced(json_string_value(json_array_get(row, 0)), "{l}", layer, from);
    bool stacked = !strcmp(how, "experts");
    size_t heads = !strcmp(how, "turned_q")   ? (size_t)number(m, "num_attention_heads")
                   : !strcmp(how, "turned_k") ? (size_t)number(m, "num_key_value_heads")
                                              : 0;
    for (int64_t e = 0; e < (stacked ? (int64_t)dims[2] : 1); e++)
        put_values(m, replaced(source, "{e}", e, expert), heads, &data);
    add_floats(m, replaced(name, "{l}", layer, file), rank, dims, type, &data);
    free(data.at);
}

/* What the checkpoint has as numbers of its configuration. */
static void add_numbers(struct model *m, const char *name, const json_t *numbers) {
    struct buffer data = {0};
    size_t i;
    json_t *x;
    json_array_foreach(numbers, i, x) put_u32(&data, etrt_word_of_f32((float)json_number_value(x)));
    add_tensor(&m->w, name, 1, &(uint64_t){json_array_size(numbers)}, F32, data.at, data.n);
    free(data.at);
}

static void add_tensors(struct model *m, json_t *tensors) {
    const char *name;
    json_t *row, *layer;
    size_t i;
    json_object_foreach(tensors, name, row) {
        const json_t *layers = json_array_get(row, 4);
        const char *from = json_string_value(json_array_get(row, 0)); /* or views */
        if (from && !strcmp(from, "values")) {
            add_numbers(m, name, json_array_get(row, 1));
            continue;
        }
        if (!json_array_size(layers)) add_layer(m, name, row, 0);
        json_array_foreach(layers, i, layer) add_layer(m, name, row, json_integer_value(layer));
    }
}

int main(int argc, char **argv) {
    char path[4096], err[ETRT_ST_ERR];
    struct etrt_st *st;
    struct model m = {0};
    if (argc != 5 && argc != 6) die("usage", "RECORD.json NAME CHECKPOINT FOLDER [FORMAT]");
    if (argc == 6) m.quantiser = quantiser_called(argv[5]);
    json_t *record = load(argv[1]), *one = json_object_get(record, argv[2]);
    if (!one) die(argv[1], argv[2]);
    snprintf(path, sizeof path, "%s/config.json", argv[3]);
    m.config = load(path);
    json_object_update(m.config, json_object_get(one, "fields"));
    snprintf(path, sizeof path, "%s/config.json", argv[4]);
    if (json_dump_file(m.config, path, JSON_INDENT(1))) die(path, "cannot be written");
    if (!etrt_st_open(argv[3], &st, err, sizeof err)) die(argv[3], err);
    m.st = st;
    writer_init(&m.w);
    add_values(&m, json_object_get(one, "values"));
    add_tensors(&m, json_object_get(one, "tensors"));
    snprintf(path, sizeof path, "%s/model.gguf", argv[4]);
    writer_save(&m.w, path);
    writer_free(&m.w);
    etrt_st_close(st);
    json_decref(m.config);
    json_decref(record);
    return 0;
}
