/* Tensors of which each of several devices has a part, as wholes for who reads and writes them. */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/base/error.h"

void etrt_whole(const struct etrt_manifest *mf, const struct etrt_tensor *t, int64_t *shape,
                int64_t *bytes) {
    if (!t->cut) return;
    shape[t->cut - 1] *= etrt_parts(mf, t);
    *bytes *= etrt_parts(mf, t);
}

/* A box of a tensor, what of it one device has, and how both lie in memory. */
struct box {
    int rank;
    int64_t size[ETRT_MAX_RANK];                        /* of what the device has of it */
    uint64_t there[ETRT_MAX_RANK], here[ETRT_MAX_RANK]; /* bytes from one to the next */
    char *memory, *data;
};

/* Bytes from one element to the next along each dimension of SHAPE. */
static void strides(int rank, const int64_t *shape, uint64_t element, uint64_t *out) {
    for (int d = rank; d-- > 0; element *= (uint64_t)shape[d])
        out[d] = element;
}

/* Elements along the last dimensions lie side by side in both from dimension FROM on. */
static etrt_status copy_box(etrt_device *dev, const struct box *b, int d, int from, uint64_t there,
                            uint64_t here, bool write) {
    etrt_status st = ETRT_OK;
    if (d < from) {
        for (int64_t i = 0; st == ETRT_OK && i < b->size[d]; i++)
            st = copy_box(dev, b, d + 1, from, there + (uint64_t)i * b->there[d],
                          here + (uint64_t)i * b->here[d], write);
        return st;
    }
    uint64_t run = (uint64_t)b->size[d] * b->there[d];
    return write ? etrt_mem_write(dev, b->memory + there, b->data + here, run)
                 : etrt_mem_read(dev, b->data + here, b->memory + there, run);
}

etrt_status etrt_cut_copy(const etrt_session *s, const char *call, int index, int axis,
                          int64_t first, int64_t count, void *data, size_t bytes, bool write) {
    const struct etrt_tensor *t = &s->model->manifest.tensors[index];
    int64_t part[ETRT_MAX_RANK], whole[ETRT_MAX_RANK], part_bytes;
    int cut = t->cut - 1;
    uint64_t element = etrt_dtype_bytes(t->dtype), need = element;
    etrt_status st = etrt_session_now(s, t, part, &part_bytes);
    if (st != ETRT_OK) return st;
    for (int d = 0; d < t->rank; d++)
        whole[d] = part[d] * (d == cut ? etrt_parts(&s->model->manifest, t) : 1);
    st = etrt_axis_check(t, call, whole, axis, first, count);
    if (st != ETRT_OK) return st;
    whole[axis] = count; /* from here on, of what is asked for */
    for (int d = 0; d < t->rank; d++)
        need *= (uint64_t)whole[d];
    st = etrt_bytes_check(call, t->name, need, data, bytes);
    for (int m = 0; st == ETRT_OK && need && m < s->model->manifest.devices; m++) {
        struct box b = {.rank = t->rank};
        if (!write && m % t->repeat) continue; /* it has what the one before has */
        int64_t base = m / t->repeat * part[cut],
                lo = axis == cut ? first : 0; /* of the whole, along cut */
        int64_t hi = axis == cut ? first + count : base + part[cut];
        int64_t from = lo > base ? lo : base, to = hi < base + part[cut] ? hi : base + part[cut];
        if (from >= to) continue;
        strides(t->rank, part, element, b.there);
        strides(t->rank, whole, element, b.here);
        for (int d = 0; d < t->rank; d++)
            b.size[d] = d == cut ? to - from : d == axis ? count : part[d];
        b.memory = etrt_member_memory(s->model->device, m, s->tensors[index]);
        b.memory += (uint64_t)(from - base) * b.there[cut];
        b.data = (char *)data + (uint64_t)(from - lo) * b.here[cut];
        if (axis != cut) b.memory += (uint64_t)first * b.there[axis];
        st =
            copy_box(etrt_member(s->model->device, m), &b, 0, axis > cut ? axis : cut, 0, 0, write);
    }
    return st;
}
