/* Running a program: its tasks, and the order they take. */
#include "ir/interp/run.h"
#include "ir/program/deal.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_TASKS = 1 << 26, MAX_COUNTERS = 1 << 24 };
static const int64_t max_workspace = (int64_t)1 << 34;

void run_fail(struct run *m, const char *fmt, ...) {
    if (m->failed) return;
    m->failed = true;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(m->err, ET_INTERP_ERR, fmt, ap);
    va_end(ap);
}

int64_t run_index(struct run *m, et_expr e) {
    return run_eval_i(m, e);
}

/* ---- tasks ---- */

static int loop_path(const et_program *p, int loop, int path[ET_MAX_LOOPS]) {
    int n = 0, up[ET_MAX_LOOPS];
    for (; loop >= 0 && n < ET_MAX_LOOPS; loop = p->g->loops[loop].parent)
        up[n++] = loop;
    for (int i = 0; i < n; i++)
        path[i] = up[n - 1 - i];
    return n;
}

/* Set coordinates and loop variables to those of TASK. */
static void enter_task(struct run *m, int task) {
    const struct run_instance *in = &m->inst[m->task[task].instance];
    const et_grid *g = &m->p->grids[in->grid];
    const et_func *f = &m->p->funcs[g->func];
    int path[ET_MAX_LOOPS], n = loop_path(m->p, g->loop, path);
    int64_t tile = task - in->first;
    m->now = task;
    for (int i = 0; i < n; i++)
        m->vars[m->p->g->loops[path[i]].var] = in->loop[i];
    for (int c = f->ncoords - 1; c >= 0; c--) {
        int64_t extent = run_whole(m, g->extent[c]);
        m->vars[f->coord[c]] = tile % extent;
        tile /= extent;
    }
}

const char *run_task_name(struct run *m, int task, char buf[160]) {
    const struct run_instance *in = &m->inst[m->task[task].instance];
    const et_grid *g = &m->p->grids[in->grid];
    const et_func *f = &m->p->funcs[g->func];
    int64_t at[ET_MAX_RANK], tile = task - in->first;
    for (int c = f->ncoords - 1; c >= 0; c--) {
        int64_t extent = run_whole(m, g->extent[c]);
        at[c] = tile % extent;
        tile /= extent;
    }
    int n = snprintf(buf, 160, "%.60s", g->name);
    for (int c = 0; c < f->ncoords && n < 110; c++)
        n += snprintf(buf + n, 160 - (size_t)n, "%s%.16s=%lld", c ? ", " : "[",
                      et_var_name(m->x, f->coord[c]), (long long)at[c]);
    if (f->ncoords) n += snprintf(buf + n, 160 - (size_t)n, "]");
    int path[ET_MAX_LOOPS], depth = loop_path(m->p, g->loop, path);
    for (int i = 0; i < depth && n < 140; i++) {
        const et_loop *l = &m->p->g->loops[path[i]];
        n += snprintf(buf + n, 160 - (size_t)n, " %.8s=%lld", l->name,
                      (long long)(l->lo + in->loop[i]));
    }
    return buf;
}

static void add_instance(struct run *m, int grid, const int64_t *loop, int depth) {
    if (m->ninst == m->cinst) {
        m->cinst = m->cinst ? 2 * m->cinst : 64;
        struct run_instance *larger = realloc(m->inst, (size_t)m->cinst * sizeof *larger);
        if (!larger) {
            run_fail(m, "out of memory");
            return;
        }
        m->inst = larger;
    }
    struct run_instance *in = &m->inst[m->ninst++];
    *in = (struct run_instance){.grid = grid, .first = m->ntasks};
    memcpy(in->loop, loop, (size_t)depth * sizeof *loop);
    const et_grid *g = &m->p->grids[grid];
    in->tiles = 1;
    for (int c = 0; c < m->p->funcs[g->func].ncoords; c++) {
        int64_t extent = run_whole(m, g->extent[c]);
        in->tiles = extent <= 0                      ? 0
                    : in->tiles > MAX_TASKS / extent ? MAX_TASKS
                                                     : in->tiles * extent;
    }
    if (in->tiles >= MAX_TASKS - m->ntasks) {
        run_fail(m, "more than %d tasks", MAX_TASKS);
        return;
    }
    m->ntasks += (int)in->tiles;
}

static void list_instances(struct run *m, int first, int count, int64_t *loop, int depth) {
    for (int i = first; i < first + count && !m->failed; i++) {
        const et_item *it = &m->p->items[i];
        if (it->kind == ET_P_GRID) {
            add_instance(m, it->index, loop, depth);
            continue;
        }
        const et_loop *l = &m->p->g->loops[it->index];
        if (depth == ET_MAX_LOOPS) {
            run_fail(m, "loops nested too deeply");
            return;
        }
        int64_t trips = run_whole(m, l->trips);
        for (loop[depth] = 0; loop[depth] < trips; loop[depth]++)
            list_instances(m, it->first, it->count, loop, depth + 1);
    }
}

/* ---- the order ---- */

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t z = (a + 1) * 0x9e3779b97f4a7c15u ^ (b + 1) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 31) * 0x94d049bb133111ebu;
    return z ^ z >> 29;
}

static bool list_tasks(struct run *m) {
    m->task = calloc((size_t)m->ntasks + 1, sizeof *m->task);
    m->ready = calloc((size_t)m->ntasks + 1, sizeof *m->ready);
    if (!m->task || !m->ready) return false;
    uint64_t seed = m->opt->seed;
    for (int i = 0; i < m->ninst; i++)
        for (int64_t t = 0; t < m->inst[i].tiles; t++) {
            int id = m->inst[i].first + (int)t;
            m->task[id].instance = i;
            m->task[id].priority = (uint64_t)id;
            if (seed % 2) m->task[id].priority = mix(seed, (uint64_t)id);
            if (seed && seed % 2 == 0)
                m->task[id].priority =
                    mix(seed, (uint64_t)i) << 20 | (mix(seed, (uint64_t)id) & 0xfffff);
        }
    return true;
}

static bool sooner(const struct run *m, int a, int b) {
    return m->task[a].priority < m->task[b].priority ||
           (m->task[a].priority == m->task[b].priority && a < b);
}

static void push_ready(struct run *m, int task) {
    int at = m->nready++;
    while (at > 0 && sooner(m, task, m->ready[(at - 1) / 2])) {
        m->ready[at] = m->ready[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    m->ready[at] = task;
}

static int pop_ready(struct run *m) {
    int out = m->ready[0], task = m->ready[--m->nready], at = 0;
    for (int child; (child = 2 * at + 1) < m->nready; at = child) {
        if (child + 1 < m->nready && sooner(m, m->ready[child + 1], m->ready[child])) child++;
        if (!sooner(m, m->ready[child], task)) break;
        m->ready[at] = m->ready[child];
    }
    m->ready[at] = task;
    return out;
}

static const et_grid *grid_of(const struct run *m, int task) {
    return &m->p->grids[m->inst[m->task[task].instance].grid];
}

/* Ready, or blocked on its first counter that is short. */
static void consider(struct run *m, int task) {
    int event, now = m->now;
    enter_task(m, task);
    int word = run_first_short(m, grid_of(m, task), &event);
    if (word < 0) {
        push_ready(m, task);
    } else {
        m->task[task].next = m->counter[word].waiter;
        m->counter[word].waiter = task;
    }
    m->now = now;
}

static void run_task(struct run *m, int task) {
    const et_grid *g = grid_of(m, task);
    enter_task(m, task);
    m->waits = m->all && !run_told_by_all(m, g);
    if (m->waits) return;
    if (m->shadow) run_collect_past(m, g);
    bool own = !m->all || !g->deal.rows || run_whole(m, et_deal_owner(m->p, g)) == m->device;
    if (!m->failed && own) run_steps(m, &m->p->funcs[g->func]);
    if (m->waits) return;
    /* Tasks that this one wakes are entered in between. */
    enter_task(m, task);
    m->woken = -1;
    if (!m->failed) run_notify(m, g);
    for (int next; !m->failed && (next = m->woken) >= 0;) {
        m->woken = m->task[next].next;
        consider(m, next);
    }
}

/* ---- the end ---- */

/* No task can start: say who waits for what, and who should have arrived. */
static void report_deadlock(struct run *m, const char *done) {
    int task = 0, event = 0;
    while (done[task])
        task++;
    enter_task(m, task);
    int word = run_first_short(m, grid_of(m, task), &event), other = 0;
    if (m->failed) return;
    for (; other < m->ntasks; other++) {
        if (done[other]) continue;
        enter_task(m, other);
        if (run_notifies(m, grid_of(m, other), word)) break;
        if (m->failed) return;
    }
    char a[160], b[160], e[160];
    run_fail(m,
             "deadlock: no task can start. Task %s waits for event %s, which has %u of %lld "
             "arrivals; %s%s",
             run_task_name(m, task, a), run_counter_name(m, event, word, e),
             m->counter[word].arrivals, (long long)run_need(m, event, word),
             other == m->ntasks ? "no task that has not run notifies it"
                                : "the next would be that of task ",
             other == m->ntasks ? "" : run_task_name(m, other, b));
}

bool run_one(struct run *m) {
    if (!m->nready || m->failed) return false;
    int task = pop_ready(m);
    run_task(m, task);
    if (m->waits) {
        m->task[task].next = m->late;
        m->late = task;
        m->nlate++;
    } else {
        m->done[task] = 1;
        m->ran++;
    }
    return true;
}

void run_retry(struct run *m) {
    for (int next; m->late >= 0; m->late = next) {
        next = m->task[m->late].next;
        push_ready(m, m->late);
    }
    m->nlate = 0;
}

void run_end(struct run *m, bool deadlock) {
    if (!m->failed && deadlock) report_deadlock(m, m->done);
    if (!m->failed && m->opt->races) run_check_counts(m);
}

/* ---- setting up ---- */

static bool measure_tensors(struct run *m) {
    et_program *p = m->p;
    for (int t = 0; t < p->ntensors; t++) {
        const et_tensor *x = &p->tensors[t];
        int64_t elements = 1;
        for (int d = 0; d < x->shape.rank; d++)
            elements *= m->dim[t][d] = run_whole(m, x->shape.dim[d]);
        int64_t bytes = et_dtype_size(x->shape.dtype, elements);
        if (x->kind == ET_TENSOR_TEMP &&
            (x->offset < 0 || bytes > p->workspace_bytes - x->offset)) {
            run_fail(m, "tensor %s leaves the workspace", x->name);
            return false;
        }
    }
    return true;
}

static void bind(struct run *m, void *const *tensor) {
    et_program *p = m->p;
    memset(m->workspace, 0xff, (size_t)p->workspace_bytes);
    for (int t = 0; t < p->ntensors; t++) {
        const et_tensor *x = &p->tensors[t];
        m->memory[t] = x->kind == ET_TENSOR_TEMP    ? m->workspace + x->offset
                       : x->kind == ET_TENSOR_CONST ? (char *)(uintptr_t)x->data
                                                    : tensor[t];
    }
}

static bool make_tags(struct run *m) {
    m->tag = calloc((size_t)m->p->ntensors + 1, sizeof *m->tag);
    for (int t = 0; m->tag && t < m->p->ntensors; t++) {
        size_t elements = 1;
        for (int d = 0; d < m->p->tensors[t].shape.rank; d++)
            elements *= (size_t)m->dim[t][d];
        if (!m->p->tensors[t].tagged) continue;
        m->tag[t] = calloc(elements + 1, sizeof **m->tag);
        if (!m->tag[t]) return false;
    }
    return m->tag != NULL;
}

static void free_tags(struct run *m) {
    for (int t = 0; m->tag && t < m->p->ntensors; t++)
        free(m->tag[t]);
    free(m->tag);
}

void run_begin(struct run *m, void *const *tensor) {
    et_program *p = m->p;
    int64_t loop[ET_MAX_LOOPS] = {0};
    if (p->event_words > MAX_COUNTERS || p->workspace_bytes > max_workspace) {
        run_fail(m,
                 "the program needs %d event counters and %lld bytes of workspace: too many here",
                 p->event_words, (long long)p->workspace_bytes);
        return;
    }
    m->vars = calloc((size_t)et_var_count(m->x) + 1, sizeof *m->vars);
    m->dim = calloc((size_t)p->ntensors + 1, sizeof *m->dim);
    m->memory = calloc((size_t)p->ntensors + 1, sizeof *m->memory);
    m->workspace = malloc((size_t)p->workspace_bytes + 1);
    if (!m->vars || !m->dim || !m->memory || !m->workspace) {
        run_fail(m, "out of memory");
        return;
    }
    list_instances(m, p->first, p->count, loop, 0);
    if (m->failed || !measure_tensors(m)) return;
    bind(m, tensor);
    if (!make_tags(m) || !list_tasks(m) || !run_events_create(m) ||
        (m->opt->races && (!run_shadow_create(m) || !run_items_create(m))))
        run_fail(m, "out of memory");
    m->done = calloc((size_t)m->ntasks + 1, 1);
    m->late = -1;
    if (!m->done) run_fail(m, "out of memory");
    for (int t = 0; t < m->ntasks && !m->failed; t++)
        consider(m, t);
}

void run_free(struct run *m) {
    run_shadow_destroy(m);
    run_items_destroy(m);
    if (m->counter) run_events_destroy(m);
    free_tags(m);
    free(m->done);
    free(m->inst);
    free(m->task);
    free(m->ready);
    free(m->vars);
    free(m->dim);
    free(m->memory);
    free(m->workspace);
}

et_interp_options run_options(const et_interp_options *given) {
    et_interp_options opt = *given;
    if (opt.workgroups < 1) opt.workgroups = 3 + (int)(opt.seed % 6);
    if (opt.workgroups > 64) opt.workgroups = 64;
    if (opt.dies < 1) opt.dies = 2;
    return opt;
}

bool et_program_run(et_program *p, const int64_t *syms, void *const *tensor,
                    const et_interp_options *options, char err[ET_INTERP_ERR]) {
    et_interp_options opt = run_options(options);
    struct run m = {.p = p, .x = p->g->exprs, .syms = syms, .opt = &opt, .err = err};
    err[0] = 0;
    if (p->g->devices)
        run_fail(&m, "the program is for %d devices", p->g->devices);
    else
        run_begin(&m, tensor);
    while (run_one(&m)) {
    }
    run_end(&m, m.ran < m.ntasks);
    run_free(&m);
    return !m.failed;
}

bool et_program_interp(et_program *p, const int64_t *syms, void *const *tensor, uint64_t seed,
                       char err[256]) {
    char full[ET_INTERP_ERR];
    bool ok = et_program_run(p, syms, tensor, &(et_interp_options){.seed = seed}, full);
    snprintf(err, 256, "%.255s", full);
    return ok;
}
