#include "examples/llm/cluster/message.h"
#include "examples/llm/cluster/nccl.h"
#include "examples/llm/engine/lm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Before its name with a zero behind it, and its data. */
struct head {
    int32_t kind, name; /* bytes of the name, with the zero */
    int64_t n, from;
};

bool message_add(struct message *m, enum item_kind kind, const char *name, int64_t n, int64_t from,
                 const void *data, char *err) {
    struct head h = {kind, (int32_t)strlen(name) + 1, n, from};
    size_t data_bytes = data ? (size_t)n : 0, name_bytes = (size_t)h.name;
    size_t all = sizeof h + name_bytes + data_bytes;
    if (m->room - m->bytes < all) {
        size_t room = 2 * m->room + all;
        unsigned char *more = realloc(m->data, room);
        if (!more) return llm_fail(err, "out of memory");
        m->data = more;
        m->room = room;
    }
    memcpy(m->data + m->bytes, &h, sizeof h);
    memcpy(m->data + m->bytes + sizeof h, name, name_bytes);
    if (data_bytes) memcpy(m->data + m->bytes + sizeof h + name_bytes, data, data_bytes);
    m->bytes += all;
    return true;
}

void message_free(struct message *m) {
    free(m->data);
    *m = (struct message){0};
}

bool message_item(const unsigned char *data, size_t bytes, size_t *at, struct item *out,
                  bool *wrong) {
    struct head h;
    *wrong = false;
    if (*at == bytes) return false;
    *wrong = true;
    size_t left = bytes - *at;
    if (left < sizeof h) return false;
    memcpy(&h, data + *at, sizeof h);
    left -= sizeof h;
    if (h.kind < ITEM_DIM || h.kind > ITEM_RESET || h.name < 1 || (size_t)h.name > left)
        return false;
    const unsigned char *name = data + *at + sizeof h;
    left -= (size_t)h.name;
    size_t data_bytes = h.kind == ITEM_INPUT ? (size_t)h.n : 0;
    if (name[h.name - 1] || h.n < 0 || data_bytes > left) return false;
    *out = (struct item){(enum item_kind)h.kind, (const char *)name, h.n, h.from, name + h.name};
    *at += sizeof h + (size_t)h.name + data_bytes;
    *wrong = false;
    return true;
}

/* ---- what stages hand on ---- */

/* Number I of the tensors that stages hand on: "stage_in", "stage_in_1", ... */
static const char *handed_name(const char *prefix, int i, char out[32]) {
    if (i)
        snprintf(out, 32, "%s_%d", prefix, i);
    else
        snprintf(out, 32, "%s", prefix);
    return out;
}

bool handed(const etrt_model *m, etrt_session *s, const char *name, size_t *out_bytes) {
    static const size_t sizes[] = {[ETRT_F32] = 4, [ETRT_I32] = 4, [ETRT_F16] = 2, [ETRT_BF16] = 2};
    etrt_tensor_info info;
    int64_t shape[ETRT_MAX_RANK];
    int rank, t = 0;
    while (etrt_model_tensor(m, t, &info) == ETRT_OK && strcmp(info.name, name) != 0)
        t++;
    if (etrt_model_tensor(m, t, &info) != ETRT_OK || info.dtype >= sizeof sizes / sizeof *sizes ||
        etrt_shape(s, name, shape, &rank) != ETRT_OK)
        return false;
    *out_bytes = sizes[info.dtype];
    for (int d = 0; d < rank; d++)
        *out_bytes *= (size_t)shape[d];
    return true;
}

static bool take_tensor(const struct wire *w, int from, etrt_session *s, const char *name,
                        size_t bytes, char *err) {
    size_t sent;
    if (w->nccl) return nccl_take(w, from, name, bytes, err);
    if (!wire_next(w, from, WIRE_TENSOR, w->limit, &sent, err)) return false;
    void *data = malloc(bytes);
    bool good =
        data ? wire_take(w, from, WIRE_TENSOR, data, bytes, err) : llm_fail(err, "out of memory");
    if (good && etrt_bind(s, name, data, bytes) != ETRT_OK)
        good = llm_fail(err, "%s: %s", name, etrt_last_error());
    free(data);
    return good;
}

bool handed_take(const struct wire *w, int from, int64_t launch, const etrt_model *m,
                 etrt_session *s, struct status *out, char *err) {
    char name[32], who[64];
    size_t bytes;
    if (!wire_next(w, from, WIRE_STATUS, w->limit, &bytes, err)) return false;
    if (bytes != sizeof *out) return llm_fail(err, "a message of another program");
    if (!wire_take(w, from, WIRE_STATUS, out, sizeof *out, err)) return false;
    out->why[LLM_ERR - 1] = 0;
    if (out->launch != launch)
        return llm_fail(err, "%s hands on launch %lld, and not %lld", wire_name(w, from, who),
                        (long long)out->launch, (long long)launch);
    int64_t all = 0;
    for (int i = 0; out->good && i < out->tensors; i++) {
        if (!handed(m, s, handed_name(LM_STAGE_IN, i, name), &bytes))
            return llm_fail(err, "the kernel has no input %s: compile it with etcc --layers", name);
        all += (int64_t)bytes;
    }
    if (all != out->bytes)
        return llm_fail(err, "%s hands on %lld bytes, and %lld are needed: kernels of one model",
                        wire_name(w, from, who), (long long)out->bytes, (long long)all);
    for (int i = 0; out->good && i < out->tensors; i++) {
        handed(m, s, handed_name(LM_STAGE_IN, i, name), &bytes);
        if (!take_tensor(w, from, s, name, bytes, err)) return false;
    }
    return true;
}

bool handed_give(const struct wire *w, int to, const etrt_model *m, etrt_session *s,
                 struct status *st, char *err) {
    char name[32];
    size_t bytes;
    st->tensors = 0;
    st->bytes = 0;
    while (st->good && handed(m, s, handed_name(LM_STAGE_OUT, st->tensors, name), &bytes)) {
        st->tensors++;
        st->bytes += (int64_t)bytes;
    }
    if (!wire_send(w, to, WIRE_STATUS, st, sizeof *st, err)) return false;
    bool good = true;
    for (int i = 0; good && i < st->tensors; i++) {
        handed(m, s, handed_name(LM_STAGE_OUT, i, name), &bytes);
        if (w->nccl) {
            good = nccl_send(w, to, name, bytes, err);
            continue;
        }
        void *data = malloc(bytes);
        if (!data)
            good = llm_fail(err, "out of memory");
        else if (etrt_read(s, name, data, bytes) != ETRT_OK)
            good = llm_fail(err, "%s: %s", name, etrt_last_error());
        else
            good = wire_send(w, to, WIRE_TENSOR, data, bytes, err);
        free(data);
    }
    return good;
}
