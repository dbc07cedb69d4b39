/* A checkpoint: one safetensors file, the shards of an index, or a directory holding either. */
#include "runtime/etrt/safetensors/safetensors.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char INDEX_SUFFIX[] = ".safetensors.index.json";
static const char FILE_SUFFIX[] = ".safetensors";

static bool ends_with(const char *s, const char *suffix) {
    size_t n = strlen(s), k = strlen(suffix);
    return n >= k && strcmp(s + n - k, suffix) == 0;
}

static bool no_memory(const char *path, char *err, size_t err_bytes) {
    return st_fail(err, err_bytes, "%s: out of memory", path);
}

bool st_add_entry(struct etrt_st *st, const struct st_file *file, const struct etrt_st_tensor *t) {
    if (!(st->count & (st->count + 1))) {
        struct st_entry *more = realloc(st->entries, (st->count + 1) * 2 * sizeof *more);
        if (!more) return false;
        st->entries = more;
    }
    st->entries[st->count++] = (struct st_entry){*t, file};
    return true;
}

static int by_name(const void *a, const void *b) {
    const struct st_entry *x = *(const struct st_entry *const *)a;
    const struct st_entry *y = *(const struct st_entry *const *)b;
    return strcmp(x->tensor.name, y->tensor.name);
}

static bool sort_names(struct etrt_st *st) {
    st->by_name = malloc((st->count + 1) * sizeof *st->by_name);
    if (!st->by_name) return false;
    for (size_t i = 0; i < st->count; i++)
        st->by_name[i] = &st->entries[i];
    qsort(st->by_name, st->count, sizeof *st->by_name, by_name);
    return true;
}

static bool open_single(const char *path, struct etrt_st *st, char *err, size_t err_bytes) {
    st->files = calloc(1, sizeof *st->files);
    if (!st->files) return no_memory(path, err, err_bytes);
    if (!st_file_open(path, st->files, err, err_bytes)) return false;
    st->file_count = 1;
    for (size_t i = 0; i < st->files->count; i++)
        if (!st_add_entry(st, st->files, &st->files->tensors[i]))
            return no_memory(path, err, err_bytes);
    return true;
}

/* ---- index ---- */

static bool join(char out[PATH_MAX], const char *directory_of, const char *name) {
    const char *slash = strrchr(directory_of, '/');
    int n =
        slash ? snprintf(out, PATH_MAX, "%.*s/%s", (int)(slash - directory_of), directory_of, name)
              : snprintf(out, PATH_MAX, "%s", name);
    return n >= 0 && n < PATH_MAX;
}

static struct st_file *shard(struct etrt_st *st, const char *index_path, const char *name,
                             char *err, size_t err_bytes) {
    char path[PATH_MAX];
    if (!*name || strchr(name, '/') || name[0] == '.' || !ends_with(name, FILE_SUFFIX)) {
        st_fail(err, err_bytes, "%s: \"%.200s\" is not the name of a shard beside the index",
                index_path, name);
        return NULL;
    }
    if (!join(path, index_path, name)) {
        st_fail(err, err_bytes, "%s: the path is too long", index_path);
        return NULL;
    }
    for (size_t i = 0; i < st->file_count; i++)
        if (strcmp(st->files[i].path, path) == 0) return &st->files[i];
    if (!st_file_open(path, &st->files[st->file_count], err, err_bytes)) return NULL;
    return &st->files[st->file_count++];
}

/* Every shard opened before any entry is made, since entries point at the array of files. */
static bool open_shards(const char *path, json_t *map, struct etrt_st *st, char *err,
                        size_t err_bytes) {
    const char *key;
    json_t *v;
    json_t *distinct = json_object();
    size_t count = 0;
    json_object_foreach(map, key, v) {
        if (!json_is_string(v)) {
            json_decref(distinct);
            return st_fail(err, err_bytes, "%s: \"weight_map\": %.200s is not a string", path, key);
        }
        json_object_set_new(distinct, json_string_value(v), json_true());
    }
    count = json_object_size(distinct);
    st->files = calloc(count + 1, sizeof *st->files);
    bool ok = distinct && st->files ? true : no_memory(path, err, err_bytes);
    json_object_foreach(distinct, key, v) if (ok) ok = shard(st, path, key, err, err_bytes) != NULL;
    json_decref(distinct);
    return ok;
}

/* The tensors of one file by name, for indexes of many thousand. */
static json_t *positions(const struct st_file *f) {
    json_t *table = json_object();
    for (size_t i = 0; i < f->count; i++)
        json_object_set_new(table, f->tensors[i].name, json_integer((json_int_t)i));
    return table;
}

static bool add_mapped(const char *path, json_t *map, struct etrt_st *st, char *err,
                       size_t err_bytes) {
    for (size_t i = 0; i < st->file_count; i++) {
        const struct st_file *f = &st->files[i];
        const char *base = strrchr(f->path, '/') ? strrchr(f->path, '/') + 1 : f->path;
        const char *key;
        json_t *v, *table = positions(f);
        bool ok = true;
        json_object_foreach(map, key, v) {
            if (!ok || strcmp(json_string_value(v), base) != 0) continue;
            json_t *at = json_object_get(table, key);
            const struct etrt_st_tensor *t = at ? &f->tensors[json_integer_value(at)] : NULL;
            if (!t)
                ok = st_fail(err, err_bytes, "%s: tensor %.200s is not in %s", path, key, f->path);
            else if (!st_add_entry(st, f, t))
                ok = no_memory(path, err, err_bytes);
        }
        json_decref(table);
        if (!ok) return false;
    }
    return true;
}

static bool open_index(const char *path, struct etrt_st *st, char *err, size_t err_bytes) {
    const unsigned char *text;
    size_t bytes;
    json_error_t json;
    if (!st_map(path, &text, &bytes, err, err_bytes)) return false;
    json_t *root = json_loadb((const char *)text, bytes, JSON_REJECT_DUPLICATES, &json);
    st_unmap(text, bytes);
    if (!root) return st_json_fail(err, err_bytes, path, &json);
    json_t *map = json_object_get(root, "weight_map");
    bool ok = json_is_object(map);
    if (!ok) st_fail(err, err_bytes, "%s: \"weight_map\" is not an object", path);
    ok = ok && open_shards(path, map, st, err, err_bytes) &&
         add_mapped(path, map, st, err, err_bytes);
    json_decref(root);
    return ok;
}

/* ---- directory ---- */

static bool is_there(char out[PATH_MAX], const char *dir, const char *name) {
    struct stat info;
    int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);
    return n >= 0 && n < PATH_MAX && lstat(out, &info) == 0; /* opening it tells of broken links */
}

static bool choose_in_directory(const char *dir, char out[PATH_MAX], char *err, size_t err_bytes) {
    char found[NAME_MAX + 1] = "";
    int count = 0;
    if (is_there(out, dir, "model.safetensors.index.json") ||
        is_there(out, dir, "model.safetensors"))
        return true;
    DIR *d = opendir(dir);
    if (!d) return st_fail(err, err_bytes, "%s: cannot be listed", dir);
    for (struct dirent *e; (e = readdir(d));)
        if (ends_with(e->d_name, FILE_SUFFIX) && e->d_name[0] != '.') {
            snprintf(found, sizeof found, "%s", e->d_name);
            count++;
        }
    closedir(d);
    if (count == 1 && is_there(out, dir, found)) return true;
    return st_fail(err, err_bytes, "%s: holds %s", dir,
                   count ? "several .safetensors files and no index" : "no .safetensors file");
}

bool etrt_st_open(const char *path, struct etrt_st **out, char *err, size_t err_bytes) {
    char chosen[PATH_MAX];
    struct stat info;
    *out = NULL;
    struct etrt_st *st = calloc(1, sizeof *st);
    if (!st) return no_memory(path, err, err_bytes);
    const char *dir = NULL;
    bool ok = true;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        ok = choose_in_directory(dir = path, chosen, err, err_bytes);
        path = chosen;
    }
    if (ok)
        ok = ends_with(path, INDEX_SUFFIX) ? open_index(path, st, err, err_bytes)
                                           : open_single(path, st, err, err_bytes);
    if (ok && dir) ok = st_add_modules(st, dir, err, err_bytes);
    if (ok && !sort_names(st)) ok = no_memory(path, err, err_bytes);
    if (!ok) {
        etrt_st_close(st);
        return false;
    }
    *out = st;
    return true;
}

void etrt_st_close(struct etrt_st *st) {
    if (!st) return;
    for (size_t i = 0; i < st->file_count; i++)
        st_file_close(&st->files[i]);
    for (size_t i = 0; i < st->module_count; i++)
        st_file_close(&st->modules[i]);
    free(st->modules);
    json_decref(st->module_names);
    free(st->files);
    free(st->entries);
    free(st->by_name);
    free(st);
}

/* ---- lookups ---- */

size_t etrt_st_count(const struct etrt_st *st) {
    return st->count;
}

const struct etrt_st_tensor *etrt_st_at(const struct etrt_st *st, size_t index) {
    return index < st->count ? &st->entries[index].tensor : NULL;
}

const struct etrt_st_tensor *etrt_st_find(const struct etrt_st *st, const char *name) {
    struct st_entry wanted = {.tensor.name = name};
    const struct st_entry *key = &wanted;
    const struct st_entry **found =
        bsearch(&key, st->by_name, st->count, sizeof *st->by_name, by_name);
    return found ? &(*found)->tensor : NULL;
}

const char *etrt_st_path(const struct etrt_st *st, const struct etrt_st_tensor *t) {
    (void)st;
    return ((const struct st_entry *)t)->file->path;
}
