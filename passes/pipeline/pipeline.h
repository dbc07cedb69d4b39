/* pipeline.h - the state that passes share. A pass is a row of pipeline.def and a function here. */
#ifndef ET_PIPELINE_H
#define ET_PIPELINE_H

#include "ir/program/program.h"
#include "passes/pipeline/options.h"
#include "passes/product/product.h"
#include <string.h>

typedef struct et_pipeline {
    et_graph *g;
    const et_pass_options *opt;
    et_program *p; /* from fuse on */
    bool inferred; /* its waits were inferred here, not read from a text */
    /* Set where the verifier could not prove the program: it is made again in a form that is
     * simpler to prove, by the first of these, then by both. */
    enum { ET_AS_IS, ET_CLAMPED, ET_RESHAPES_APART } simpler;
    /* Sums over devices have tensors of their own, for tiles have no room for all they read of
     * their parts; unfence asks for it, and then the program is made again. */
    bool apart, ask_apart;
    bool again;    /* set by verify: it failed without messages, and there is a simpler way */
    bool reshapes; /* set by fuse: the graph has some, whose indices multiply and divide by sizes */
} et_pipeline;

/* Are all tiles dealt to workgroups at compile time? */
static inline bool et_is_static(const et_pass_options *o) {
    return et_schedule_of(o->schedule)->fixed;
}

/* May there be a weight stream? */
static inline bool et_may_stream(const et_pass_options *o) {
    return o->machine->stream_kb && et_is_static(o) &&
           !et_is_without(o->without, ET_FEATURE_STREAM);
}

/* Also for products of many rows (passes/cost/stream_many.h)? */
static inline bool et_may_have_slots(const et_pass_options *o) {
    return et_may_stream(o) && !o->packed && !o->same_sums &&
           !et_is_without(o->without, ET_FEATURE_STREAM_MANY);
}

/* Is what PASS does to be printed? */
static inline bool et_is_dumped(const et_pass_options *o, const char *pass) {
    return o->dump && (strcmp(o->dump, pass) == 0 || strcmp(o->dump, "all") == 0);
}

typedef bool (*et_pass_fn)(et_pipeline *);
#define X(name, from, to, help) bool et_pass_##name(et_pipeline *);
#include "passes/pipeline/pipeline.def"
#undef X
enum { ET_TAGGED_ALIGN = 256 }; /* of tagged temporaries in the workspace, in bytes */
/* Lays the tagged temporaries of P that are PARTIAL, or those that are not, from END on; the new
 * end.
 */
int64_t et_place_after(et_program *, int64_t end, bool partial);
/* Lays tagged temporaries of variants, which share a workspace, where no other variant has
 * anything. */
void et_place_tagged(et_program *whole);

#endif
