/* layout.h - a tensor of the checkpoint as rows of tensors of the file.
 *
 * What those who make such files do to a matrix is to put its rows in another order, to take it
 * apart, and to turn it so that rows become columns. A layout says where each row comes from. */
#ifndef ET_GGUF_LAYOUT_H
#define ET_GGUF_LAYOUT_H

#include "frontend/gguf/gguf.h"

struct json_t;

/* COUNT rows of a tensor, STEP apart, from FIRST on in the first turn and STRIDE further in each
 * that follows. TURNED: its columns, those of one matrix behind those of another. */
struct gguf_rows {
    const struct gguf_tensor *from;
    uint64_t first, stride, count, step;
    bool turned;
};
/* So many turns, in each of which these give their rows, one after the other. */
struct gguf_section {
    uint64_t turns;
    const struct gguf_rows *rows;
    int nrows;
};
enum { GGUF_MOST_SECTIONS = 2 };
struct gguf_layout {
    struct gguf_section section[GGUF_MOST_SECTIONS];
    int nsections;
    uint64_t row; /* elements of one */
    /* Pieces of so many columns, in another order: piece I of GROUPS * N of them is number I / N of
     * the group I % N in the file. 0: in order. */
    uint64_t piece, groups;
    int rank; /* of the tensor, whose first dim is contiguous */
    uint64_t dims[GGUF_MOST_DIMS];
};

/* The layout of what becomes of T and, where CHANGE says so, of a tensor beside it. KEPT: as blocks
 * that stay quantised, which cannot be turned. The sizes of CONFIG, as those of the tensors, are
 * not trusted. False after an error. */
bool gguf_layout(const struct gguf *, const struct json_t *config, const struct gguf_tensor *,
                 unsigned change, struct gguf_layout *out);
/* Of expert E alone, a matrix. */
void gguf_layout_expert(const struct gguf *, const struct gguf_tensor *, uint64_t e,
                        struct gguf_layout *out);
/* Of a tensor as it lies there. */
void gguf_layout_plain(const struct gguf *, const struct gguf_tensor *, struct gguf_layout *out);

#endif
