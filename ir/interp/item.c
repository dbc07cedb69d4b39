/* What the work-items of one step do to each other. Only the tensor or buffer that the step stores
 * to matters, and the state of a scan: its elements remember which item stored them and which read
 * them. An item of a scan goes through rows in order, and may store an element of the state or of
 * the result more than once: the last row's stays. */
#include "ir/interp/run.h"
#include <stdlib.h>
#include <string.h>

enum { NOBODY = -1, SEVERAL = -2, FIRST_SLOTS = 1024 };

struct mark {
    int64_t element; /* of the state: below 0 */
    uint64_t stamp;  /* of the step that it is about */
    int64_t writer, reader;
};

struct run_items {
    struct mark *mark; /* open addressing */
    size_t nmark, used;
    uint64_t stamp;
};

bool run_items_create(struct run *m) {
    m->items = calloc(1, sizeof *m->items);
    if (!m->items) return false;
    m->items->nmark = FIRST_SLOTS;
    m->items->mark = calloc(FIRST_SLOTS, sizeof *m->items->mark);
    return m->items->mark != NULL;
}

void run_items_destroy(struct run *m) {
    if (m->items) free(m->items->mark);
    free(m->items);
}

void run_items_begin(struct run *m) {
    if (!m->items) return;
    m->items->stamp++;
    m->items->used = 0;
}

static struct mark *find(struct run_items *s, int64_t element) {
    uint64_t h = (uint64_t)element * 0x9e3779b97f4a7c15u >> 20;
    for (;; h++) {
        struct mark *k = &s->mark[h & (s->nmark - 1)];
        if (k->stamp != s->stamp || k->element == element) return k;
    }
}

static bool grow(struct run_items *s) {
    struct mark *old = s->mark;
    size_t n = s->nmark;
    struct mark *more = calloc(2 * n, sizeof *more);
    if (!more) return false;
    s->mark = more;
    s->nmark = 2 * n;
    for (size_t i = 0; i < n; i++)
        if (old[i].stamp == s->stamp) *find(s, old[i].element) = old[i];
    free(old);
    return true;
}

static void collide(struct run *m, const char *what, int space, int id, int64_t element) {
    char task[160];
    run_fail(m, "race: in task %s, step %d, %s element %lld of %s%s",
             run_task_name(m, m->now, task), (int)(m->step - m->f->steps) + 1, what,
             (long long)element, space == ET_LOAD_LOCAL ? "$" : "%",
             space == ET_LOAD_LOCAL ? m->f->locals[id].name : m->p->tensors[id].name);
}

void run_items_touch(struct run *m, int space, int id, int64_t element, bool is_store) {
    struct run_items *s = m->items;
    const et_place *to = &m->step->to, *state = et_step_state(m->step);
    bool of_state = state && state->space == space && state->id == id;
    if (m->item < 0 || (!of_state && (to->space != space || to->id != id))) return;
    if (of_state) element = -1 - element;
    if (2 * s->used >= s->nmark && !grow(s)) {
        run_fail(m, "out of memory");
        return;
    }
    struct mark *k = find(s, element);
    if (k->stamp != s->stamp) {
        *k = (struct mark){element, s->stamp, NOBODY, NOBODY};
        s->used++;
    }
    bool again = state && k->writer == m->item;
    if (is_store && k->writer != NOBODY && !again)
        collide(m, "two work-items store", space, id, element);
    else if (is_store && k->reader != NOBODY && k->reader != m->item)
        collide(m, "one work-item reads and another stores", space, id, element);
    else if (!is_store && k->writer != NOBODY && k->writer != m->item)
        collide(m, "one work-item stores and another reads", space, id, element);
    if (is_store)
        k->writer = m->item;
    else
        k->reader = k->reader == NOBODY || k->reader == m->item ? m->item : SEVERAL;
}
