/* Where tagged temporaries of variants are, which share a workspace; those that are partial over
 * devices last. */
#include "ir/program/deal.h"
#include "passes/pipeline/pipeline.h"

int64_t et_place_after(et_program *p, int64_t end, bool partial) {
    for (int t = 0; t < p->ntensors; t++) {
        et_tensor *x = &p->tensors[t];
        if (partial ? !et_in_inbox(x) : !x->tagged || et_in_inbox(x)) continue;
        x->offset = (end + ET_TAGGED_ALIGN - 1) / ET_TAGGED_ALIGN * ET_TAGGED_ALIGN;
        end = x->offset + (x->max_bytes + ET_TAGGED_ALIGN - 1) / ET_TAGGED_ALIGN * ET_TAGGED_ALIGN;
        p->workspace_bytes = end;
    }
    return end;
}

void et_place_tagged(et_program *whole) {
    int64_t end = 0;
    et_program *p;
    bool any = false;
    for (int i = 0; (p = et_program_part(whole, i)); i++)
        for (int t = 0; t < p->ntensors; t++) {
            const et_tensor *x = &p->tensors[t];
            any |= x->tagged || et_in_inbox(x);
            if (x->kind == ET_TENSOR_TEMP && !x->tagged && !et_in_inbox(x) &&
                x->offset + x->max_bytes > end)
                end = x->offset + x->max_bytes;
        }
    for (int i = 0; any && (p = et_program_part(whole, i)); i++) {
        if (p->workspace_bytes < end) p->workspace_bytes = end;
        end = et_place_after(p, end, false);
    }
    for (int i = 0; any && (p = et_program_part(whole, i)); i++)
        end = et_place_after(p, end, true);
}
