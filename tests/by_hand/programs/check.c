#include "tests/by_hand/programs/check.h"
#include "codegen/codegen.h"
#include "frontend/frontend.h"
#include "ir/graph/op_util.h"
#include "ir/interp/interp.h"
#include "passes/passes.h"
#include "passes/pipeline/pipeline.h"
#include "runtime/etrt.h"
#include "runtime/etrt_dtype.h"
#include "tests/by_hand/programs/record.h"
#include "tests/support/random_model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAUNCHES = 2, DEVICES = 2, TARGETS = 2, MAX_SYMS = ET_MAX_SYMS, MOST_ELEMENTS = 20000 };

/* A program and what each of its launches must leave. */
struct check {
    const check_options *o;
    check_totals *n;
    const char *text;
    et_arena *a;
    et_graph *g;
    uint64_t rng;
    double bound; /* of the relative error of what is not exact */
    int64_t syms[LAUNCHES][MAX_SYMS];
    et_tensor_data **data;           /* by value: before a launch, then after it */
    void **before[LAUNCHES];         /* by value: bytes of inputs, weights and, once, states */
    et_tensor_data **want[LAUNCHES]; /* by value: states and outputs */
    char how[256];
};

const char *check_name(check_result r) {
    static const char *const names[] = {"same",   "illegal", "refused", "interpreter",
                                        "kernel", "bits",    "slow",    "died"};
    return names[r];
}

static uint64_t next(uint64_t *rng) {
    *rng = *rng * 6364136223846793005u + 1442695040888963407u;
    return (*rng ^ *rng >> 29) * 0xbf58476d1ce4e5b9u >> 20;
}

static int draw(struct check *c, int n) {
    return (int)(next(&c->rng) % (uint64_t)n);
}

__attribute__((format(printf, 3, 4))) static check_result
told(const struct check *c, check_result r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (c->o->why) {
        fprintf(c->o->why, "%s: %s: ", check_name(r), c->how);
        vfprintf(c->o->why, fmt, ap);
        fputc('\n', c->o->why);
    }
    va_end(ap);
    return r;
}

/* ---- what tensors hold ---- */

/* What the comment of the declaration of NAME says, "" where there is none. */
static const char *comment_of(const struct check *c, const char *name) {
    size_t n = strlen(name);
    for (const char *p = c->text; (p = strstr(p, name)); p += n) {
        const char *end = strchr(p, '\n'), *mark = strstr(p, "#: ");
        bool whole =
            p > c->text && p[-1] == ' ' && p[n] == ' ' && (p[n + 1] == ':' || p[n + 1] == '=');
        const char *line = p;
        while (line > c->text && line[-1] != '\n')
            line--;
        line += strspn(line, " ");
        whole &= !strncmp(line, "input", 5) || !strncmp(line, "weight", 6) ||
                 !strncmp(line, "state", 5) || !strncmp(line, "output", 6);
        if (whole) return mark && end && mark < end ? mark + 3 : "";
    }
    return "";
}

static bool is_near(const struct check *c, const char *name) {
    return !strncmp(comment_of(c, name), "near", 4);
}

static const char *end_of_line(const char *s) {
    return s + strcspn(s, "\n");
}

/* The same for one name whatever else the program has, so that a smaller one fails as it did. */
static void fill(const struct check *c, et_tensor_data *t, const char *name, int launch) {
    const char *holds = comment_of(c, name);
    uint64_t rng = c->o->seed * 31 + (uint64_t)launch * 977;
    for (const char *p = name; *p; p++)
        rng = rng * 131 + (unsigned char)*p;
    int64_t n = et_tensor_count(t), most = atoi(holds), part = 1;
    const char *slash = strchr(holds, '/');
    if (slash) part = atoi(slash + 1);
    if (part < 1) part = 1;
    for (int64_t i = 0; i < n; i++)
        if (!strncmp(holds, "order", 5)) {
            int64_t k = (int64_t)(next(&rng) % (uint64_t)(i + 1));
            t->i[i] = t->i[k];
            t->i[k] = (int32_t)i;
        } else if (!strncmp(holds, "powers", 6)) {
            t->f[i] = 1.0f / (float)(1 << next(&rng) % 4);
        } else if (!strncmp(holds, "tiny", 4)) {
            int bits = t->dtype == ET_F16 ? 10 : t->dtype == ET_BF16 ? 7 : 18;
            int least = t->dtype == ET_F16 ? 24 : t->dtype == ET_BF16 ? 133 : 149;
            int64_t v = (int64_t)(next(&rng) % (2u << bits)) - (1 << bits);
            t->f[i] = (float)ldexp((double)v, -least);
        } else if (strstr(holds, "rare") == end_of_line(holds) - 4 && next(&rng) % 500 == 0) {
            static const float rare[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e-40f, 1e-30f};
            t->f[i] = et_round_to(t->dtype, rare[next(&rng) % 6]);
        } else if (strstr(holds, "odd") == end_of_line(holds) - 3 && next(&rng) % 5 == 0) {
            static const float odd[] = {NAN, INFINITY, -INFINITY, -0.0f};
            t->f[i] = odd[next(&rng) % 4];
        } else if (t->dtype == ET_U8) {
            t->i[i] = (int32_t)(next(&rng) % 256);
        } else if (!most) {
            t->f[i] = et_round_to(t->dtype, (float)(next(&rng) % 2001) / 1000 - 1);
        } else {
            int64_t v = (int64_t)(next(&rng) % (uint64_t)(2 * most * part + 1)) - most * part;
            if (t->dtype == ET_U4) v = llabs(v);
            if (et_dtype_is_float(t->dtype))
                t->f[i] = et_round_to(t->dtype, (float)v / (float)part);
            else
                t->i[i] = (int32_t)(v / part);
        }
}

static bool is_result(const et_val *v) {
    return v->kind == ET_V_STATE || v->is_output;
}

static et_tensor_data *copy_of(struct check *c, const et_tensor_data *t) {
    et_tensor_data *to = et_alloc(c->a, sizeof *to);
    size_t bytes = (size_t)et_tensor_count(t) * 4;
    *to = *t;
    to->p = memcpy(et_alloc(c->a, bytes + 1), t->p, bytes);
    return to;
}

static int64_t elements_at(const struct check *c, const et_val *val, const int64_t *syms) {
    int64_t n = 1;
    for (int d = 0; d < val->shape.rank; d++)
        n *= et_eval(c->g->exprs, val->shape.dim[d], syms, NULL);
    return n;
}

/* Dims of which the largest input or output has no more than MOST_ELEMENTS. */
static void make_smaller(struct check *c, int64_t *syms) {
    for (int v = 1; v < c->g->nvals; v++) {
        const et_val *val = &c->g->vals[v];
        if (val->kind > ET_V_STATE && !val->is_output) continue;
        for (bool less = true; less && elements_at(c, val, syms) > MOST_ELEMENTS;) {
            less = false;
            for (int s = 0; s < et_sym_count(c->g->exprs) && s < MAX_SYMS; s++) {
                int64_t lo, hi;
                et_sym_range(c->g->exprs, s, &lo, &hi);
                less |= syms[s] > lo;
                syms[s] = lo + (syms[s] - lo) / 2;
            }
        }
    }
}

static void choose_dims(struct check *c) {
    for (int s = 0; s < et_sym_count(c->g->exprs) && s < MAX_SYMS; s++)
        for (int l = 0; l < LAUNCHES; l++) {
            int64_t lo, hi;
            et_sym_range(c->g->exprs, s, &lo, &hi);
            int how = draw(c, 4);
            c->syms[l][s] = how == 0 ? lo : how == 1 ? hi : lo + draw(c, (int)(hi - lo + 1));
        }
    for (int l = 0; l < LAUNCHES; l++)
        make_smaller(c, c->syms[l]);
}

_Static_assert(CHECK_LAUNCHES == LAUNCHES * DEVICES, "check.h");

static bool is_finite(const et_tensor_data *t) {
    for (int64_t i = 0; et_dtype_is_float(t->dtype) && i < et_tensor_count(t); i++)
        if (!isfinite(t->f[i])) return false;
    return true;
}

static check_result interpret_graph(struct check *c, int launch) {
    size_t n = (size_t)c->g->nvals;
    char err[256];
    c->before[launch] = et_alloc(c->a, n * sizeof(void *));
    c->want[launch] = et_alloc(c->a, n * sizeof(et_tensor_data *));
    for (size_t v = 1; v < n; v++) {
        const et_val *val = &c->g->vals[v];
        bool state = val->kind == ET_V_STATE;
        if (val->kind > ET_V_STATE && !val->is_output) continue;
        if (!state || !launch) c->data[v] = tm_tensor(c->a, c->g, &val->shape, c->syms[launch]);
        if (!val->is_output && (!state || !launch))
            fill(c, c->data[v], val->name, val->kind == ET_V_INPUT ? launch : 0);
        if (!val->is_output) c->before[launch][v] = tm_bytes(c->a, c->data[v]);
    }
    if (!et_graph_interp(c->g, c->syms[launch], c->data, err))
        return told(c, CHECK_INTERPRETER, "the graph: %s", err);
    for (size_t v = 1; v < n; v++) {
        if (!c->data[v] || !is_result(&c->g->vals[v])) continue;
        c->want[launch][v] = copy_of(c, c->data[v]);
        c->n->results++;
        c->n->not_finite += !is_finite(c->data[v]);
    }
    return CHECK_SAME;
}

/* ---- comparing ---- */

/* Is all that differs what is left where numbers of the programs' size cancel? */
static bool is_noise(const struct check *c, const et_tensor_data *want, const void *got) {
    double most = 0;
    for (int64_t i = 0; i < et_tensor_count(want); i++) {
        double d = fabs(etrt_element((int)want->dtype, got, i) - (double)want->f[i]);
        if (!(d <= most)) most = d;
    }
    return most <= c->bound / 100;
}

/* NaN and infinities where they are to be, and every other number near what it is to be. */
static check_result compare_odd(const struct check *c, int v, int launch, const void *got,
                                check_result r) {
    const et_val *val = &c->g->vals[v];
    const et_tensor_data *t = c->want[launch][v];
    bool spread = !strncmp(comment_of(c, val->name), "near spread", 11);
    for (int64_t i = 0; i < et_tensor_count(t); i++) {
        double want = (double)t->f[i], have = etrt_element((int)val->shape.dtype, got, i);
        bool near = fabs(want - have) <= c->bound * fmax(fabs(want), 1) || want == have ||
                    (isnan(want) && isnan(have));
        if (spread) near |= isnan(have) || (!isfinite(want) && !isfinite(have));
        if (!near)
            return told(c, r, "launch %d: %s[%lld] is %g, not about %g", launch, val->name,
                        (long long)i, have, want);
    }
    return CHECK_SAME;
}

static check_result compare(const struct check *c, int v, int launch, const void *got,
                            check_result r) {
    const et_val *val = &c->g->vals[v];
    const et_tensor_data *t = c->want[launch][v];
    if (is_near(c, val->name) && !is_finite(t)) return compare_odd(c, v, launch, got, r);
    if (is_near(c, val->name)) {
        double e = tm_relative_error(t, got);
        return e <= c->bound || is_noise(c, t, got)
                   ? CHECK_SAME
                   : told(c, r, "launch %d: %s has a relative error of %g", launch, val->name, e);
    }
    for (int64_t i = 0; i < et_tensor_count(t); i++) {
        double want = et_dtype_is_float(t->dtype) ? (double)t->f[i] : t->i[i];
        double have = etrt_element((int)val->shape.dtype, got, i);
        if (want != have && !(isnan(want) && isnan(have)))
            return told(c, r, "launch %d: %s[%lld] is %g, not %g", launch, val->name, (long long)i,
                        have, want);
    }
    return CHECK_SAME;
}

static int value_named(const struct check *c, const char *name) {
    for (int v = 1; v < c->g->nvals; v++) {
        const et_val *val = &c->g->vals[v];
        bool seen = val->kind <= ET_V_STATE || val->is_output;
        if (seen && val->name && !strcmp(val->name, name)) return v;
    }
    return 0;
}

static size_t bytes_at(const struct check *c, int v, int launch) {
    const et_val *val = &c->g->vals[v];
    return (size_t)et_dtype_size(val->shape.dtype, elements_at(c, val, c->syms[launch]));
}

/* ---- tasks in an order of their own ---- */

static check_result run_tasks(struct check *c, et_program *whole) {
    check_result r = CHECK_SAME;
    char err[ET_INTERP_ERR];
    size_t n = (size_t)c->g->nvals;
    void **memory = calloc(n, sizeof *memory);
    for (int launch = 0; !r && launch < LAUNCHES; launch++) {
        et_program *p = et_part_at(whole, c->syms[launch]);
        void **tensor = calloc((size_t)p->ntensors + 1, sizeof *tensor);
        for (int i = 0; i < p->ntensors; i++) {
            if (p->tensors[i].kind == ET_TENSOR_TEMP || p->tensors[i].kind == ET_TENSOR_CONST)
                continue;
            int v = value_named(c, p->tensors[i].name);
            size_t bytes = bytes_at(c, v, launch);
            bool state = p->tensors[i].kind == ET_TENSOR_STATE;
            if (!memory[v] || !state) {
                memory[v] = realloc(memory[v], bytes + 1);
                if (c->before[launch][v] && p->tensors[i].relaid)
                    et_relay_elements(p->g->exprs, &p->tensors[i], et_tensor_count(c->data[v]),
                                      c->before[launch][v], memset(memory[v], 0, bytes));
                else if (c->before[launch][v])
                    memcpy(memory[v], c->before[launch][v], bytes);
            }
            tensor[i] = memory[v];
        }
        et_interp_options opt = {.seed = (uint64_t)draw(c, 1000), .races = true};
        if (!et_program_run(p, c->syms[launch], tensor, &opt, err))
            r = told(c, CHECK_INTERPRETER, "launch %d: %s", launch, err);
        for (int i = 0; !r && i < p->ntensors; i++) {
            int v = tensor[i] ? value_named(c, p->tensors[i].name) : 0;
            if (v && is_result(&c->g->vals[v]))
                r = compare(c, v, launch, tensor[i], CHECK_INTERPRETER);
        }
        free(tensor);
    }
    for (size_t v = 0; v < n; v++)
        free(memory[v]);
    free(memory);
    return r;
}

/* ---- kernels ---- */

static bool failed(etrt_status s) {
    return s != ETRT_OK;
}

static bool give(struct check *c, etrt_session *s, int launch) {
    bool ok = true;
    for (int i = 0; ok && i < et_sym_count(c->g->exprs); i++)
        ok = !failed(etrt_set_dim(s, et_sym_name(c->g->exprs, i), c->syms[launch][i]));
    for (int v = 1; ok && v < c->g->nvals; v++) {
        const et_val *val = &c->g->vals[v];
        const void *data = c->before[launch][v];
        if (val->kind == ET_V_INPUT)
            ok = !failed(etrt_bind(s, val->name, data, bytes_at(c, v, launch)));
        else if (val->kind == ET_V_STATE && !launch)
            ok = !failed(etrt_write(s, val->name, data, bytes_at(c, v, launch)));
    }
    return ok && !failed(etrt_run(s));
}

/* FIRST: what the first device left, by value. */
static check_result look(struct check *c, etrt_session *s, int launch, void **first) {
    check_result r = CHECK_SAME;
    for (int v = 1; !r && v < c->g->nvals; v++) {
        const et_val *val = &c->g->vals[v];
        if (!is_result(val) || !c->want[launch][v]) continue;
        size_t bytes = bytes_at(c, v, launch);
        void *got = et_alloc(c->a, bytes + 1);
        if (failed(etrt_read(s, val->name, got, bytes)))
            return told(c, CHECK_KERNEL, "%s", etrt_last_error());
        r = compare(c, v, launch, got, CHECK_KERNEL);
        if (!r && first[v] && memcmp(first[v], got, bytes) != 0)
            r = told(c, CHECK_BITS, "launch %d: %s has other bits", launch, val->name);
        first[v] = got;
    }
    return r;
}

static bool give_weights(struct check *c, etrt_model *m) {
    bool ok = true;
    for (int v = 1; ok && v < c->g->nvals; v++)
        if (c->g->vals[v].kind == ET_V_WEIGHT)
            ok = !failed(
                etrt_model_weight(m, c->g->vals[v].name, c->before[0][v], bytes_at(c, v, 0)));
    return ok;
}

static check_result launch_on(struct check *c, etrt_device *d, int workgroups,
                              void **first[LAUNCHES]) {
    etrt_model *m = NULL;
    etrt_session *s = NULL;
    check_result r = CHECK_SAME;
    if (failed(etrt_model_load(d, c->o->kernel, &m)) || !give_weights(c, m) ||
        failed(etrt_session_create(m, &s)) ||
        (workgroups && failed(etrt_set_workgroups(s, workgroups))))
        r = told(c, CHECK_KERNEL, "%s", etrt_last_error());
    for (int l = 0; !r && l < LAUNCHES; l++) {
        r = give(c, s, l) ? look(c, s, l, first[l])
                          : told(c, CHECK_KERNEL, "launch %d: %s", l, etrt_last_error());
        c->n->launches++;
    }
    etrt_session_destroy(s);
    etrt_model_unload(m);
    return r;
}

/* On an emulated GPU that is made for this. */
static check_result launch_emulated(struct check *c, const char *spec, void **first[LAUNCHES]) {
    etrt_device *d = NULL;
    if (failed(etrt_device_open(spec, &d))) return told(c, CHECK_KERNEL, "%s", etrt_last_error());
    check_result r = launch_on(c, d, 0, first);
    etrt_device_close(d);
    return r;
}

/* On the device that was asked for, on so many of its workgroups. A process opens it once: that
 * takes longer than a program. */
static check_result launch_device(struct check *c, int workgroups, void **first[LAUNCHES]) {
    static etrt_device *d;
    if (!d && failed(etrt_device_open(c->o->device, &d)))
        return told(c, CHECK_KERNEL, "%s", etrt_last_error());
    return launch_on(c, d, workgroups, first);
}

static void device_text(struct check *c, const char *target, int which, char *out, size_t n) {
    static const int sizes[] = {1, 2, 4, 6, 8, 16, 38, 64};
    bool dies = !strcmp(target, "gfx942") || !strcmp(target, "gfx950");
    int cus = sizes[draw(c, 8)], xcds = dies ? 1 << draw(c, 4) : 1;
    if (strlen(target) > 6 && cus % 2) cus++;
    if (xcds > cus) xcds = cus > 1 ? 2 : 1;
    snprintf(out, n, "emu:%s:cus=%d:xcds=%d:threads=1:seed=%d%s%s", target, cus, xcds,
             1 + draw(c, 1000000), draw(c, 3) == 0 ? ":coherence=model" : "",
             which && cus > 2 && draw(c, 4) == 0 ? ":starve=1" : "");
}

/* ---- for a device elsewhere ---- */

static bool record(const struct check *c) {
    recording *r = record_begin(c->bound);
    char name[256];
    for (int l = 0; l < LAUNCHES; l++) {
        for (int s = 0; s < et_sym_count(c->g->exprs); s++) {
            int32_t n = (int32_t)c->syms[l][s];
            snprintf(name, sizeof name, "0.%d/dim/%.200s", l, et_sym_name(c->g->exprs, s));
            record_add(r, name, ET_I32, 1, &n);
        }
        for (int v = 1; v < c->g->nvals; v++) {
            const et_val *val = &c->g->vals[v];
            const void *data = c->before[l][v];
            if (!data && !c->want[l][v]) continue;
            int64_t n = elements_at(c, val, c->syms[l]);
            bool once = val->kind == ET_V_WEIGHT || val->kind == ET_V_STATE;
            snprintf(name, sizeof name, "%s/%.200s",
                     val->kind == ET_V_WEIGHT  ? "weight"
                     : val->kind == ET_V_STATE ? "0/state"
                     : l                       ? "0.1/in"
                                               : "0.0/in",
                     val->name);
            if (data && (!once || !l)) record_add(r, name, val->shape.dtype, n, data);
            if (!c->want[l][v]) continue;
            snprintf(name, sizeof name, "0.%d/%s/%.200s", l,
                     is_near(c, val->name) ? "near" : "equal", val->name);
            record_add(r, name, val->shape.dtype, n, tm_bytes(c->a, c->want[l][v]));
        }
    }
    snprintf(name, sizeof name, "%.200s/%llu.safetensors", c->o->record,
             (unsigned long long)c->o->seed);
    return record_end(r, name);
}

/* ---- one target ---- */

struct source {
    et_arena *a;
    const char *text;
};

static et_graph *parse(et_arena *a, et_diags *d, const char *text, const et_dim_range *range) {
    return range ? et_parse_etg_narrow(a, d, "random.etg", text, strlen(text), range)
                 : et_parse_etg(a, d, "random.etg", text, strlen(text));
}

/* Bounds of a dim that hold both launches and nothing beyond. */
static et_dim_range tight(struct check *c) {
    int s = draw(c, et_sym_count(c->g->exprs));
    int64_t a = c->syms[0][s], b = c->syms[1][s];
    return (et_dim_range){et_sym_name(c->g->exprs, s), a < b ? a : b, a < b ? b : a};
}

static et_graph *narrow(void *ctx, const char *dim, int64_t lo, int64_t hi, bool whole) {
    (void)whole;
    const struct source *s = ctx;
    et_dim_range range = {dim, lo, hi};
    return parse(s->a, et_diags_create(s->a), s->text, &range);
}

/* Of one program in four every third optimisation is left out. */
static et_features left_out(struct check *c) {
    et_features out = 0;
    if (draw(c, 4) > 0) return 0;
    for (int f = 0; et_feature_name(f); f++)
        if (draw(c, 3) == 0) out |= (et_features)1 << f;
    return out;
}

static et_program *lower(struct check *c, et_arena *a, et_diags *d, const char *target) {
    static const et_schedule_kind kinds[] = {ET_SCHEDULE_STATIC,  ET_SCHEDULE_STATIC,
                                             ET_SCHEDULE_STATIC,  ET_SCHEDULE_DYNAMIC,
                                             ET_SCHEDULE_CLAIMED, ET_SCHEDULE_HYBRID};
    static const et_placement places[] = {ET_PLACEMENT_ALL, ET_PLACEMENT_ALL, ET_PLACEMENT_ALL,
                                          ET_PLACEMENT_GREEDY, ET_PLACEMENT_ILP};
    et_planned on;
    et_pass_options opt = {.schedule = kinds[draw(c, 6)],
                           .placement = places[draw(c, 5)],
                           .quick = draw(c, 3) > 0,
                           .check_text = draw(c, 12) == 0};
    if (c->o->flags) {
        opt.schedule = ET_SCHEDULE_STATIC;
        opt.flags = ET_FLAGS_ALL;
        opt.quick = false;
    }
    opt.without = left_out(c);
    opt.same_sums = strstr(c->text, "model same_sums") != NULL;
    bool narrowed = c->o->narrow && et_sym_count(c->g->exprs) > 0;
    bool variants = !narrowed && draw(c, 5) == 0 && et_sym_count(c->g->exprs) > 0;
    et_dim_range range = {0};
    if (narrowed) range = tight(c);
    if (opt.schedule == ET_SCHEDULE_STATIC && draw(c, 10) == 0) opt.slices = 2 << draw(c, 3);
    if (opt.schedule == ET_SCHEDULE_STATIC && draw(c, 6) == 0)
        opt.flags = ET_FLAGS_ALL, opt.quick = false;
    const et_machine *m = et_machine_for(target);
    if (draw(c, 6) == 0) m = et_machine_share(a, d, m, 2);
    if (!m) return NULL;
    et_plan_for(&opt, m, et_target_find(target), &on);
    int n = snprintf(c->how, sizeof c->how, "%s, %s, placement %s%s%s%s", target,
                     et_schedule_name(opt.schedule), et_placement_name((int)opt.placement),
                     opt.slices ? ", in slices" : "", variants ? ", variants" : "",
                     m->occupancy > 1 ? ", two on a CU" : "");
    if (opt.flags || opt.without)
        n += snprintf(c->how + n, sizeof c->how - (size_t)n, "%s, without %#x",
                      opt.flags ? ", flags in data" : "", opt.without);
    if (narrowed)
        snprintf(c->how + n, sizeof c->how - (size_t)n, ", %s in %lld..%lld", range.dim,
                 (long long)range.lo, (long long)range.hi);
    et_graph *g = parse(a, d, c->text, narrowed ? &range : NULL);
    if (!g && range.lo == range.hi) g = parse(a, d = et_diags_create(a), c->text, NULL);
    if (!g) return NULL;
    et_program *p = NULL;
    struct source s = {a, c->text};
    if (variants) p = et_make_variants(g, &opt, 3, NULL, narrow, &s);
    if (!p && !et_passes_run(g, &opt, &p)) return NULL;
    return p;
}

static check_result check_target(struct check *c, const char *target) {
    et_arena *a = et_arena_create();
    et_diags *d = et_diags_create(a);
    check_result r = CHECK_SAME;
    et_codegen_info info;
    et_program *p = lower(c, a, d, target);
    if (!p) {
        r = told(c, CHECK_REFUSED, "by the passes");
    } else {
        c->n->groups += (uint64_t)p->ngrids;
        r = run_tasks(c, p);
    }
    et_codegen_options opt = {
        .target = et_target_find(target), .output = c->o->kernel, .opt_level = draw(c, 6) ? 1 : 3};
    if (!r && !c->o->interpreters && !et_codegen(p, &opt, &info))
        r = told(c, CHECK_REFUSED, "by codegen");
    if (r && c->o->why) et_diag_print(d, c->o->why);
    et_arena_destroy(a);
    void **first[LAUNCHES];
    for (int l = 0; l < LAUNCHES; l++)
        first[l] = et_alloc(c->a, (size_t)c->g->nvals * sizeof(void *));
    char how[sizeof c->how];
    memcpy(how, c->how, sizeof how);
    c->n->kernels += !c->o->interpreters;
    if (!r && c->o->record) {
        printf("%llu: %s\n", (unsigned long long)c->o->seed, c->how);
        if (!record(c)) r = CHECK_KERNEL;
    }
    bool launch = !c->o->interpreters && !c->o->record;
    for (int i = 0; !r && launch && i < DEVICES; i++) {
        char spec[128];
        if (c->o->device) {
            int workgroups = i ? 1 + draw(c, 40) : 0;
            snprintf(c->how, sizeof c->how, "%.120s on %d workgroups", how, workgroups);
            r = launch_device(c, workgroups, first);
            continue;
        }
        device_text(c, target, i, spec, sizeof spec);
        snprintf(c->how, sizeof c->how, "%.120s on %.120s", how, spec);
        r = launch_emulated(c, spec, first);
    }
    return r;
}

check_result check_program(const char *text, const check_options *o, check_totals *n) {
    struct check c = {
        .o = o, .n = n, .text = text, .a = et_arena_create(), .rng = o->seed * 977 + 5};
    et_diags *d = et_diags_create(c.a);
    check_result r = CHECK_SAME;
    c.g = parse(c.a, d, text, NULL);
    if (!c.g) {
        r = told(&c, CHECK_ILLEGAL, "by the front end");
        if (o->why) et_diag_print(d, o->why);
    }
    if (!r) {
        bool half = strstr(text, "bf16") || strstr(text, "f16");
        c.bound = half ? 2e-2 : 2e-3;
        c.data = et_alloc(c.a, (size_t)c.g->nvals * sizeof *c.data);
        choose_dims(&c);
    }
    for (int l = 0; !r && l < LAUNCHES; l++)
        r = interpret_graph(&c, l);
    if (!r && o->target) r = check_target(&c, o->target);
    for (int t = 0, other = draw(&c, 4); !r && !o->target && t < TARGETS; t++) {
        static const char *const others[] = {"gfx90a", "gfx950", "gfx1100", "gfx1201"};
        r = check_target(&c, t ? others[other] : "gfx942");
    }
    n->programs++;
    et_arena_destroy(c.a);
    return r;
}
