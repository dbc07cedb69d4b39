/* Pieces of relations: conjunctions of linear constraints over two tasks. */
#include "ir/verify/symbolic.h"
#include <string.h>

enum { ROWS = 24 };

/* Variables from FROM on as those from TO on. */
static vl_form renamed(const vl_form *f, int from, int to) {
    vl_form r = vl_const(f->k);
    for (int i = 0; i < f->n; i++) {
        bool moves = f->var[i] >= from && f->var[i] < from + ET_MAX_RANK;
        vl_form x = vl_var(moves ? f->var[i] - from + to : f->var[i]);
        r = vl_add(&r, &x, f->by[i]);
    }
    return r;
}

void vs_push_piece(vl_sys *q, const struct vs_piece *p, int from, int to) {
    for (int i = 0; i < p->n; i++) {
        vl_form f = renamed(&p->row[i].f, from, to);
        vl_push(q, &f, p->row[i].eq);
    }
}

void vs_push_range(struct symbolic *s, vl_sys *q, int inst, int base) {
    vs_push_piece(q, &s->range[inst], VS_A, base);
}

/* The rows and the opposite of the last one have no solution. */
static bool refuted(struct symbolic *s, vl_sys *q, const vl_row *r) {
    vl_form less = vl_scale(&r->f, -1), more = r->f;
    int n = q->n;
    vl_shift(&less, -1);
    vl_shift(&more, -1);
    vl_push(q, &less, false);
    bool none = vs_empty(s, q);
    q->n = n;
    if (none && r->eq) {
        vl_push(q, &more, false);
        none = vs_empty(s, q);
        q->n = n;
    }
    return none;
}

/* Leaves out rows of Q that follow from the others and from both being tasks. */
static struct vs_piece simplified(struct symbolic *s, const vl_sys *rows, int from, int to) {
    struct vs_piece p = {0, et_alloc(s->arena, (size_t)(rows->n + 1) * sizeof *p.row)};
    vl_sys *q = vs_system(s);
    for (int i = 0; i < rows->n; i++) {
        q->n = 0;
        vs_push_range(s, q, from, VS_A);
        vs_push_range(s, q, to, VS_B);
        for (int k = 0; k < p.n; k++)
            vl_push_row(q, &p.row[k]);
        for (int k = i + 1; k < rows->n; k++)
            vl_push_row(q, &rows->row[k]);
        if (!refuted(s, q, &rows->row[i])) p.row[p.n++] = rows->row[i];
    }
    return p;
}

static bool same_row(const vl_row *a, const vl_row *b) {
    size_t n = (size_t)a->f.n;
    return a->eq == b->eq && a->f.n == b->f.n && a->f.k == b->f.k &&
           !memcmp(a->f.var, b->f.var, n * sizeof *a->f.var) &&
           !memcmp(a->f.by, b->f.by, n * sizeof *a->f.by);
}

/* Every row of A is one of B: B says no less. */
static bool says_no_more(const struct vs_piece *a, const struct vs_piece *b) {
    for (int i = 0; i < a->n; i++) {
        bool found = false;
        for (int k = 0; k < b->n && !found; k++)
            found = same_row(&a->row[i], &b->row[k]);
        if (!found) return false;
    }
    return true;
}

void vs_add_piece(struct vs_relation *r, struct vs_piece p) {
    int n = 0;
    for (int i = 0; i < r->n; i++)
        if (says_no_more(&r->piece[i], &p)) return;
    for (int i = 0; i < r->n; i++)
        if (!says_no_more(&p, &r->piece[i])) r->piece[n++] = r->piece[i];
    r->n = n;
    if (r->n < VS_PIECES) r->piece[r->n++] = p;
}

void vs_add_all(struct vs_relation *to, const struct vs_relation *from) {
    for (int i = 0; i < from->n; i++)
        vs_add_piece(to, from->piece[i]);
}

/* A piece of what is left of Q without variables that only have to exist: those between tasks, and
 * temporaries from REST on. */
void vs_add_projected(struct symbolic *s, vl_sys *q, int rest, int from, int to,
                      struct vs_relation *out) {
    if (q->n > 4 * ROWS || !vl_project(s->work, q, VS_MID, VS_TEMP, rest) || q->n > ROWS) return;
    vs_add_piece(out, simplified(s, q, from, to));
}

void vs_compose(struct symbolic *s, const struct vs_relation *a, int mid,
                const struct vs_relation *b, int from, int to, struct vs_relation *out) {
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++) {
            vl_sys *q = vs_system(s);
            if (vl_spent(s->work) || (out->n && !out->piece[0].n)) return;
            vs_push_piece(q, &a->piece[i], VS_B, VS_MID);
            vs_push_piece(q, &b->piece[k], VS_A, VS_MID);
            vs_push_range(s, q, mid, VS_MID);
            vs_add_projected(s, q, INT32_MAX, from, to, out);
        }
}
