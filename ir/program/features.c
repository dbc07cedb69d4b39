#include "ir/program/features.h"
#include <string.h>

static const struct {
    const char *name, *help;
} features[] = {
#define X(id, name, help) {#name, help},
#include "ir/program/features.def"
#undef X
};
enum { COUNT = sizeof features / sizeof *features };

const char *et_feature_name(int i) {
    return i >= 0 && i < COUNT ? features[i].name : NULL;
}

const char *et_feature_help(int i) {
    return i >= 0 && i < COUNT ? features[i].help : NULL;
}

et_features et_features_named(const char *names) {
    et_features all = 0;
    while (names && *names) {
        size_t n = strcspn(names, ",");
        for (int i = 0; i < COUNT; i++)
            if (strlen(features[i].name) == n && strncmp(features[i].name, names, n) == 0)
                all |= (et_features)1 << i;
        names += n + (names[n] == ',');
    }
    return all;
}
