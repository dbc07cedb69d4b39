/* import.h - a checkpoint in fuzz_folder(), and what etimport makes of it. */
#ifndef FUZZ_IMPORT_H
#define FUZZ_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file NAME of tensors: N bytes of HEADER, and data as long as it says, HEADER over and over or
 * zeros where that is long. */
bool fuzz_tensors(const char *name, const char *header, size_t n);
/* Writes config.json, what is before the first byte 0 of the input, and model.safetensors: what is
 * behind it is the header. */
bool fuzz_checkpoint(const uint8_t *data, size_t bytes);
/* Imports config.json, WITH_WEIGHTS what lies beside it too; ACTIVATIONS as in imp_options. True
 * where it was taken: then the front end takes what was written. */
bool fuzz_import(const char *activations, bool with_weights);

#endif
