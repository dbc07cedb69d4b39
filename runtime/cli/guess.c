/* The closest name by edit distance, transpositions counted as one edit. */
#include "runtime/cli/guess.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_LEN = 64 };

static int min2(int a, int b) {
    return a < b ? a : b;
}

static int distance(const char *a, int na, const char *b, int nb) {
    int row[3][MAX_LEN + 1];
    for (int j = 0; j <= nb; j++)
        row[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *cur = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
        cur[0] = i;
        for (int j = 1; j <= nb; j++) {
            cur[j] = min2(min2(up[j], cur[j - 1]) + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cur[j] = min2(cur[j], up2[j - 2] + 1);
        }
    }
    return row[na % 3][nb];
}

void et_guess_try(et_guess *g, const char *candidate) {
    size_t na = strlen(g->name), nb = strlen(candidate);
    if (na > MAX_LEN || nb > MAX_LEN || na == 0 || nb == 0) return;
    int limit = na <= 5 ? 1 : (int)na / 3;
    if (abs((int)na - (int)nb) > limit) return;
    if (na == 1 && nb == 1) return; /* every one-letter name is one edit from every other */
    int d = distance(g->name, (int)na, candidate, (int)nb);
    if (d > limit || (g->best && d >= g->distance)) return;
    g->best = candidate;
    g->distance = d;
}
