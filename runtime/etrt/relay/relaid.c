/* Relaid-out weights: memory has their dimensions in another order than the checkpoint. */
#include "runtime/etrt/relay/relay.h"
#include "runtime/etrt_dtype.h"
#include <string.h>

/* A part of a weight that is contiguous in both orders: the dimensions that move. */
struct part {
    int rank;
    int64_t size[ETRT_MAX_RANK], from[ETRT_MAX_RANK]; /* in memory's order; strides in the file */
    int64_t count;                                    /* units that move whole */
    int64_t bits; /* of a unit: an element, or several of the last dimensions */
};

static bool stays(const struct etrt_tensor *t, int d) {
    return t->order[d] == d;
}

/* How many of T's first dimensions keep their place, with a whole number of bytes in each. */
static int leading(const struct etrt_tensor *t, const int64_t *shape) {
    int n = 0, whole = t->nloops;
    while (n < t->rank && stays(t, n))
        n++;
    for (int64_t each = (int64_t)etrt_dtype_bits(t->dtype) % 8, d = t->rank; d-- > t->nloops;) {
        if (d < n && each % 8 == 0) whole = d + 1 > whole ? (int)d + 1 : whole;
        each = each * (shape[d] % 8) % 8;
    }
    return whole;
}

static struct part part_of(const struct etrt_tensor *t, const int64_t *shape) {
    struct part p = {.bits = (int64_t)etrt_dtype_bits(t->dtype), .count = 1};
    int first = leading(t, shape), end = t->rank;
    int64_t step[ETRT_MAX_RANK], n = 1;
    while (end > first && stays(t, end - 1))
        p.bits *= shape[--end];
    for (int d = end; d-- > first; n *= shape[d])
        step[d] = n;
    for (int d = first; d < end; d++) {
        p.size[p.rank] = shape[t->order[d]];
        p.from[p.rank++] = step[t->order[d]];
    }
    p.count = n;
    return p;
}

int64_t etrt_relaid_parts(const struct etrt_tensor *t, const int64_t *shape) {
    int64_t n = 1;
    for (int d = 0; d < leading(t, shape); d++)
        n *= shape[d];
    return n;
}

/* The place in the file of unit I. */
static int64_t place_of(const struct part *p, int64_t i) {
    int64_t place = 0;
    for (int d = p->rank; d-- > 0; i /= p->size[d])
        place += i % p->size[d] * p->from[d];
    return place;
}

/* Rows of memory that lie next to each other in the file are moved together, so many at a time that
 * a page of the file is not looked up for a few bytes; what belongs to them is gathered in a piece
 * of memory that stays near, since rows themselves are often so far apart that they get in each
 * other's way there. */
enum { ROWS = 256, WIDTH = 128 /* bytes of a row at a time */ };

/* Columns FIRST to END - 1, K's, of N rows AT the file, each EACH bytes. Called with a number for
 * EACH. */
__attribute__((always_inline)) static inline void gather(const unsigned char *from,
                                                         const int64_t *at, int64_t step,
                                                         int64_t first, int64_t end, int n,
                                                         unsigned char *piece, size_t each) {
    for (int64_t i = first; i < end; i++)
        for (int r = 0; r < n; r++)
            memcpy(piece + r * WIDTH + (size_t)(i - first) * each,
                   from + (size_t)(at[r] + i * step) * each, each);
}

static void gather_any(const unsigned char *from, const int64_t *at, int64_t step, int64_t first,
                       int64_t end, int n, unsigned char *piece, size_t each) {
    if (each == 1)
        gather(from, at, step, first, end, n, piece, 1);
    else if (each == 2)
        gather(from, at, step, first, end, n, piece, 2);
    else if (each == 4)
        gather(from, at, step, first, end, n, piece, 4);
    else
        gather(from, at, step, first, end, n, piece, each);
}

/* Whole bytes. */
static void move_bytes(const struct part *p, const unsigned char *from, unsigned char *out) {
    int64_t k = p->size[p->rank - 1], step = p->from[p->rank - 1], rows = p->count / k;
    size_t each = (size_t)p->bits / 8;
    unsigned char piece[ROWS * WIDTH];
    for (int64_t first = 0, at[ROWS]; first < rows; first += ROWS) {
        int n = rows - first < ROWS ? (int)(rows - first) : ROWS;
        for (int r = 0; r < n; r++)
            at[r] = place_of(p, (first + r) * k);
        for (int64_t i = 0, end; i < k && each <= WIDTH; i = end) {
            end = i + WIDTH / (int64_t)each < k ? i + WIDTH / (int64_t)each : k;
            gather_any(from, at, step, i, end, n, piece, each);
            for (int r = 0; r < n; r++)
                memcpy(out + (size_t)((first + r) * k + i) * each, piece + r * WIDTH,
                       (size_t)(end - i) * each);
        }
        for (int r = 0; r < n && each > WIDTH; r++)
            for (int64_t i = 0; i < k; i++)
                memcpy(out + (size_t)((first + r) * k + i) * each,
                       from + (size_t)(at[r] + i * step) * each, each);
    }
}

/* Eight words of eight codes of four bits: code I of word J becomes code J of word I. */
static void transpose(uint32_t w[8]) {
    static const uint32_t low[] = {0x0000ffff, 0x00ff00ff, 0x0f0f0f0f};
    for (int s = 0; s < 3; s++) {
        int apart = 4 >> s, bits = 4 * apart;
        for (int i = 0; i < 8; i++) {
            if (i & apart) continue;
            uint32_t t = ((w[i] >> bits) ^ w[i + apart]) & low[s];
            w[i] ^= t << bits;
            w[i + apart] ^= t;
        }
    }
}

static bool reads_words(const struct part *p) {
    return p->bits == 4 && p->size[p->rank - 1] % 8 == 0 && p->from[p->rank - 1] % 8 == 0;
}

/* Codes of four bits, where k's are eight or more and words of the file are of eight rows: these
 * words come from as many k's at a time. */
static void move_words(const struct part *p, const unsigned char *from, unsigned char *out) {
    int64_t k = p->size[p->rank - 1], step = p->from[p->rank - 1];
    struct part rows = *p;
    int64_t row_of[ROWS], inverse[ETRT_MAX_RANK], n = p->count / k;
    unsigned char piece[ROWS * WIDTH];
    /* The rows in the file's order: what a step in each of its dimensions is in memory's rows. */
    int by[ETRT_MAX_RANK];
    rows.rank--;
    for (int d = rows.rank, s = 0; d-- > 0; s++)
        inverse[d] = s ? inverse[d + 1] * rows.size[d + 1] : 1;
    for (int d = 0; d < rows.rank; d++)
        by[d] = d;
    for (int a = 0; a < rows.rank; a++)
        for (int b = a + 1; b < rows.rank; b++)
            if (rows.from[by[b]] > rows.from[by[a]]) {
                int t = by[a];
                by[a] = by[b], by[b] = t;
            }
    for (int64_t first = 0, start[ROWS / 8]; first < n; first += ROWS) {
        int some = n - first < ROWS ? (int)(n - first) : ROWS;
        for (int r = 0; r < some; r++) {
            int64_t i = first + r, place = 0;
            row_of[r] = 0;
            for (int d = rows.rank; d-- > 0; i /= rows.size[by[d]]) {
                row_of[r] += i % rows.size[by[d]] * inverse[by[d]];
                place += i % rows.size[by[d]] * rows.from[by[d]];
            }
            if (r % 8 == 0) start[r / 8] = place / 8;
        }
        for (int64_t i = 0, end; i < k; i = end) {
            end = i + 2 * WIDTH < k ? i + 2 * WIDTH : k;
            for (int64_t on = i; on < end; on += 8)
                for (int r = 0; r < some; r += 8) {
                    uint32_t w[8];
                    for (int j = 0; j < 8; j++)
                        memcpy(&w[j], from + 4 * (start[r / 8] + (on + j) * step / 8), 4);
                    transpose(w);
                    for (int j = 0; j < 8; j++)
                        memcpy(piece + (r + j) * WIDTH + (on - i) / 2, &w[j], 4);
                }
            for (int r = 0; r < some; r++)
                memcpy(out + (row_of[r] * k + i) / 2, piece + r * WIDTH, (size_t)(end - i) / 2);
        }
    }
}

/* Do words of eight codes belong to eight rows each, none of them to a k? */
static bool has_words_of_rows(const struct part *p) {
    int64_t together = 1;
    for (bool more = true; more && together < 8;) {
        more = false;
        for (int d = 0; d + 1 < p->rank && !more; d++)
            if (p->from[d] == together && p->size[d] > 1) {
                together *= p->size[d];
                more = true;
            }
    }
    return together % 8 == 0;
}

void etrt_relay(const struct etrt_tensor *t, const int64_t *shape, const void *from, void *out) {
    struct part p = part_of(t, shape);
    if (!p.count) return;
    if (p.bits % 8 == 0) {
        move_bytes(&p, from, out);
    } else if (reads_words(&p) && has_words_of_rows(&p)) {
        move_words(&p, from, out);
    } else {
        int bits = (int)etrt_dtype_bits(t->dtype);
        int64_t each = p.bits / bits;
        for (int64_t i = 0; i < p.count; i++)
            for (int64_t e = 0; e < each; e++)
                etrt_element_word_set(out, i * each + e, bits,
                                      etrt_element_word(from, place_of(&p, i) * each + e, bits));
    }
}
