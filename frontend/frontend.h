/* frontend.h - .etg text to a graph. */
#ifndef ET_FRONTEND_H
#define ET_FRONTEND_H

#include "ir/graph/graph.h"

/* The graph of the program TEXT, which may hold any bytes. On an error the diagnostics say why, all
 * of them at once, and the result is NULL. Graph and diagnostics live in the arena. */
et_graph *et_parse_etg(et_arena *, et_diags *, const char *file_name, const char *text,
                       size_t bytes);

/* The same with dim NARROW->dim bounded by lo..hi instead of what the text says, for compiling a
 * variant of a program that was parsed without errors before. */
typedef struct {
    const char *dim;
    int64_t lo, hi;
} et_dim_range;
et_graph *et_parse_etg_narrow(et_arena *, et_diags *, const char *file_name, const char *text,
                              size_t bytes, const et_dim_range *narrow);

typedef struct {
    const char *name, *text; /* NAME: of the file */
    size_t bytes;
} et_source;
/* The graph of N programs, each a model of its own: what there is of one, it calls "MODEL.name".
 * NARROW, which may be NULL, is about a dim of that name. */
et_graph *et_parse_etg_mix(et_arena *, et_diags *, int n, const et_source *,
                           const et_dim_range *narrow);

#endif
