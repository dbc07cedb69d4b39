/* template.c - a template, line by line: what stands after % is for etimport, the rest is the
 * model.
 *
 * An error ends nothing: the rest of the template is read, so that a configuration's problems are
 * all told in one run, but nothing is said that may follow from an earlier one (imp_scan_error). */
#include "frontend/import/template.h"
#include "runtime/files/input.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_INCLUDES = 8, MAX_TEXT = 8 << 20, MAX_LEVELS = 40 };

/* A template, cut into lines. */
struct lines {
    const char *file;
    const char **line;
    int n, cap;
};

static bool of_lines(struct imp_template *t, const struct lines *ls, int from, int to);

/* ---- text ---- */

static void put(struct imp_template *t, const char *text) {
    for (; *text; text++) {
        fputc(*text, t->out);
        if (*text == '\n' && !t->capturing) t->line++;
    }
}

/* "$name", "${expression}" or "${expression:WIDTH}" at s->p. */
static bool put_value(struct imp_scan *s, bool message) {
    struct imp_template *t = s->t;
    struct imp_value v;
    int64_t width = 0;
    s->p++;
    if (*s->p == '{') {
        s->p++;
        if (!imp_eval(s, &v)) return false;
        if (imp_scan_is(s, ":") && !imp_eval_int(s, 0, 100, &width)) return false;
        if (!imp_scan_want(s, "}")) return false;
    } else {
        const char *name;
        if (!imp_scan_name(s, &name)) return false;
        const struct imp_value *found = imp_variable(t, name);
        if (!found) return imp_scan_error(s, "there is no variable '%s'", name);
        v = *found;
    }
    if (!message && imp_value_foreign(&v))
        return imp_scan_error(s, "text of config.json is not written into a model: use `one of`");
    const char *text = imp_value_print(t->arena, &v);
    put(t, text);
    for (size_t n = strlen(text); n < (size_t)width; n++)
        put(t, " ");
    return true;
}

static bool put_line(struct imp_scan *s, bool message) {
    struct imp_template *t = s->t;
    while (*s->p) {
        char one[2] = {*s->p, 0};
        if (*s->p == '$' && s->p[1] == '$')
            s->p++;
        else if (*s->p == '$') {
            if (!put_value(s, message)) return false;
            continue;
        }
        put(t, one);
        s->p++;
    }
    return true;
}

static const char *message(struct imp_scan *s, bool message);
static bool include(struct imp_scan *s, const char *name);

/* "weight NAME : TYPE = "SOURCE"" as it comes out, the source as the checkpoint calls it; NULL
 * after an error. */
static const char *weight_line(struct imp_scan *s) {
    struct imp_template *t = s->t;
    const char *text = message(s, false), *quote = text ? strstr(text, "= \"") : NULL;
    if (!quote) return text;
    return et_printf(t->arena, "%.*s%s", (int)(quote + 3 - text), text,
                     imp_config_tensor(t->config, quote + 3));
}

/* "weight NAME : auto[...]": remembers where the type stands, and writes one in its place. */
static bool put_weight(struct imp_scan *s) {
    struct imp_template *t = s->t;
    struct imp_filled *f = t->filled;
    bool fine;
    const char *text = weight_line(s);
    if (!text) return false;
    const char *type = t->capturing ? NULL : imp_type_to_settle(text, &fine);
    if (type) {
        put(t, et_strndup(t->arena, text, (size_t)(type + 2 - text)));
        fflush(t->out);
        ET_GROW(t->arena, f->autos, f->nautos, f->cautos);
        f->autos[f->nautos++] = (struct imp_auto){t->line, (size_t)ftell(t->out), fine};
        put(t, "bf16");
        text = type + 6;
    }
    put(t, text);
    return true;
}

/* The lines that a weight's is replaced by where it is quantised; *OUT_DONE: it was. */
static bool quantised_line(struct imp_scan *s, const char *indent, bool *out_done) {
    struct imp_template *t = s->t;
    struct imp_scan ahead = *s;
    const char *text, *part;
    *out_done = false;
    if (t->indent || t->capturing || strncmp(s->p, "weight ", 7) != 0) return true;
    if (!(text = weight_line(&ahead)) || !imp_quantised(s, text, &part)) return false;
    if (!part) return true;
    *out_done = true;
    t->quantised++;
    t->indent = indent;
    const struct imp_value *input = imp_variable(t, "q_input_lines");
    bool ok = include(s, part) && (!input || include(s, input->text));
    t->indent = NULL;
    if (input) imp_rows_note(t);
    return ok;
}

/* What products of quantised rows are written with comes before the first loop. */
static bool define_rows(struct imp_scan *s) {
    struct imp_template *t = s->t;
    const struct imp_value *part = imp_variable(t, "q_functions");
    if (t->rows_defined || t->capturing || !part || strncmp(s->p, "for ", 4) != 0) return true;
    t->rows_defined = true;
    return include(s, part->text);
}

/* A line of the model that declares nothing. */
static bool put_model_line(struct imp_scan *s, const char *indent) {
    struct imp_template *t = s->t;
    if (!t->nrows || t->capturing || t->indent) return put_line(s, false);
    const char *text = message(s, false);
    if (!text || !(text = imp_rows_line(s, indent, text))) return false;
    put(t, text);
    return true;
}

static bool text_line(struct imp_scan *s) {
    struct imp_template *t = s->t;
    const char *start = s->p;
    bool done;
    imp_scan_space(s);
    const char *indent = et_strndup(t->arena, start, (size_t)(s->p - start));
    if (!quantised_line(s, indent, &done)) return false;
    if (done) return true;
    if (!define_rows(s)) return false;
    if (t->indent) put(t, t->indent);
    for (const char *p = start; p < s->p; p++)
        put(t, *p == '\t' ? "\t" : " ");
    bool weight = !strncmp(s->p, "weight ", 7);
    bool ok = weight ? put_weight(s) : put_model_line(s, indent);
    put(t, "\n");
    if (ftell(t->out) > MAX_TEXT) return imp_scan_error(s, "a model of more than 8 MB");
    return ok;
}

/* What the rest of the line comes to, as text; NULL after an error. */
static const char *message(struct imp_scan *s, bool message) {
    struct imp_template *t = s->t;
    FILE *out = t->out;
    bool capturing = t->capturing;
    char *text = NULL;
    size_t bytes;
    t->out = open_memstream(&text, &bytes);
    if (!t->out) et_no_memory();
    t->capturing = true;
    imp_scan_space(s);
    bool ok = put_line(s, message);
    if (fclose(t->out)) et_no_memory();
    const char *copy = ok ? et_strdup(t->arena, text) : NULL;
    free(text);
    t->out = out;
    t->capturing = capturing;
    return copy;
}

/* ---- single lines ---- */

static bool do_let(struct imp_scan *s) {
    const char *name;
    struct imp_value v;
    if (!imp_scan_name(s, &name) || !imp_scan_want(s, "=") || !imp_eval(s, &v) || !imp_scan_end(s))
        return false;
    imp_variable_set(s->t, name, &v);
    return true;
}

/* "error if CONDITION : TEXT" */
static bool do_complaint(struct imp_scan *s, bool error) {
    bool holds;
    if (!imp_scan_word(s, "if")) return imp_scan_error(s, "expected 'if' after 'error', 'warning'");
    if (!imp_eval_bool(s, &holds) || !imp_scan_want(s, ":")) return false;
    if (!holds) return true;
    const char *text = message(s, true);
    if (!text) return false;
    (error ? imp_error : imp_warning)(s->t->report, s->t->config->path, "%s", text);
    return true;
}

static bool do_ignore(struct imp_scan *s) {
    const char *path;
    while (imp_scan_item(s, &path))
        imp_config_use(s->t->config, path);
    return true;
}

static bool do_unused(struct imp_scan *s) {
    struct imp_filled *f = s->t->filled;
    const char *pattern;
    while (imp_scan_item(s, &pattern)) {
        ET_GROW(s->t->arena, f->spare, f->nspare, f->cspare);
        f->spare[f->nspare++] = imp_config_tensor(s->t->config, pattern);
    }
    return true;
}

/* "below TENSOR : LIMIT" */
static bool do_below(struct imp_scan *s) {
    struct imp_filled *f = s->t->filled;
    struct imp_value tensor, limit;
    if (!imp_eval(s, &tensor) || !imp_scan_want(s, ":") || !imp_eval(s, &limit) || !imp_scan_end(s))
        return false;
    if (limit.kind == IMP_NULL) return true; /* which was an error */
    if (tensor.kind != IMP_TEXT || limit.kind != IMP_INT)
        return imp_scan_error(s, "a line 'below' is of the name of a tensor and an integer");
    ET_GROW(s->t->arena, f->below, f->nbelow, f->cbelow);
    f->below[f->nbelow++] = (struct imp_below){tensor.text, limit.i};
    return true;
}

static struct lines cut(et_arena *arena, const struct imp_source *from) {
    struct lines ls = {.file = from->name};
    for (const char *p = from->text; *p;) {
        size_t n = strcspn(p, "\n");
        size_t shown = n && p[n - 1] == '\r' ? n - 1 : n;
        ET_GROW(arena, ls.line, ls.n, ls.cap);
        ls.line[ls.n++] = et_strndup(arena, p, shown);
        p += n + (p[n] == '\n');
    }
    return ls;
}

static bool find_source(struct imp_scan *s, const char *name, struct imp_source *out) {
    enum { MAX_BYTES = 1 << 20 };
    struct imp_template *t = s->t;
    char why[ET_WHY];
    size_t bytes;
    if (t->folder) {
        const char *path = et_printf(t->arena, "%s%s.etg.in", t->folder, name);
        char *text = et_file_read(path, MAX_BYTES, &bytes, why);
        if (text) {
            *out = (struct imp_source){path, et_strdup(t->arena, text)};
            free(text);
            return true;
        }
    }
    return imp_model_find(name, out) || imp_scan_error(s, "there is no template '%s'", name);
}

static bool include(struct imp_scan *s, const char *name) {
    struct imp_source from;
    if (!find_source(s, name, &from)) return false;
    if (s->t->includes == MAX_INCLUDES)
        return imp_scan_error(s, "templates that include each other too deeply");
    s->t->includes++;
    struct lines ls = cut(s->t->arena, &from);
    s->t->steps += ls.n;
    bool ok = of_lines(s->t, &ls, 0, ls.n);
    s->t->includes--;
    return ok;
}

static bool do_include(struct imp_scan *s) {
    const char *name;
    return imp_scan_name(s, &name) && imp_scan_end(s) && include(s, name);
}

/* ---- blocks ---- */

/* Is line I a directive that begins with WORD? */
static bool is_directive(const struct lines *ls, int i, const char *word) {
    const char *p = ls->line[i] + strspn(ls->line[i], " \t");
    size_t n = strlen(word);
    if (*p++ != '%') return false;
    p += strspn(p, " ");
    return !strncmp(p, word, n) && (p[n] == 0 || p[n] == ' ');
}

static bool opens(const struct lines *ls, int i) {
    return is_directive(ls, i, "if") || is_directive(ls, i, "for") || is_directive(ls, i, "text");
}

/* The line of the %end that closes line I, or of the %elif or %else in between, where PARTS. */
static int close_of(const struct lines *ls, int i, int to, bool parts) {
    int depth = 0;
    for (int k = i + 1; k < to; k++) {
        if (opens(ls, k)) depth++;
        if (is_directive(ls, k, "end") && depth-- == 0) return k;
        if (parts && depth == 0 && (is_directive(ls, k, "else") || is_directive(ls, k, "elif")))
            return k;
    }
    return -1;
}

/* The scan of what follows the directive's word in line I. */
static struct imp_scan rest_of(struct imp_template *t, const struct lines *ls, int i) {
    const char *p = ls->line[i] + strspn(ls->line[i], " \t") + 1;
    p += strspn(p, " ");
    p += strcspn(p, " ");
    return (struct imp_scan){.t = t, .p = p, .file = ls->file, .line = i + 1};
}

static bool do_if(struct imp_template *t, const struct lines *ls, int i, int end) {
    bool ok = true, taken = false;
    while (i < end) {
        int next = close_of(ls, i, end + 1, true);
        struct imp_scan s = rest_of(t, ls, i);
        bool now = true;
        if (!is_directive(ls, i, "else"))
            ok &= taken ? true : imp_eval_bool(&s, &now) && imp_scan_end(&s);
        else
            ok &= imp_scan_end(&s);
        if (!taken && now && ok) {
            ok &= of_lines(t, ls, i + 1, next);
            taken = true;
        }
        i = next;
    }
    return ok;
}

static bool do_for(struct imp_template *t, const struct lines *ls, int i, int end) {
    struct imp_scan s = rest_of(t, ls, i);
    const char *name;
    int64_t lo, hi;
    if (!imp_scan_name(&s, &name) || !(imp_scan_word(&s, "in") || imp_scan_want(&s, "in")) ||
        !imp_eval_int(&s, -IMP_MAX_LIST, IMP_MAX_LIST, &lo) || !imp_scan_want(&s, "..") ||
        !imp_eval_int(&s, -IMP_MAX_LIST, IMP_MAX_LIST, &hi) || !imp_scan_end(&s))
        return false;
    bool ok = true;
    for (int64_t k = lo; k < hi && ok; k++) {
        struct imp_value v = imp_int(k);
        imp_variable_set(t, name, &v);
        ok = of_lines(t, ls, i + 1, end);
    }
    return ok;
}

/* The lines of the block, without the last line's end, become a variable. */
static bool do_text(struct imp_template *t, const struct lines *ls, int i, int end) {
    struct imp_scan s = rest_of(t, ls, i);
    const char *name;
    FILE *out = t->out;
    bool capturing = t->capturing;
    char *text = NULL;
    size_t bytes = 0;
    if (!imp_scan_name(&s, &name) || !imp_scan_end(&s)) return false;
    t->out = open_memstream(&text, &bytes);
    if (!t->out) et_no_memory();
    t->capturing = true;
    bool ok = of_lines(t, ls, i + 1, end);
    if (fclose(t->out)) et_no_memory();
    t->out = out;
    t->capturing = capturing;
    struct imp_value v = imp_text(et_strndup(t->arena, text, bytes ? bytes - 1 : 0));
    free(text);
    imp_variable_set(t, name, &v);
    return ok;
}

static const struct {
    const char *word;
    bool (*block)(struct imp_template *, const struct lines *, int, int);
} blocks[] = {{"if", do_if}, {"for", do_for}, {"text", do_text}};

static bool directive(struct imp_template *t, const struct lines *ls, int i) {
    struct imp_scan s = rest_of(t, ls, i);
    if (is_directive(ls, i, "field")) return imp_field(&s);
    if (is_directive(ls, i, "let")) return do_let(&s);
    if (is_directive(ls, i, "error")) return do_complaint(&s, true);
    if (is_directive(ls, i, "warning")) return do_complaint(&s, false);
    if (is_directive(ls, i, "ignore")) return do_ignore(&s);
    if (is_directive(ls, i, "unused")) return do_unused(&s);
    if (is_directive(ls, i, "below")) return do_below(&s);
    if (is_directive(ls, i, "include")) return do_include(&s);
    if (is_directive(ls, i, "architecture") || is_directive(ls, i, "#")) return true;
    return imp_scan_error(&s, "not a line of a template: \"%.40s\"", ls->line[i]);
}

static bool one_by_one(struct imp_template *t, const struct lines *ls, int from, int to) {
    bool ok = true;
    for (int i = from; i < to; i++) {
        struct imp_scan s = {.t = t, .p = ls->line[i], .file = ls->file, .line = i + 1};
        if (++t->steps > IMP_MAX_STEPS) return imp_scan_error(&s, "the template takes too long");
        if (t->levels > MAX_LEVELS) return imp_scan_error(&s, "blocks nested too deeply");
        if (ls->line[i][strspn(ls->line[i], " \t")] != '%') {
            ok &= text_line(&s);
            continue;
        }
        if (!opens(ls, i)) {
            ok &= directive(t, ls, i);
            continue;
        }
        int end = close_of(ls, i, to, false);
        if (end < 0) return imp_scan_error(&s, "a block without its %%end");
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
            if (is_directive(ls, i, blocks[b].word)) ok &= blocks[b].block(t, ls, i, end);
        i = end;
    }
    return ok;
}

static bool of_lines(struct imp_template *t, const struct lines *ls, int from, int to) {
    t->levels++;
    bool ok = one_by_one(t, ls, from, to);
    t->levels--;
    return ok;
}

/* ---- the whole ---- */

static void set_options(struct imp_template *t, const char *architecture) {
    const struct imp_options *o = t->options;
    const struct {
        const char *name;
        struct imp_value value;
    } vars[] = {
        {"architecture", imp_text(architecture)},
        {"version", imp_text(ETCC_VERSION)},
        {"name", imp_text(o->name)},
        {"max_tokens", imp_int(o->max_tokens)},
        {"slots", imp_int(o->slots)},
        {"context", imp_int(o->context)},
        {"cache_room", imp_int(o->cache_room)},
        {"page", imp_int(o->page)},
        {"pages", imp_int(o->pages)},
        {"snapshots", imp_int(o->snapshots)},
        {"sample", imp_text(o->sample ? o->sample : "")},
        {"decoder", imp_bool(false)},                     /* a template says otherwise */
        {"experts", imp_int(0)},                          /* likewise */
        {"attention_layers", imp_text("full_attention")}, /* in "layer_types", likewise */
        {"other_layers", imp_text("sliding_attention")},
        {"own_activation", imp_bool(false)}, /* likewise */
        {"own_layers", imp_int(0)},          /* how many layers, where lists say that */
        {"activations", imp_text(o->activations ? o->activations : "")},
        {"logits", imp_text(o->asked ? "asked" : "all")},
        {"rows", imp_text("N")}, /* of the logits; a template says otherwise */
        {"result", imp_text("output logits : f32[N, V]")}, /* likewise */
        {"embeds", imp_bool(false)},   /* of a decoder: texts become vectors (`pooling`) */
        {"flat", imp_bool(false)},     /* likewise, whole texts in a launch (`decoder`) */
        {"bare", imp_bool(false)},     /* a model without a head, of an architecture that has one */
        {"embedded", imp_bool(false)}, /* a template says which (`embedded`) */
        {"steps", imp_int(o->steps)},
        {"first_step", imp_text(o->steps ? "first_" : "")},
        {"whose", imp_text(o->asked ? "asked[i]" : "i")},
        {"wide", imp_bool(o->wide)},
        {"bf16_frequencies", imp_bool(o->bf16_frequencies)},
        {"cache", imp_text(o->cache  ? o->cache
                           : o->wide ? "f32"
                                     : "bf16")},
        {"cache_asked", imp_bool(o->cache)},
        {"results", imp_text(o->results ? o->results : "")},
    };
    for (size_t i = 0; i < sizeof vars / sizeof *vars; i++)
        imp_variable_set(t, vars[i].name, &vars[i].value);
}

bool imp_template_fill(const struct imp_source *from, struct imp_config *c,
                       const struct imp_options *o, const struct etrt_st *st,
                       const char *architecture, struct imp_filled *out) {
    char *text = NULL;
    size_t bytes = 0;
    *out = (struct imp_filled){0};
    struct imp_template t = {.arena = c->arena,
                             .config = c,
                             .options = o,
                             .st = st,
                             .report = c->report,
                             .errors = c->report->errors,
                             .filled = out,
                             .line = 1,
                             .out = open_memstream(&text, &bytes)};
    if (!t.out) et_no_memory();
    if (o->template) {
        const char *slash = strrchr(from->name, '/');
        t.folder = slash ? et_strndup(c->arena, from->name, (size_t)(slash + 1 - from->name)) : "";
    }
    set_options(&t, architecture);
    struct imp_scan begin = {.t = &t, .p = "", .file = from->name, .line = 1};
    bool ok = !imp_config_has(c, "quantization_config") || include(&begin, "quantization");
    struct lines ls = cut(c->arena, from);
    ok &= of_lines(&t, &ls, 0, ls.n);
    ok &= !(o->asked || o->steps) || include(&begin, "asked_everywhere");
    ok &= include(&begin, "embedded_everywhere");
    ok &= !o->sample || include(&begin, "sample");
    ok &= imp_quantised_some(&begin);
    if (o->activations && !imp_config_has(c, "quantization_config"))
        imp_error(c->report, c->path,
                  "there is no field \"quantization_config\" that says how activations are "
                  "quantised, which --activations %s asks for",
                  o->activations);
    if (fclose(t.out)) et_no_memory();
    out->text = et_strndup(c->arena, text, bytes);
    out->bytes = bytes;
    free(text);
    return ok && c->report->errors == t.errors;
}
