#include "ir/program/alike.h"
#include "ir/base/diag.h"
#include "ir/program/step.h"
#include <stdlib.h>
#include <string.h>

/* For as long as tasks are printed, names are a mark and a number. */
enum { MARK_VAR = 1, MARK_TENSOR, MARK_EVENT, MARKS };

struct keys {
    et_program *p;
    et_arena *arena;
    bool *stored;       /* by tensor: some task writes it */
    int *number[MARKS]; /* by mark and what it names: its number in the task TASK[] says, */
    int *task[MARKS];   /* 1 + the grid */
    const char **tensor, **event, **var, **func, **grid; /* names, for afterwards */
    int *base;                                           /* of events, likewise */
};

static const char *marked(struct keys *k, int mark, int i) {
    return et_printf(k->arena, "%c%d", mark, i);
}

static int depth_of(const et_graph *g, int loop) {
    int n = 0;
    while ((loop = g->loops[loop].parent) >= 0)
        n++;
    return n;
}

static void rename_all(struct keys *k) {
    et_program *p = k->p;
    et_exprs *x = p->g->exprs;
    for (int i = 0; i < et_var_count(x); i++) {
        k->var[i] = et_var_name(x, i);
        et_var_rename(x, i, marked(k, MARK_VAR, i));
    }
    for (int l = 0; l < p->g->nloops; l++) /* a task sees one of each depth */
        et_var_rename(x, p->g->loops[l].var, et_printf(k->arena, "!%d", depth_of(p->g, l)));
    for (int i = 0; i < p->ntensors; i++) {
        et_tensor *t = &p->tensors[i];
        k->tensor[i] = t->name;
        t->name =
            t->kind == ET_TENSOR_CONST ? et_printf(k->arena, "!%d", i) : marked(k, MARK_TENSOR, i);
    }
    for (int i = 0; i < p->nevents; i++) {
        k->event[i] = p->events[i].name;
        k->base[i] = p->events[i].base;
        p->events[i].name = marked(k, MARK_EVENT, i);
        p->events[i].base = 0;
    }
    for (int i = 0; i < p->nfuncs; i++) {
        k->func[i] = p->funcs[i].name;
        p->funcs[i].name = "";
    }
    for (int i = 0; i < p->ngrids; i++) {
        k->grid[i] = p->grids[i].name;
        p->grids[i].name = "";
    }
}

static void name_again(struct keys *k) {
    et_program *p = k->p;
    for (int i = 0; i < et_var_count(p->g->exprs); i++)
        et_var_rename(p->g->exprs, i, k->var[i]);
    for (int i = 0; i < p->ntensors; i++)
        p->tensors[i].name = k->tensor[i];
    for (int i = 0; i < p->nevents; i++) {
        p->events[i].name = k->event[i];
        p->events[i].base = k->base[i];
    }
    for (int i = 0; i < p->nfuncs; i++)
        p->funcs[i].name = k->func[i];
    for (int i = 0; i < p->ngrids; i++)
        p->grids[i].name = k->grid[i];
}

/* The number of what MARK and ID name in the task; *IS_NEW at its first mention. */
static int number_of(struct keys *k, int grid, int mark, int id, int *count, bool *is_new) {
    *is_new = k->task[mark][id] != grid + 1;
    if (*is_new) {
        k->task[mark][id] = grid + 1;
        k->number[mark][id] = (*count)++;
    }
    return k->number[mark][id];
}

static void renumber(struct keys *k, int grid, const char *text, FILE *to, et_task_key *out) {
    int nvars = 0, ctensors = 0, cevents = 0;
    for (const char *s = text; *s;) {
        int mark = (unsigned char)*s;
        if (mark >= MARKS) {
            fputc(*s++, to);
            continue;
        }
        char *end;
        bool is_new;
        int id = (int)strtol(s + 1, &end, 10);
        int *count = mark == MARK_VAR      ? &nvars
                     : mark == MARK_TENSOR ? &out->ntensors
                                           : &out->nevents;
        int n = number_of(k, grid, mark, id, count, &is_new);
        s = end;
        fprintf(to, "%c%d", mark, n);
        if (!is_new || mark == MARK_VAR) continue;
        if (mark == MARK_TENSOR) {
            ET_GROW(k->arena, out->tensor, n, ctensors);
            out->tensor[n] = id;
        } else {
            ET_GROW(k->arena, out->event, n, cevents);
            out->event[n] = id;
        }
    }
}

/* What the text of the task does not say of the tensors in it, nor of where it stands. */
static void put_rest(struct keys *k, const et_grid *g, int grid, const et_task_key *key, FILE *to) {
    const et_program *p = k->p;
    fprintf(to, "model %d slice %d\n", g->model, g->slice.count ? grid : -1);
    for (int l = g->loop; l >= 0; l = p->g->loops[l].parent) {
        const et_loop *loop = &p->g->loops[l];
        fprintf(to, "loop %lld..%lld trips %s\n", (long long)loop->lo, (long long)loop->hi,
                et_expr_text(p->g->exprs, loop->trips, NULL, NULL));
    }
    for (int i = 0; i < key->ntensors; i++) {
        const et_tensor *t = &p->tensors[key->tensor[i]];
        if (t->host) fprintf(to, "host %d ", t->host);
        fprintf(to, "%d %s%s%s\n", t->kind, et_shape_text(p->g->exprs, &t->shape),
                k->stored[key->tensor[i]] ? " stored" : "", t->tagged ? " tagged" : "");
        if (t->partial)
            fprintf(to, "partial %lld own %d%s\n", (long long)t->max_bytes, t->own,
                    t->flagged ? " flagged" : "");
    }
}

static void make_key(struct keys *k, int grid, et_task_key *out) {
    char *text[2] = {NULL, NULL};
    size_t bytes[2];
    FILE *f = open_memstream(&text[0], &bytes[0]);
    if (!f) et_no_memory();
    et_task_print(k->p, grid, f);
    if (fclose(f) != 0 || !(f = open_memstream(&text[1], &bytes[1]))) et_no_memory();
    renumber(k, grid, text[0], f, out);
    put_rest(k, &k->p->grids[grid], grid, out, f);
    if (fclose(f) != 0) et_no_memory();
    out->text = et_strndup(k->arena, text[1], bytes[1]);
    free(text[0]);
    free(text[1]);
}

et_task_key *et_task_keys(et_program *p, et_arena *arena) {
    et_check(arena != p->g->arena);
    struct keys k = {.p = p, .arena = arena};
    size_t nvars = (size_t)et_var_count(p->g->exprs) + 1;
    size_t n[MARKS] = {0, nvars, (size_t)p->ntensors + 1, (size_t)p->nevents + 1};
    et_task_key *out = et_alloc(arena, ((size_t)p->ngrids + 1) * sizeof *out);
    for (int m = MARK_VAR; m < MARKS; m++) {
        k.number[m] = et_alloc(arena, n[m] * sizeof(int));
        k.task[m] = et_alloc(arena, n[m] * sizeof(int));
    }
    k.var = et_alloc(arena, nvars * sizeof *k.var);
    k.tensor = et_alloc(arena, n[MARK_TENSOR] * sizeof *k.tensor);
    k.event = et_alloc(arena, n[MARK_EVENT] * sizeof *k.event);
    k.base = et_alloc(arena, n[MARK_EVENT] * sizeof *k.base);
    k.func = et_alloc(arena, ((size_t)p->nfuncs + 1) * sizeof *k.func);
    k.grid = et_alloc(arena, ((size_t)p->ngrids + 1) * sizeof *k.grid);
    k.stored = et_program_stored(p, arena);
    rename_all(&k);
    for (int i = 0; i < p->ngrids; i++) {
        et_arena_mark mark = et_arena_set_mark(p->g->arena); /* texts of expressions */
        make_key(&k, i, &out[i]);
        et_arena_release(p->g->arena, mark);
    }
    name_again(&k);
    return out;
}
