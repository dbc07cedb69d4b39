/* eti.h - reading .eti: the text of any stage, as et_graph_print and et_program_print write it or
 * as people do. ETI.md is the reference. */
#ifndef ET_ETI_H
#define ET_ETI_H

#include "ir/program/program.h"

/* The program in TEXT, which may hold any bytes. On an error the diagnostics say why, all of them
 * at once, and the result is NULL. *out_program is NULL when the text is of stage `graph`;
 * otherwise it belongs to the graph, which then holds symbols and loops only. Both live in the
 * arena. What later passes require of a program has been checked. */
et_graph *et_eti_parse(et_arena *, et_diags *, const char *file_name, const char *text,
                       size_t bytes, et_program **out_program);

/* The same with the dim called DIM in LO..HI, within its bounds. */
et_graph *et_eti_parse_narrow(et_arena *, et_diags *, const char *file_name, const char *text,
                              size_t bytes, const char *dim, int64_t lo, int64_t hi,
                              et_program **out_program);

/* NULL when the text of P (of G where P is NULL) reads back as the same text; else what is wrong.
 */
char *et_eti_round_trip(et_arena *, et_graph *g, et_program *p);

/* Does TEXT begin like .eti? */
bool et_eti_looks(const char *text, size_t bytes);

#endif
