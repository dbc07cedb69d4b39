#include "ir/base/diag.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    const char *text;
    size_t bytes;
} source;

typedef struct {
    et_severity severity;
    et_loc loc;
    const char *text;
    int owner; /* NOTE: the entry it explains; otherwise its own index */
} entry;

struct et_diags {
    et_arena *arena;
    source *files;
    int nfiles, cfiles;
    entry *entries;
    int nentries, centries;
    int errors;
    int dropped; /* errors past MAX_ENTRIES, only counted */
    bool muted;  /* the last error or warning was a repetition: so are its notes */
};

et_diags *et_diags_create(et_arena *arena) {
    et_diags *d = et_alloc(arena, sizeof *d);
    d->arena = arena;
    return d;
}

int et_diag_file(et_diags *d, const char *name, const char *text, size_t bytes) {
    ET_GROW(d->arena, d->files, d->nfiles, d->cfiles);
    d->files[d->nfiles] = (source){.name = et_strdup(d->arena, name),
                                   .text = et_strndup(d->arena, text, bytes),
                                   .bytes = bytes};
    return ++d->nfiles;
}

enum { MAX_ENTRIES = 1000 };

static bool same_place(et_loc a, et_loc b) {
    return a.file == b.file && a.line == b.line && a.col == b.col;
}

/* One error per place is enough: what follows it is most often its consequence. Without a position
 * only the same words are a repetition. */
static bool is_repeated(const et_diags *d, et_severity severity, et_loc loc, const char *text) {
    for (int i = 0; i < d->nentries; i++) {
        const entry *e = &d->entries[i];
        if (e->severity != severity || !same_place(e->loc, loc)) continue;
        if ((loc.line > 0 && severity == ET_ERROR) || strcmp(e->text, text) == 0) return true;
    }
    return false;
}

void et_diag(et_diags *d, et_severity severity, et_loc loc, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *text = et_vprintf(d->arena, fmt, ap);
    va_end(ap);
    for (char *c = text; *c; c++) /* names quoted from input must not steer a terminal */
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    if (severity == ET_NOTE) {
        if (d->muted || d->nentries == 0) return;
    } else {
        d->muted = is_repeated(d, severity, loc, text);
        if (d->muted) return;
        d->errors += severity == ET_ERROR;
        if (d->nentries >= MAX_ENTRIES) {
            d->muted = true;
            d->dropped++;
            return;
        }
    }
    ET_GROW(d->arena, d->entries, d->nentries, d->centries);
    entry *e = &d->entries[d->nentries];
    *e = (entry){.severity = severity, .loc = loc, .text = text, .owner = d->nentries};
    if (severity == ET_NOTE) e->owner = d->entries[d->nentries - 1].owner;
    d->nentries++;
}

int et_diag_errors(const et_diags *d) {
    return d->errors;
}

void et_diag_pass_on(const et_diags *from, et_diags *to) {
    for (int i = 0; i < from->nentries; i++) {
        const entry *e = &from->entries[i], *owner = &from->entries[e->owner];
        if (owner->severity == ET_WARNING && owner->loc.line < 1)
            et_diag(to, e->severity, (et_loc){0}, "%s", e->text);
    }
}

static const source *file_of(const et_diags *d, et_loc loc) {
    return loc.file >= 1 && loc.file <= d->nfiles ? &d->files[loc.file - 1] : NULL;
}

static bool find_line(const source *s, int line, const char **out_begin, const char **out_end) {
    const char *p = s->text, *end = s->text + s->bytes;
    for (int i = 1; i < line; i++) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (!p) return false;
        p++;
    }
    const char *q = memchr(p, '\n', (size_t)(end - p));
    q = q ? q : end;
    if (q > p && q[-1] == '\r') q--;
    *out_begin = p;
    *out_end = q;
    return true;
}

/* Bytes of the character at P, which takes one column; *out_ok is false for what is not UTF-8. */
static int char_bytes(const char *p, const char *end, bool *out_ok) {
    unsigned char c = (unsigned char)*p;
    int n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : 4;
    *out_ok = c < 0x80 || (c >= 0xc2 && c < 0xf5);
    if (!*out_ok || end - p < n) {
        *out_ok = false;
        return 1;
    }
    for (int i = 1; i < n; i++)
        if (((unsigned char)p[i] & 0xc0) != 0x80) {
            *out_ok = false;
            return 1;
        }
    return n;
}

static int columns(const char *p, const char *end) {
    int n = 0;
    for (bool ok; p < end; n++)
        p += char_bytes(p, end, &ok);
    return n;
}

static const char *skip_columns(const char *p, const char *end, int n) {
    for (bool ok; p < end && n > 0; n--)
        p += char_bytes(p, end, &ok);
    return p;
}

static void put_text(FILE *out, const char *p, const char *end) {
    while (p < end) {
        bool ok;
        int n = char_bytes(p, end, &ok);
        if (!ok)
            fputc('?', out);
        else if (n == 1 && *p != '\t' && ((unsigned char)*p < 0x20 || *p == 0x7f))
            fputc(' ', out);
        else
            fwrite(p, 1, (size_t)n, out);
        p += n;
    }
}

enum { LINE_WIDTH = 110, LINE_BEFORE = 60 }; /* longer lines are cut around the caret */

static void put_source(const et_diags *d, FILE *out, et_loc loc) {
    const source *s = file_of(d, loc);
    const char *begin, *end;
    if (!s || loc.line < 1 || loc.col < 1 || !find_line(s, loc.line, &begin, &end)) return;
    const char *at = loc.col - 1 < end - begin ? begin + loc.col - 1 : end;
    const char *stop = loc.len > 1 && loc.len < end - at ? at + loc.len : loc.len > 1 ? end : at;
    const char *from = begin, *to = end;
    if (columns(begin, end) > LINE_WIDTH) {
        int before = columns(begin, at);
        from = skip_columns(begin, end, before > LINE_BEFORE ? before - LINE_BEFORE : 0);
        to = skip_columns(from, end, LINE_WIDTH);
    }
    stop = stop > to ? to : stop;
    fputs(from > begin ? "    ..." : "    ", out);
    put_text(out, from, to);
    fputs(to < end ? "...\n" : "\n", out);
    fputs(from > begin ? "       " : "    ", out);
    for (const char *p = from; p < at;) {
        bool ok;
        fputc(*p == '\t' ? '\t' : ' ', out);
        p += char_bytes(p, at, &ok);
    }
    fputc('^', out);
    for (int n = at < stop ? columns(at, stop) : 1; n > 1; n--)
        fputc('~', out);
    fputc('\n', out);
}

static void put_entry(const et_diags *d, FILE *out, const entry *e) {
    static const char *const severity[] = {"error", "warning", "note"};
    const source *s = file_of(d, e->loc);
    if (s) {
        put_text(out, s->name, s->name + strlen(s->name));
        fputc(':', out);
    }
    if (s && e->loc.line > 0) {
        fprintf(out, "%d:", e->loc.line);
        if (e->loc.col > 0) fprintf(out, "%d:", e->loc.col);
    }
    fprintf(out, "%s%s: %s\n", s ? " " : "", severity[e->severity], e->text);
    put_source(d, out, e->loc);
}

static int in_source_order(const void *a, const void *b, void *ctx) {
    const et_diags *d = ctx;
    int i = *(const int *)a, j = *(const int *)b;
    const et_loc *x = &d->entries[d->entries[i].owner].loc;
    const et_loc *y = &d->entries[d->entries[j].owner].loc;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    if (x->col != y->col) return x->col < y->col ? -1 : 1;
    if (d->entries[i].owner != d->entries[j].owner)
        return d->entries[i].owner < d->entries[j].owner ? -1 : 1;
    return i < j ? -1 : i > j;
}

void et_diag_print(const et_diags *d, FILE *out) {
    int *order = et_alloc(d->arena, (size_t)(d->nentries + 1) * sizeof *order);
    for (int i = 0; i < d->nentries; i++)
        order[i] = i;
    qsort_r(order, (size_t)d->nentries, sizeof *order, in_source_order, (void *)d);
    for (int i = 0; i < d->nentries; i++)
        put_entry(d, out, &d->entries[order[i]]);
    if (d->dropped) fprintf(out, "and %d more\n", d->dropped);
}

void et_bug_at(const char *file, int line, const char *fmt, ...) {
    fprintf(stderr, "%s:%d: internal error: ", file, line);
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}
