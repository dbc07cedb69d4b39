/* files.c - config.json, and the files of a checkpoint that do not change. */
#include "frontend/quant/quant.h"
#include "runtime/files/input.h"
#include "runtime/files/output.h"
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_CONFIG = 16 << 20, MOST_FILE = 512 << 20 };

static bool join(char path[PATH_MAX], const char *folder, const char *name,
                 struct qnt_fault *fault) {
    return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX ||
           qnt_fail(fault, "%s: the name is too long", folder);
}

static bool is_turned(const json_t *config) {
    const char *type = json_string_value(json_object_get(config, "model_type"));
    return type && !strcmp(type, "gpt2");
}

json_t *qnt_config_read(const char *from, struct qnt_fault *fault) {
    char path[PATH_MAX], why[ET_WHY];
    size_t bytes;
    json_error_t e;
    if (!join(path, from, "config.json", fault)) return NULL;
    char *text = et_file_read(path, MOST_CONFIG, &bytes, why);
    if (!text) {
        qnt_note(fault, "%s: %s", path, why);
        return NULL;
    }
    json_t *config = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &e);
    free(text);
    if (!config)
        qnt_note(fault, "%s: line %d: %s", path, e.line, e.text);
    else if (!json_is_object(config))
        qnt_note(fault, "%s: is no object", path);
    else if (is_turned(config))
        qnt_note(
            fault,
            "%s: field \"model_type\" is \"gpt2\", whose matrices have a row for each input, as "
            "no layout of quantised weights has them",
            path);
    else if (json_object_get(config, "quantization_config"))
        qnt_note(fault, "%s: field \"quantization_config\": the checkpoint is quantised already",
                 path);
    else
        return config;
    json_decref(config);
    return NULL;
}

bool qnt_config_ties(const json_t *config, const struct etrt_st *st) {
    const json_t *tied = json_object_get(config, "tie_word_embeddings");
    return json_is_true(tied) || !etrt_st_find(st, QNT_HEAD_NAME ".weight");
}

bool qnt_json_write(const char *folder, const char *name, const json_t *value,
                    struct qnt_fault *fault) {
    char path[PATH_MAX];
    et_output f;
    if (!join(path, folder, name, fault)) return false;
    if (!et_output_open(&f, path)) return qnt_fail(fault, "%s: %s", path, strerror(errno));
    bool ok = !json_dumpf(value, f.to, JSON_INDENT(2)) && putc('\n', f.to) != EOF;
    return et_output_close(&f, ok) || qnt_fail(fault, "%s: %s", path, strerror(errno));
}

static bool copy(const char *from, const char *to, struct qnt_fault *fault) {
    char why[ET_WHY];
    size_t bytes;
    et_output f;
    char *text = et_file_read(from, MOST_FILE, &bytes, why);
    if (!text) return qnt_fail(fault, "%s: %s", from, why);
    bool ok = et_output_open(&f, to);
    ok = ok && et_output_close(&f, !bytes || fwrite(text, bytes, 1, f.to) == 1);
    free(text);
    return ok || qnt_fail(fault, "%s: %s", to, strerror(errno));
}

bool qnt_files_copy(const char *from, const char *to, struct qnt_fault *fault) {
    static const char *const names[] = {"tokenizer.json",
                                        "tokenizer_config.json",
                                        "generation_config.json",
                                        "tokenizer.model",
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "vocab.json",
                                        "merges.txt",
                                        "chat_template.jinja",
                                        "chat_template.json",
                                        "preprocessor_config.json"};
    char a[PATH_MAX], b[PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!join(a, from, names[i], fault) || !join(b, to, names[i], fault)) return false;
        if (access(a, F_OK) == 0 && !copy(a, b, fault)) return false;
    }
    return true;
}
