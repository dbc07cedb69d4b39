/* Which accesses are ordered. Memory is cells of two bytes: each remembers its last writer and the
 * tasks that have read it since. Two tasks conflict when both touch a cell and one writes; checking
 * each access against the cell's last writer, and each write against the readers since, finds an
 * unordered pair whenever there is one, as "happened before" is transitive.
 *
 * Sets of readers are shared: a set is a list that grows at its front, and equal growth of equal
 * lists gives the same list, so that the cells of a tile read by one task after another have one
 * number. */
#include "ir/interp/run.h"
#include <stdlib.h>
#include <string.h>

struct set {
    int rest, task; /* the set without this task */
    int seen;       /* all tasks of this set happened before task `seen` - 1 */
};

struct grown {
    int from, task, to; /* set, task + 1 (0: free), the larger set */
};

struct run_shadow {
    struct run_cell **cell; /* by tensor: one an element; temporaries: NULL */
    struct run_cell *temp;  /* two bytes of the workspace each */
    int *through;           /* by cell of the workspace: the tensor it was written as */
    struct set *set;        /* set[0]: the empty one */
    int nset, cset;
    struct grown *table; /* open addressing */
    int ntable;
    struct grown last;
};

static bool immutable(const et_tensor *t) {
    return t->kind == ET_TENSOR_WEIGHT || t->kind == ET_TENSOR_CONST || t->kind == ET_TENSOR_INPUT;
}

bool run_shadow_create(struct run *m) {
    struct run_shadow *s = m->shadow = calloc(1, sizeof *s);
    et_program *p = m->p;
    if (!s) return false;
    size_t cells = (size_t)p->workspace_bytes / 2 + 2;
    s->cell = calloc((size_t)p->ntensors + 1, sizeof *s->cell);
    s->temp = calloc(cells, sizeof *s->temp);
    s->through = calloc(cells, sizeof *s->through);
    s->cset = 1024;
    s->set = calloc((size_t)s->cset, sizeof *s->set);
    s->nset = 1;
    s->ntable = 4096;
    s->table = calloc((size_t)s->ntable, sizeof *s->table);
    if (!s->cell || !s->temp || !s->through || !s->set || !s->table) return false;
    for (int t = 0; t < p->ntensors; t++) {
        const et_tensor *x = &p->tensors[t];
        if (immutable(x) || x->kind == ET_TENSOR_TEMP) continue;
        size_t n = 1;
        for (int d = 0; d < x->shape.rank; d++)
            n *= (size_t)m->dim[t][d];
        s->cell[t] = calloc(n + 1, sizeof **s->cell);
        if (!s->cell[t]) return false;
    }
    return true;
}

void run_shadow_destroy(struct run *m) {
    struct run_shadow *s = m->shadow;
    if (!s) return;
    for (int t = 0; s->cell && t < m->p->ntensors; t++)
        free(s->cell[t]);
    free(s->cell);
    free(s->temp);
    free(s->through);
    free(s->set);
    free(s->table);
    free(s);
}

/* ---- sets of readers ---- */

static struct grown *slot(struct run_shadow *s, int from, int task) {
    uint32_t h = ((uint32_t)from * 0x9e3779b1u ^ (uint32_t)task * 0x85ebca6bu) >> 7;
    for (uint32_t i = h;; i++) {
        struct grown *g = &s->table[i & (uint32_t)(s->ntable - 1)];
        if (!g->task || (g->from == from && g->task == task + 1)) return g;
    }
}

static bool grow_table(struct run_shadow *s) {
    struct grown *old = s->table;
    int n = s->ntable;
    s->table = calloc(2 * (size_t)n, sizeof *s->table);
    if (!s->table) {
        s->table = old;
        return false;
    }
    s->ntable = 2 * n;
    for (int i = 0; i < n; i++)
        if (old[i].task) *slot(s, old[i].from, old[i].task - 1) = old[i];
    free(old);
    return true;
}

static int with(struct run *m, int from, int task) {
    struct run_shadow *s = m->shadow;
    if (s->set[from].task == task && from) return from;
    if (s->last.from == from && s->last.task == task + 1) return s->last.to;
    struct grown *g = slot(s, from, task);
    if (!g->task) {
        if (s->nset == s->cset) {
            struct set *larger = realloc(s->set, 2 * (size_t)s->cset * sizeof *larger);
            if (!larger) {
                run_fail(m, "out of memory");
                return from;
            }
            s->set = larger;
            s->cset *= 2;
        }
        s->set[s->nset] = (struct set){.rest = from, .task = task};
        *g = (struct grown){from, task + 1, s->nset++};
        s->last = *g;
        if (s->nset > s->ntable / 2 && !grow_table(s)) run_fail(m, "out of memory");
        return s->last.to;
    }
    s->last = *g;
    return g->to;
}

/* ---- accesses ---- */

static const char *element_name(struct run *m, int tensor, int64_t element, char buf[160]) {
    const et_tensor *t = &m->p->tensors[tensor];
    int64_t at[ET_MAX_RANK];
    for (int d = t->shape.rank - 1; d >= 0; d--) {
        at[d] = element % m->dim[tensor][d];
        element /= m->dim[tensor][d];
    }
    int n = snprintf(buf, 160, "%%%.60s[", t->name);
    for (int d = 0; d < t->shape.rank && n < 140; d++)
        n += snprintf(buf + n, 160 - (size_t)n, "%s%lld", d ? ", " : "", (long long)at[d]);
    snprintf(buf + n, 160 - (size_t)n, "]");
    return buf;
}

static void report(struct run *m, const char *does, const char *did, int other, int tensor,
                   int64_t element) {
    char a[160], b[160], e[160];
    run_fail(m, "race: task %s %s %s, which task %s %s, and no event orders the two",
             run_task_name(m, m->now, a), does, element_name(m, tensor, element, e),
             run_task_name(m, other, b), did);
}

/* Elements with a tag show by themselves whether they have come; for all others it takes fences. */
static bool ordered(const struct run *m, int task, int tensor) {
    return task == m->now || run_before(m, task, !m->p->tensors[tensor].tagged);
}

static void check_readers(struct run *m, struct run_cell *c, int tensor, int64_t element) {
    struct set *set = m->shadow->set;
    bool tagged = m->p->tensors[tensor].tagged; /* what was SEEN is about all others */
    for (int s = c->readers; s && (tagged || set[s].seen != m->now + 1); s = set[s].rest) {
        if (!ordered(m, set[s].task, tensor)) {
            report(m, "writes", "reads", set[s].task, tensor, element);
            return;
        }
    }
    for (int s = c->readers; s && !tagged && set[s].seen != m->now + 1; s = set[s].rest)
        set[s].seen = m->now + 1;
}

/* The cells of an element: FIRST of COUNT. */
static struct run_cell *cells_of(struct run *m, int tensor, int64_t element, int *out_count,
                                 int64_t *out_first) {
    const et_tensor *t = &m->p->tensors[tensor];
    struct run_shadow *s = m->shadow;
    *out_count = 1;
    if (t->kind != ET_TENSOR_TEMP) return s->cell[tensor] ? &s->cell[tensor][element] : NULL;
    int bytes = et_dtype_bytes(t->shape.dtype);
    *out_count = bytes / 2;
    *out_first = t->offset / 2 + element * (bytes / 2);
    return &s->temp[*out_first];
}

void run_shadow_read(struct run *m, int tensor, int64_t element) {
    const et_tensor *t = &m->p->tensors[tensor];
    int n;
    int64_t first = 0;
    struct run_cell *c = cells_of(m, tensor, element, &n, &first);
    char a[160], b[160], e[160];
    for (int i = 0; c && i < n && !m->failed; i++) {
        int writer = c[i].writer - 1;
        if (writer < 0 && t->kind != ET_TENSOR_STATE)
            run_fail(m, "task %s reads %s, which nothing has written", run_task_name(m, m->now, a),
                     element_name(m, tensor, element, e));
        else if (writer >= 0 && !ordered(m, writer, tensor))
            report(m, "reads", "writes", writer, tensor, element);
        else if (t->kind == ET_TENSOR_TEMP && m->shadow->through[first + i] != tensor)
            run_fail(m, "task %s reads %s, but task %s has written that memory as %%%s",
                     run_task_name(m, m->now, a), element_name(m, tensor, element, e),
                     run_task_name(m, writer, b),
                     m->p->tensors[m->shadow->through[first + i]].name);
        else
            c[i].readers = with(m, c[i].readers, m->now);
    }
}

void run_shadow_write(struct run *m, int tensor, int64_t element) {
    const et_tensor *t = &m->p->tensors[tensor];
    int n;
    int64_t first = 0;
    struct run_cell *c = cells_of(m, tensor, element, &n, &first);
    char a[160], e[160];
    if (!c)
        run_fail(m, "task %s writes %s, which is read-only", run_task_name(m, m->now, a),
                 element_name(m, tensor, element, e));
    for (int i = 0; c && i < n && !m->failed; i++) {
        int writer = c[i].writer - 1;
        if (writer >= 0 && !ordered(m, writer, tensor))
            report(m, "writes", "writes", writer, tensor, element);
        check_readers(m, &c[i], tensor, element);
        c[i].writer = m->now + 1;
        c[i].readers = 0;
        if (t->kind == ET_TENSOR_TEMP) m->shadow->through[first + i] = tensor;
    }
}
