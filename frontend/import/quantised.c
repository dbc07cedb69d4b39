/* quantised.c - weights of a template that the checkpoint holds quantised.
 *
 * What a checkpoint's "quantization_config" says is read by the part `quantization`, before the
 * template: it names the part that describes the format ($q_format), and what its tensors are
 * called
 * ($q_suffix is taken from the end of a weight's name, $q_mark put there, or one of several marks
 * that spaces part; which one it is is $q_found). A line that declares a weight is then replaced by
 * the lines of that part, where the checkpoint has the tensor that only a quantised weight has. So
 * no template says anything of formats, and no format of architectures.
 */
#include "frontend/import/template.h"
#include "ir/base/table.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <string.h>

enum { MOST_DIMS = 8 };

/* A line "weight NAME : auto[DIMS] = "SOURCE"", or `fine` in place of `auto`. */
struct line {
    const char *name, *source;
    bool fine;
    const char *dim[MOST_DIMS];
    int ndims;
};

static const char *text_of(const struct imp_template *t, const char *variable) {
    const struct imp_value *v = imp_variable(t, variable);
    return v && v->kind == IMP_TEXT ? v->text : NULL;
}

static void set_text(struct imp_template *t, const char *variable, const char *text) {
    struct imp_value v = imp_text(text);
    imp_variable_set(t, variable, &v);
}

/* The text from P up to END, without spaces around it. */
static const char *trimmed(et_arena *arena, const char *p, const char *end) {
    while (p < end && *p == ' ')
        p++;
    while (end > p && end[-1] == ' ')
        end--;
    return et_strndup(arena, p, (size_t)(end - p));
}

/* Up to the ']' that closes what P is in, cut at commas; NULL when that is no list of dims. */
static const char *read_dims(et_arena *arena, const char *p, struct line *out) {
    const char *begin = p;
    for (int depth = 0; *p; p++) {
        depth += (*p == '(') - (*p == ')');
        if (depth || (*p != ',' && *p != ']')) continue;
        if (out->ndims == MOST_DIMS) return NULL;
        out->dim[out->ndims++] = trimmed(arena, begin, p);
        begin = p + 1;
        if (*p == ']') return p + 1;
    }
    return NULL;
}

const char *imp_type_to_settle(const char *line, bool *out_fine) {
    const char *type = strstr(line, ": auto["), *fine = strstr(line, ": fine[");
    *out_fine = !type && fine;
    return type ? type : fine;
}

static bool read_line(et_arena *arena, const char *text, struct line *out) {
    *out = (struct line){0};
    const char *type = imp_type_to_settle(text, &out->fine);
    if (strncmp(text, "weight ", 7) != 0 || !type) return false;
    out->name = trimmed(arena, text + 7, type);
    const char *p = read_dims(arena, type + 7, out);
    if (!p || out->ndims < 2) return false;
    const char *from = strchr(p, '"'), *to = from ? strchr(from + 1, '"') : NULL;
    if (!to) return false;
    out->source = et_strndup(arena, from + 1, (size_t)(to - from - 1));
    return true;
}

/* Is NAME what PATTERN says, numbers standing for what it has in braces? LAYER is what stands for
 * the first of them, or NULL: any. */
static bool matches(const char *pattern, const char *name, const char *layer) {
    for (; *pattern; pattern++) {
        if (*pattern != '{') {
            if (*pattern != *name++) return false;
            continue;
        }
        size_t digits = strspn(name, "0123456789");
        pattern = strchr(pattern, '}');
        if (!digits || !pattern) return false;
        if (layer && (strlen(layer) != digits || memcmp(layer, name, digits) != 0)) return false;
        layer = NULL;
        name += digits;
    }
    return !*name;
}

static bool ends_in(const char *s, const char *end) {
    size_t n = strlen(s), k = strlen(end);
    return n >= k && !strcmp(s + n - k, end);
}

/* Is the tensor that marks a quantised weight there, of the layer that is written? Where nobody
 * looks at tensors, the projections of layers are taken to be quantised. */
static bool is_marked(const struct imp_template *t, const char *base, const char *mark) {
    const char *pattern = et_printf(t->arena, "%s%s", base, mark);
    const struct imp_value *j = imp_variable(t, "first_of_kind");
    const char *layer = j && j->kind == IMP_INT ? imp_value_print(t->arena, j) : NULL;
    if (!t->st) return imp_variable(t, "q_whole") || (strchr(base, '{') && ends_in(base, "_proj"));
    if (!strchr(pattern, '{')) return etrt_st_find(t->st, pattern);
    for (size_t i = 0; i < etrt_st_count(t->st); i++)
        if (matches(pattern, etrt_st_at(t->st, i)->name, layer)) return true;
    return false;
}

/* The next of the marks in LIST, which goes on behind it; NULL at the end. */
static const char *next_mark(et_arena *arena, const char **list) {
    *list += strspn(*list, " ");
    size_t n = strcspn(*list, " ");
    const char *mark = n ? et_strndup(arena, *list, n) : NULL;
    *list += n;
    return mark;
}

/* Does NAME end in one of the marks in LIST? */
static bool has_mark(const char *name, const char *list) {
    size_t bytes = strlen(name);
    for (size_t n; *list; list += n) {
        list += strspn(list, " ");
        n = strcspn(list, " ");
        if (n && bytes >= n && !memcmp(name + bytes - n, list, n)) return true;
    }
    return false;
}

int64_t imp_kind_of_layer(const struct imp_template *t, const char *prefix) {
    const char *marks = text_of(t, "q_mark");
    size_t n = strlen(prefix);
    uint64_t sum = 0;
    for (size_t i = 0; marks && t->st && i < etrt_st_count(t->st); i++) {
        const char *name = etrt_st_at(t->st, i)->name;
        if (!strncmp(name, prefix, n) && has_mark(name, marks))
            sum += et_hash(0, name + n, strlen(name + n));
    }
    return (int64_t)(sum >> 4);
}

/* A size that other sizes are computed of. */
static const char *factor(et_arena *arena, const char *size) {
    return strpbrk(size, "+-") ? et_printf(arena, "(%s)", size) : size;
}

/* What the format's lines say of the weight: $q_name, $q_base, the last two dimensions $q_rows and
 * $q_columns; of those before, $q_stack as they are declared ("e in 0..E, "), $q_lead as sizes ("E,
 * ") and $q_count as factors ("E * "). */
static bool set_variables(struct imp_scan *s, const struct line *l, const char *base) {
    struct imp_template *t = s->t;
    const char *stack = "", *lead = "", *count = "";
    for (int d = 0; d + 2 < l->ndims; d++) {
        const char *in = strstr(l->dim[d], " in "), *size = l->dim[d];
        if (in && strncmp(in + 4, "0..", 3) != 0)
            return imp_scan_error(s, "tensors of a quantised weight are counted from 0");
        if (in) size = in + 7;
        stack = et_printf(t->arena, "%s%s, ", stack, l->dim[d]);
        lead = et_printf(t->arena, "%s%s, ", lead, size);
        count = et_printf(t->arena, "%s%s * ", count, factor(t->arena, size));
    }
    /* Rows that are quantised have a type of their own. */
    bool fine = (l->fine || t->options->f16_products) && !t->options->activations;
    set_text(t, "q_product", t->options->wide ? "f32" : fine ? "f16" : "bf16");
    set_text(t, "q_name", l->name);
    set_text(t, "q_base", base);
    set_text(t, "q_stack", stack);
    set_text(t, "q_lead", lead);
    set_text(t, "q_count", count);
    set_text(t, "q_rows", factor(t->arena, l->dim[l->ndims - 2]));
    set_text(t, "q_columns", factor(t->arena, l->dim[l->ndims - 1]));
    return true;
}

/* What marks stand behind for a weight called SOURCE, or NULL. Planes of one without the suffix are
 * told by all of its name, where there are tensors to look at. */
static const char *base_of(const struct imp_template *t, const char *source) {
    const char *suffix = text_of(t, "q_suffix");
    if (!suffix || !text_of(t, "q_mark")) return NULL;
    if (ends_in(source, suffix))
        return et_strndup(t->arena, source, strlen(source) - strlen(suffix));
    return t->st ? source : NULL;
}

bool imp_quantised_has(const struct imp_template *t, const char *name) {
    const char *base = base_of(t, name), *mark = base ? text_of(t, "q_mark") : NULL, *one;
    while (mark && (one = next_mark(t->arena, &mark)))
        if (etrt_st_find(t->st, et_printf(t->arena, "%s%s", base, one))) return true;
    return false;
}

bool imp_quantised(struct imp_scan *s, const char *line, const char **out_part) {
    struct imp_template *t = s->t;
    const char *format = text_of(t, "q_format"), *mark = text_of(t, "q_mark"), *base, *found;
    struct line l;
    *out_part = NULL;
    if (!format || !read_line(t->arena, line, &l) || !(base = base_of(t, l.source))) return true;
    while ((found = next_mark(t->arena, &mark)) && !is_marked(t, base, found)) {
    }
    if (!found) return true;
    *out_part = format;
    set_text(t, "q_found", found);
    return set_variables(s, &l, base);
}

bool imp_quantised_some(struct imp_scan *s) {
    const char *mark = text_of(s->t, "q_mark");
    if (!mark || s->t->quantised) return true;
    if (s->t->report->errors == s->t->errors)
        imp_error(s->t->report, s->t->config->path,
                  "field \"quantization_config\": no weight of the model has a tensor \"*%s\" in "
                  "the checkpoint",
                  mark);
    return false;
}
