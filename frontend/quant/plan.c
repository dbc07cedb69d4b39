/* plan.c - which weights of a checkpoint are quantised, and the file that holds all. */
#include "frontend/quant/quant.h"
#include <ctype.h>
#include <fnmatch.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A tensor of the output: one that stays, or tensor WHICH of what WEIGHT becomes. */
struct part {
    const struct etrt_st_tensor *kept;
    struct qnt_weight weight;
    int which;
};

struct qnt_plan {
    et_arena *arena;
    const struct qnt_method *method;
    struct qnt_fault *fault;
    struct part *parts;
    struct etrt_st_tensor *tensors;
    int nparts, cparts, ctensors, nweights;
    enum qnt_head head;
    const char **left; /* matrices that stay */
    int nleft, cleft;
    uint64_t before;
};

/* ---- which ---- */

static bool ends_in(const char *s, const char *end) {
    size_t n = strlen(s), k = strlen(end);
    return n >= k && !strcmp(s + n - k, end);
}

/* Has NAME the number of a layer in it? Outside of layers are embeddings and heads. */
static bool is_in_layer(const char *name) {
    for (const char *p = name; (p = strchr(p, '.')); p++) {
        size_t n = strspn(p + 1, "0123456789");
        if (n && p[1 + n] == '.') return true;
    }
    return false;
}

/* What chooses experts is kept as it is: rounding it would choose others. */
static bool is_router(const char *base) {
    static const char *const ends[] = {".gate", ".router", ".shared_expert_gate", ".wg"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_in(base, ends[i])) return true;
    return false;
}

static bool is_kept(const char *name, const char *const *keep, int nkeep) {
    for (int i = 0; i < nkeep; i++)
        if (!fnmatch(keep[i], name, 0)) return true;
    return false;
}

static bool is_float(const char *type) {
    return !strcmp(type, "BF16") || !strcmp(type, "F16") || !strcmp(type, "F32");
}

static bool is_matrix(const struct etrt_st_tensor *t) {
    return t->rank == 2 && t->shape[0] && t->shape[1];
}

static bool is_linear(const struct etrt_st_tensor *t, const char *base) {
    return is_matrix(t) && is_in_layer(t->name) && !is_router(base) && !ends_in(base, "norm") &&
           !strstr(base, "embed");
}

static bool is_head(const struct etrt_st_tensor *t) {
    return !strcmp(t->name, QNT_HEAD_NAME ".weight");
}

static bool fits(const struct qnt_plan *p, const struct etrt_st_tensor *t) {
    return is_float(t->dtype) && t->shape[1] % p->method->columns == 0;
}

/* ---- the plan ---- */

static void add(struct qnt_plan *p, struct part part, struct etrt_st_tensor t) {
    int n = p->nparts;
    ET_GROW(p->arena, p->parts, n, p->cparts);
    ET_GROW(p->arena, p->tensors, n, p->ctensors);
    p->parts[n] = part;
    p->tensors[n] = t;
    p->nparts++;
}

static void add_weight(struct qnt_plan *p, struct qnt_weight w) {
    struct etrt_st_tensor out[QNT_MOST];
    int n = p->method->describe(p->arena, &w, out);
    for (int i = 0; i < n; i++)
        add(p, (struct part){.weight = w, .which = i}, out[i]);
    p->nweights++;
}

static void add_tensor(struct qnt_plan *p, const struct etrt_st *st, const struct etrt_st_tensor *t,
                       const char *const *keep, int nkeep) {
    p->before += t->bytes;
    const char *end = ".weight";
    bool matrix = ends_in(t->name, end) && t->rank == 2;
    const char *base =
        matrix ? et_strndup(p->arena, t->name, strlen(t->name) - strlen(end)) : t->name;
    bool head = p->head != QNT_HEAD_STAYS && is_head(t);
    if (head && p->head == QNT_HEAD_IS_EMBEDDING) return; /* unused */
    bool wanted = head ? is_matrix(t) : is_linear(t, base) && !is_kept(t->name, keep, nkeep);
    if (matrix && wanted && fits(p, t)) {
        add_weight(p, (struct qnt_weight){t, etrt_st_path(st, t), base, t->shape[0], t->shape[1]});
        return;
    }
    add(p, (struct part){.kept = t}, *t);
    if (!matrix || strstr(base, "embed")) return;
    ET_GROW(p->arena, p->left, p->nleft, p->cleft);
    p->left[p->nleft++] = base;
}

/* The matrix that is the head, and is to be quantised; or NULL with a fault. */
static const struct etrt_st_tensor *find_head(const struct qnt_plan *p, const struct etrt_st *st) {
    const struct etrt_st_tensor *found = NULL;
    bool embedding = p->head == QNT_HEAD_IS_EMBEDDING;
    for (size_t i = 0; i < etrt_st_count(st); i++) {
        const struct etrt_st_tensor *t = etrt_st_at(st, i);
        if (embedding ? ends_in(t->name, "embed_tokens.weight") : is_head(t)) found = t;
    }
    if (!found)
        qnt_note(p->fault, "--head: the checkpoint has no tensor %s",
                 embedding ? "embed_tokens.weight, which would be its head"
                           : QNT_HEAD_NAME ".weight");
    else if (!is_matrix(found) || !fits(p, found))
        qnt_note(p->fault,
                 "--head: %s is no bf16, f16 or f32 matrix with a multiple of %lld columns",
                 found->name, (long long)p->method->columns);
    else
        return found;
    return NULL;
}

struct qnt_plan *qnt_plan_make(et_arena *arena, const struct etrt_st *st,
                               const struct qnt_method *method, const char *const *keep, int nkeep,
                               enum qnt_head head, struct qnt_fault *fault) {
    struct qnt_plan *p = et_alloc(arena, sizeof *p);
    *p = (struct qnt_plan){.arena = arena, .method = method, .fault = fault, .head = head};
    const struct etrt_st_tensor *of = head == QNT_HEAD_STAYS ? NULL : find_head(p, st);
    if (head != QNT_HEAD_STAYS && !of) return NULL;
    for (size_t i = 0; i < etrt_st_count(st); i++)
        add_tensor(p, st, etrt_st_at(st, i), keep, nkeep);
    if (head == QNT_HEAD_IS_EMBEDDING)
        add_weight(p, (struct qnt_weight){of, etrt_st_path(st, of), QNT_HEAD_NAME, of->shape[0],
                                          of->shape[1]});
    if (p->nweights) return p;
    qnt_note(
        fault,
        "no tensor of the checkpoint is the bf16, f16 or f32 matrix of a layer with a multiple "
        "of %lld columns",
        (long long)method->columns);
    return NULL;
}

void qnt_plan_count(const struct qnt_plan *p, int *weights, uint64_t *before, uint64_t *after) {
    *weights = p->nweights;
    *before = p->before;
    *after = 0;
    for (int i = 0; i < p->nparts; i++)
        *after += p->tensors[i].bytes;
}

/* The head is named also where it is the embedding, and no tensor. */
json_t *qnt_plan_left(const struct qnt_plan *p) {
    json_t *list = json_array();
    bool head = p->head != QNT_HEAD_STAYS;
    for (int i = 0; i < p->nleft; i++) {
        json_array_append_new(list, json_string(p->left[i]));
        head |= !strcmp(p->left[i], QNT_HEAD_NAME);
    }
    if (!head) json_array_append_new(list, json_string(QNT_HEAD_NAME));
    return list;
}

/* What is mapped of a tensor need not stay in memory: a checkpoint may be larger than that. */
static void forget(const struct etrt_st_tensor *t) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)t->data;
    uintptr_t start = (from + page - 1) / page * page, end = (from + t->bytes) / page * page;
    if (end > start) madvise((void *)start, end - start, MADV_DONTNEED);
}

static bool give(void *user, size_t index, struct etrt_st_sink *to) {
    struct qnt_plan *p = user;
    const struct part *part = &p->parts[index];
    bool ok = part->kept ? etrt_st_put(to, part->kept->data, part->kept->bytes)
                         : p->method->give(&part->weight, part->which, to, p->fault);
    forget(part->kept ? part->kept : part->weight.from);
    return ok;
}

bool qnt_plan_write(struct qnt_plan *p, const char *path, struct qnt_fault *fault) {
    char err[ETRT_ST_ERR];
    p->fault = fault;
    if (etrt_st_write_from(path, p->tensors, (size_t)p->nparts, give, p, err, sizeof err))
        return true;
    return qnt_fail(fault, "%s", *err ? err : "the weights could not be quantised");
}
