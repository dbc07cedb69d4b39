/* template.h - what the files that read templates share: values, and the text of a line.
 *
 * The language is described in models/README.md. Everything lives in the arena of the
 * configuration. Functions that return bool return false after reporting an error, or when one that
 * was reported before makes an answer impossible. */
#ifndef ET_IMPORT_TEMPLATE_H
#define ET_IMPORT_TEMPLATE_H

#include "frontend/import/import.h"

struct imp_value {
    enum { IMP_NULL, IMP_BOOL, IMP_INT, IMP_REAL, IMP_TEXT, IMP_LIST } kind;
    bool foreign; /* TEXT that config.json says: it may be compared, never written into a model */
    union {
        bool b;
        int64_t i;
        double f;
        const char *text;
        struct {
            int n;
            struct imp_value *item;
        } list;
    };
};

struct imp_variable {
    const char *name;
    struct imp_value value;
};

struct imp_template {
    et_arena *arena;
    struct imp_config *config;
    const struct imp_options *options;
    const struct etrt_st *st;
    struct imp_report *report;
    int errors;         /* of the report when the template was begun */
    const char *folder; /* of a template that is a file: its includes are looked for there first */
    struct imp_variable *vars;
    int nvars, cvars;
    int includes, levels; /* open ones */
    int64_t steps;
    FILE *out;
    int line; /* of the output */
    struct imp_filled *filled;
    bool capturing;     /* into a %text */
    int quantised;      /* weights whose format's lines took their place */
    const char *indent; /* of a line that is replaced by those of its format, or NULL */
    struct imp_rows {   /* weights whose products quantise their rows, too */
        const char *name;
        const char *input; /* the rows' scale where that is a weight, or empty */
        bool codes;        /* products are of codes */
        bool by_row;       /* there are scales for each row of the weight */
    } * rows;
    int nrows, crows;
    const char **named; /* values whose quantised rows have a name */
    int nnamed, cnamed;
    bool rows_defined; /* what such products are written with has been put */
};

/* A place in a line of a template, from which expressions are read. */
struct imp_scan {
    struct imp_template *t;
    const char *p;
    const char *file;
    int line;
    int depth;
    bool dead; /* read without computing: the branch that is not taken */
};

/* ---- scan.c ---- */
/* Always false. Nothing is said where an earlier error may be the reason. */
bool imp_scan_error(struct imp_scan *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void imp_scan_space(struct imp_scan *);
bool imp_scan_is(struct imp_scan *, const char *symbol); /* takes it when it comes next */
bool imp_scan_word(struct imp_scan *, const char *word); /* likewise, a whole word */
bool imp_scan_want(struct imp_scan *, const char *symbol);
bool imp_scan_name(struct imp_scan *, const char **out); /* a name, or an error */
/* What goes on to a space, with the values of variables in the places of "$name"; false: end. */
bool imp_scan_item(struct imp_scan *, const char **out);
bool imp_scan_item_until(struct imp_scan *, const char *ends, const char **out); /* likewise */
bool imp_scan_number(struct imp_scan *, struct imp_value *); /* false where none comes next */
bool imp_scan_string(struct imp_scan *, const char **out);   /* likewise */
bool imp_scan_end(struct imp_scan *);                        /* nothing may follow, or an error */

/* ---- value.c ---- */
struct imp_value imp_bool(bool);
struct imp_value imp_int(int64_t);
struct imp_value imp_real(double);
struct imp_value imp_text(const char *);
struct imp_value imp_list(et_arena *, int n);
const char *imp_value_kind(const struct imp_value *); /* "a list" */
bool imp_value_is_number(const struct imp_value *);
double imp_value_number(const struct imp_value *);
bool imp_value_equal(const struct imp_value *, const struct imp_value *);
/* As a model spells it: the shortest decimal that reads back, "1e-5"; lists as [a, b]. */
const char *imp_value_print(et_arena *, const struct imp_value *);
bool imp_value_foreign(const struct imp_value *);
/* Of a list of truth values, a condition over the integer called NAME that is true for the same
 * numbers from 0 on: "mod(l, 2) == 0". */
const char *imp_value_condition(et_arena *, const struct imp_value *list, const char *name);

/* ---- expr.c, functions.c ---- */
bool imp_eval(struct imp_scan *, struct imp_value *out);
bool imp_eval_int(struct imp_scan *, int64_t lo, int64_t hi, int64_t *out);
bool imp_eval_bool(struct imp_scan *, bool *out);
bool imp_call(struct imp_scan *, const char *name, int n, const struct imp_value *args,
              struct imp_value *out);
const struct imp_value *imp_variable(const struct imp_template *, const char *name);
void imp_variable_set(struct imp_template *, const char *name, const struct imp_value *);

/* ---- field.c ---- */
/* The rest of a %field line: declares a variable out of config.json. */
bool imp_field(struct imp_scan *);

/* ---- quantised.c ---- */
/* Where ": auto[" is in LINE, or ": fine[", in whose place f16 stands for bf16; NULL. */
const char *imp_type_to_settle(const char *line, bool *out_fine);
/* LINE, of a model: where it declares a weight that the checkpoint holds quantised, *OUT_PART is
 * the template of its format and variables tell that of the weight; else NULL. */
bool imp_quantised(struct imp_scan *, const char *line, const char **out_part);
/* Has the checkpoint the weight NAME in a quantised form? It has tensors. */
bool imp_quantised_has(const struct imp_template *, const char *name);
/* A number that is the same for layers with the same quantised weights, whose tensors' names begin
 * with PREFIX, and another one for others. */
int64_t imp_kind_of_layer(const struct imp_template *, const char *prefix);
/* Has a weight been quantised, where config.json says that weights are? Else an error. */
bool imp_quantised_some(struct imp_scan *);

/* ---- products.c ---- */
/* The lines of a weight's format have been put, and those of its rows' scale: remembers it. */
void imp_rows_note(struct imp_template *);
/* LINE of a model, behind INDENT, with every product of such a weight in terms of the functions of
 * the part `quantised_rows`, and before it lines of what these need; NULL after an error. */
const char *imp_rows_line(struct imp_scan *, const char *indent, const char *line);

enum { IMP_MAX_LIST = 1 << 14, IMP_MAX_STEPS = 4 << 20 };

#endif
