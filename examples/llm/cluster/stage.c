/* A rank that is not the head: takes what a launch is given from the head, what the stage before
 * has computed from that one, launches, and hands on what the next one reads. */
#include "examples/llm/cluster/cluster.h"
#include "examples/llm/cluster/message.h"
#include "examples/llm/cluster/nccl.h"
#include "examples/llm/engine/lm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stage {
    const struct wire *wire;
    const struct stage_options *o;
    etrt_device *device;
    etrt_model *model;
    etrt_session *session;
    int64_t launches;
};

static bool is_ok(etrt_status st, const char *what, char *err) {
    return st == ETRT_OK ||
           llm_fail(err, "%s: %s: %s", what, etrt_status_text(st), etrt_last_error());
}

static void close_stage(struct stage *s) {
    etrt_session_destroy(s->session);
    etrt_model_unload(s->model);
    etrt_device_close(s->device);
    s->session = NULL;
    s->model = NULL;
    s->device = NULL;
}

static bool open_stage(struct stage *s, char *err) {
    int stage = wire_stage(s->wire, s->wire->rank);
    if (!is_ok(etrt_device_open(s->o->device, &s->device), s->o->device, err) ||
        !is_ok(etrt_model_load(s->device, s->o->kernel, &s->model), s->o->kernel, err) ||
        !is_ok(etrt_model_cache(s->model, s->o->cache), s->o->kernel, err) ||
        !is_ok(etrt_model_weights_file(s->model, s->o->model), s->o->model, err) ||
        !is_ok(etrt_session_create(s->model, &s->session), "session", err))
        return false;
    if (s->wire->nccl && !nccl_bind(s->model, s->session, err)) return false;
    /* Shapes are not known before dims are: their names are. */
    etrt_tensor_info info;
    bool in = false, out = false;
    for (int t = 0; etrt_model_tensor(s->model, t, &info) == ETRT_OK; t++) {
        in |= !strcmp(info.name, LM_STAGE_IN);
        out |= !strcmp(info.name, LM_STAGE_OUT);
    }
    return (out && in == (stage > 1)) ||
           llm_fail(err, "%s is not the kernel of stage %d: etcc --layers=%d/%d makes it",
                    s->o->kernel, stage, stage, s->wire->ranks);
}

static bool has_dim(const struct stage *s, const char *name) {
    etrt_dim_info info;
    for (int i = 0; etrt_model_dim(s->model, i, &info) == ETRT_OK; i++)
        if (!strcmp(info.name, name)) return true;
    return false;
}

static bool has_input(const struct stage *s, const char *name) {
    etrt_tensor_info info;
    for (int i = 0; etrt_model_tensor(s->model, i, &info) == ETRT_OK; i++)
        if (info.kind == ETRT_INPUT && !strcmp(info.name, name)) return true;
    return false;
}

/* What this stage has of it. */
static bool take_item(struct stage *s, const struct item *i, char *err) {
    if (i->kind == ITEM_DIM)
        return !has_dim(s, i->name) || is_ok(etrt_set_dim(s->session, i->name, i->n), i->name, err);
    if (i->kind == ITEM_INPUT)
        return !has_input(s, i->name) ||
               is_ok(etrt_bind(s->session, i->name, i->data, (size_t)i->n), i->name, err);
    if (i->kind == ITEM_COPY || i->kind == ITEM_CARRY)
        return lm_copy_in(s->model, s->session, "", i->kind == ITEM_CARRY, i->n, i->from, err);
    return is_ok(etrt_session_reset(s->session), "reset", err);
}

/* The next launch; *OUT_OVER: there is none. */
static bool take_launch(struct stage *s, bool *out_over, char *err) {
    size_t bytes, at = 0;
    bool wrong = false;
    struct item item;
    if (!wire_next(s->wire, 0, WIRE_LAUNCH, 0, &bytes, err)) return false;
    *out_over = !bytes;
    unsigned char *data = malloc(bytes + 1);
    bool good = data ? wire_take(s->wire, 0, WIRE_LAUNCH, data, bytes, err)
                     : llm_fail(err, "out of memory");
    while (good && message_item(data, bytes, &at, &item, &wrong))
        good = take_item(s, &item, err);
    free(data);
    return good && (!wrong || llm_fail(err, "a message of another program"));
}

/* A launch that fails is told to the head, through the stages between; a device that may be lost is
 * opened again for the next one. */
static bool launch(struct stage *s, struct status *st, char *err) {
    char who[64];
    etrt_status status = etrt_run(s->session);
    if (is_ok(status, "launch", err)) return true;
    st->good = 0;
    snprintf(st->why, sizeof st->why, "%.60s: %.440s", wire_name(s->wire, s->wire->rank, who), err);
    if (status == ETRT_WAIT) return true;
    close_stage(s);
    return open_stage(s, err);
}

static bool step(struct stage *s, bool *out_over, char *err) {
    struct status st = {.good = 1};
    int stage = wire_stage(s->wire, s->wire->rank);
    if (!take_launch(s, out_over, err)) return false;
    if (*out_over) return true;
    s->launches++;
    if (stage > 1 && !handed_take(s->wire, wire_rank(s->wire, stage - 1), s->launches, s->model,
                                  s->session, &st, err))
        return false;
    st.launch = s->launches;
    return (!st.good || launch(s, &st, err)) &&
           handed_give(s->wire, wire_rank(s->wire, stage + 1), s->model, s->session, &st, err);
}

bool stage_run(const struct wire *w, const struct stage_options *o, char *err) {
    struct stage s = {.wire = w, .o = o};
    bool over = false;
    bool good = open_stage(&s, err) && wire_send(w, 0, WIRE_READY, "", 0, err);
    while (good && !over)
        good = step(&s, &over, err);
    close_stage(&s);
    return good;
}
