/* features.h - optimisations that can be switched off: the rows of features.def. */
#ifndef ET_FEATURES_H
#define ET_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
#define X(id, name, help) ET_FEATURE_##id,
#include "ir/program/features.def"
#undef X
} et_feature;

typedef uint32_t et_features; /* a bit for each */

static inline bool et_is_without(et_features without, et_feature f) {
    return without >> f & 1;
}

/* "stream", and its description; NULL past the last one. */
const char *et_feature_name(int);
const char *et_feature_help(int);
/* The features in NAMES, separated by commas; unknown names are ignored. */
et_features et_features_named(const char *names);

#endif
