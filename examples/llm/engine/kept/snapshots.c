/* Copies of what layers keep, by the tokens that led to them. */
#include "examples/llm/engine/kept/snapshots.h"
#include <stdlib.h>
#include <string.h>

struct row {
    int32_t *ids;
    int64_t n;             /* 0: it holds nothing */
    uint64_t number, used; /* when it was put, and of use last */
};

struct snapshots {
    int64_t count;
    uint64_t now;
    struct row *rows;
};

struct snapshots *snapshots_make(int64_t count) {
    if (count < 1 || count > INT32_MAX) return NULL;
    struct snapshots *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->count = count;
    s->rows = calloc((size_t)count, sizeof *s->rows);
    if (s->rows) return s;
    snapshots_free(s);
    return NULL;
}

void snapshots_drop(struct snapshots *s, int32_t row) {
    free(s->rows[row].ids);
    s->rows[row] = (struct row){0};
}

void snapshots_clear(struct snapshots *s) {
    for (int32_t i = 0; i < s->count; i++)
        snapshots_drop(s, i);
}

void snapshots_free(struct snapshots *s) {
    if (s && s->rows) snapshots_clear(s);
    if (s) free(s->rows);
    free(s);
}

int32_t snapshots_look(const struct snapshots *s, const int32_t *ids, int64_t most,
                       int64_t *out_n) {
    int32_t best = -1;
    *out_n = 0;
    for (int32_t i = 0; i < s->count; i++) {
        const struct row *r = &s->rows[i];
        if (r->n <= *out_n || r->n > most || memcmp(r->ids, ids, (size_t)r->n * sizeof *ids) != 0)
            continue;
        best = i;
        *out_n = r->n;
    }
    return best;
}

int32_t snapshots_find(struct snapshots *s, const int32_t *ids, int64_t most, int64_t *out_n) {
    int32_t row = snapshots_look(s, ids, most, out_n);
    if (row >= 0) s->rows[row].used = ++s->now;
    return row;
}

int64_t snapshots_common(const struct snapshots *s, const int32_t *ids, int64_t n) {
    int64_t most = 0;
    for (int32_t i = 0; i < s->count; i++) {
        const struct row *r = &s->rows[i];
        int64_t common = 0;
        while (common < n && common < r->n && r->ids[common] == ids[common])
            common++;
        if (common > most) most = common;
    }
    return most;
}

/* The row that is given up: what was of use last longest ago; one that holds nothing never was. */
static int32_t oldest(const struct snapshots *s) {
    int32_t row = 0;
    for (int32_t i = 1; i < s->count; i++)
        if (s->rows[i].used < s->rows[row].used) row = i;
    return row;
}

int32_t snapshots_put(struct snapshots *s, const int32_t *ids, int64_t n,
                      struct snapshot *instead) {
    int64_t has;
    if (n < 1) return -1;
    int32_t same = snapshots_look(s, ids, n, &has);
    if (same >= 0 && has == n) {
        s->rows[same].used = ++s->now;
        return -1;
    }
    bool own = instead && instead->number && s->rows[instead->row].number == instead->number;
    int32_t row = own ? instead->row : oldest(s);
    snapshots_drop(s, row);
    struct row *r = &s->rows[row];
    r->ids = malloc((size_t)n * sizeof *ids);
    if (!r->ids) return -1;
    memcpy(r->ids, ids, (size_t)n * sizeof *ids);
    r->n = n;
    r->number = r->used = ++s->now;
    if (instead) *instead = (struct snapshot){row, r->number};
    return row;
}
