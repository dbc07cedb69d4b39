/* How a program is divided among several devices: each weight and state, and what is exchanged. */
#include "passes/explain/int.h"

static const char *const kinds[] = {
    [ET_TENSOR_WEIGHT] = "weight", [ET_TENSOR_STATE] = "state", [ET_TENSOR_OUTPUT] = "output"};

static void put_share(const struct explain *e, const et_tensor *t) {
    const et_device_cut *c = &t->cut;
    const char *own = explain_bytes(e, (double)t->max_bytes);
    fprintf(e->to, "  %s %s: ", kinds[t->kind], t->name);
    if (!c->devices) {
        fprintf(e->to, "whole on each device, %s\n", own);
        return;
    }
    fprintf(e->to, "axis %d", c->axis);
    if (c->of) fprintf(e->to, ", from %lld of %lld on,", (long long)c->from, (long long)c->of);
    fprintf(e->to, " in %d parts of %s", c->devices / c->repeat, own);
    if (c->repeat > 1) fprintf(e->to, ", each on %d devices", c->repeat);
    fputc('\n', e->to);
}

static double elements(const struct explain *e, const et_tensor *t, const int64_t *syms) {
    double n = 1;
    for (int d = 0; d < t->shape.rank; d++)
        n *= (double)et_eval(e->x, t->shape.dim[d], syms, NULL);
    return n;
}

/* T has a dimension for each loop around the tasks that store it. */
static void put_exchange(const struct explain *e, const et_tensor *t) {
    const int64_t *least = e->syms[0], *most = e->syms[e->nsamples - 1];
    int others = e->p->g->devices - 1;
    double word = (t->tagged ? 2 : 1) * et_dtype_width(t->shape.dtype);
    if (t->dealt || t->own) word /= e->p->g->devices;
    fprintf(e->to, "  %%%s: %s of %s elements, %s: to %d other%s %s", t->name,
            t->own ? "what each device has" : "the sum over devices",
            et_dims_text(e->x, t->shape.rank, t->shape.dim), t->dealt ? "by rows" : "one-shot",
            others, others == 1 ? "" : "s each", explain_bytes(e, word * elements(e, t, least)));
    if (e->nsamples > 1) fprintf(e->to, " to %s", explain_bytes(e, word * elements(e, t, most)));
    fprintf(e->to, " a launch, %s\n",
            t->tagged ? "a word of value and tag for each"
                      : "a flag for each counter of its event");
}

/* What each device sends the others of its rows. */
static void put_shared(const struct explain *e, const et_tensor *t) {
    const int64_t *most = e->syms[e->nsamples - 1];
    double bytes = et_dtype_width(t->shape.dtype) * elements(e, t, most) / e->p->g->devices;
    fprintf(e->to, "  %%%s: %s elements, each from the device that has its row: up to %s to each\n",
            t->name, et_dims_text(e->x, t->shape.rank, t->shape.dim), explain_bytes(e, bytes));
}

void explain_devices(struct explain *e) {
    const et_program *p = e->p;
    double own = 0, all = 0;
    int exchanges = 0;
    if (!p->g->devices) return;
    fprintf(e->to, "\nDevices: %d run it together, each with\n", p->g->devices);
    for (int i = 0; i < p->ntensors; i++) {
        const et_tensor *t = &p->tensors[i];
        exchanges += t->partial > 0;
        if (t->kind != ET_TENSOR_WEIGHT && t->kind != ET_TENSOR_STATE &&
            t->kind != ET_TENSOR_OUTPUT)
            continue;
        put_share(e, t);
        if (t->kind != ET_TENSOR_WEIGHT) continue;
        own += (double)t->max_bytes;
        all += (double)t->max_bytes * (t->cut.devices ? t->cut.devices / t->cut.repeat : 1);
    }
    fprintf(e->to, "Weights of a device: %s of %s. ", explain_bytes(e, own), explain_bytes(e, all));
    fprintf(e->to, exchanges ? "Exchanged:\n" : "Nothing is exchanged.\n");
    for (int i = 0; i < p->ntensors; i++)
        if (p->tensors[i].partial)
            put_exchange(e, &p->tensors[i]);
        else if (p->tensors[i].shared)
            put_shared(e, &p->tensors[i]);
}
