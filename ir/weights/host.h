/* host.h - weights that lie in host memory.
 *
 * The leading `host` dimensions of such a weight number entries, row-major: of experts, one for
 * each of every layer. Where an entry's elements lie a table says that is the weight's argument:
 * in host memory, which the device reads over the link, or in a copy that the runtime keeps on the
 * device of those that are used most (runtime/etrt_abi.h). Entries of the table change between
 * launches alone. Only what a table has can be there, so a weight of which tiles read rows of
 * several entries at once stays on the device. */
#ifndef ET_HOST_H
#define ET_HOST_H

#include "ir/program/program.h"

/* An entry is a multiple of so many bytes: what is aligned in the weight is in an entry. */
enum { ET_HOST_ALIGN = 16 };

/* Why T cannot lie in host memory with entries of its first DIMS dimensions; NULL: it can. */
const char *et_host_problem(const et_program *, const et_tensor *t, int dims);
/* How many entries a weight in host memory has. */
int64_t et_host_entries(const et_program *, const et_tensor *t);
/* Why the program may not read a weight as one in host memory, and which; NULL: it may. */
const char *et_host_misread(const et_program *, int *out_tensor);

#endif
