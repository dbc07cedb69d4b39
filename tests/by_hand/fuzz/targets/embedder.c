/* An embedder's files, parted by bytes 0: modules.json, the configurations of two of its modules,
 * config_sentence_transformers.json, sentence_bert_config.json, the header of the second module's
 * tensors, and the checkpoint as fuzz_checkpoint has it. */
#include "examples/llm/base/error.h"
#include "examples/llm/vectors/vectors.h"
#include "tests/by_hand/fuzz/fuzz.h"
#include "tests/by_hand/fuzz/import.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const folders[] = {"1_Pooling", "2_Dense"};
static const char *const names[] = {
    "modules.json",
    "1_Pooling/config.json",
    "2_Dense/config.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "2_Dense/model.safetensors",
};

static void remove_folders(void) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(fuzz_path(names[i]));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        rmdir(fuzz_path(folders[i]));
}

static void make_folders(void) {
    static bool made;
    if (made) return;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        mkdir(fuzz_path(folders[i]), 0700);
    atexit(remove_folders);
    made = true;
}

/* What is left for the checkpoint; NULL where a file cannot be written. A file that is empty is
 * none. */
static const uint8_t *write_files(const uint8_t *data, size_t bytes, size_t *out_left) {
    make_folders();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const uint8_t *zero = bytes ? memchr(data, 0, bytes) : NULL;
        size_t n = zero ? (size_t)(zero - data) : bytes;
        bool tensors = strstr(names[i], ".safetensors") != NULL;
        if (!n)
            unlink(fuzz_path(names[i]));
        else if (!(tensors ? fuzz_tensors(names[i], (const char *)data, n)
                           : fuzz_file(names[i], data, n)))
            return NULL;
        data += n + (zero != NULL), bytes -= n + (zero != NULL);
    }
    *out_left = bytes;
    return data;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char err[LLM_ERR] = "";
    struct vectors *v = NULL;
    enum vectors_by by;
    const uint8_t *rest = write_files(data, bytes, &bytes);
    if (!rest || !fuzz_checkpoint(rest, bytes)) return -1;
    FUZZ_EXPECT(vectors_by(fuzz_folder(), &by, err) || *err);
    bool read = vectors_read(fuzz_folder(), &v, err);
    FUZZ_EXPECT(read ? v != NULL : *err && !v);
    if (read) {
        const char *prompt = vectors_prompt(v, NULL, err);
        FUZZ_EXPECT(prompt != NULL && vectors_most(v) >= 0 && vectors_vocab(v) >= 0);
    }
    vectors_free(v);
    fuzz_import(NULL, true);
    return 0;
}
