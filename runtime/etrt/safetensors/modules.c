/* modules.c - what sentence-transformers puts behind a model: modules.json lists folders beside it,
 * and those of layers have a checkpoint of their own. */
#include "runtime/etrt/safetensors/safetensors.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_MODULES = 64 };

/* The file of the module M of DIR in PATH; false where it has none. */
static bool has_tensors(const char *dir, const json_t *m, char path[PATH_MAX]) {
    const char *folder = json_string_value(json_object_get(m, "path"));
    if (!folder || !*folder || *folder == '.' || strchr(folder, '/')) return false;
    int n = snprintf(path, PATH_MAX, "%s/%s/model.safetensors", dir, folder);
    return n > 0 && n < PATH_MAX && access(path, F_OK) == 0;
}

/* Its tensors get the number of the module before their names, which are the same in each. */
static bool add_module(struct etrt_st *st, size_t number, const char *path, char *err,
                       size_t err_bytes) {
    struct st_file *f = &st->modules[st->module_count];
    if (!st_file_open(path, f, err, err_bytes)) return false;
    st->module_count++;
    for (size_t i = 0; i < f->count; i++) {
        struct etrt_st_tensor t = f->tensors[i];
        json_t *name = json_sprintf("modules.%zu.%s", number, t.name);
        t.name = json_string_value(name);
        if (json_array_append_new(st->module_names, name) != 0 || !st_add_entry(st, f, &t))
            return st_fail(err, err_bytes, "%s: out of memory", path);
    }
    return true;
}

bool st_add_modules(struct etrt_st *st, const char *dir, char *err, size_t err_bytes) {
    char path[PATH_MAX];
    const unsigned char *text;
    size_t bytes;
    int n = snprintf(path, sizeof path, "%s/modules.json", dir);
    if (n < 0 || n >= PATH_MAX || access(path, F_OK) != 0) return true;
    if (!st_map(path, &text, &bytes, err, err_bytes)) return false;
    json_t *list = json_loadb((const char *)text, bytes, 0, NULL);
    st_unmap(text, bytes);
    st->modules = calloc(MAX_MODULES, sizeof *st->modules);
    st->module_names = json_array();
    bool ok =
        (st->modules && st->module_names) || st_fail(err, err_bytes, "%s: out of memory", path);
    /* What is no list of modules is for those to refuse who know what it should say. */
    for (size_t i = 0; ok && i < json_array_size(list); i++) {
        if (!has_tensors(dir, json_array_get(list, i), path)) continue;
        ok = st->module_count < MAX_MODULES
                 ? add_module(st, i, path, err, err_bytes)
                 : st_fail(err, err_bytes, "%s/modules.json: more than %d modules", dir,
                           MAX_MODULES);
    }
    json_decref(list);
    return ok;
}
