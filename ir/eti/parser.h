/* parser.h - what the files that read .eti share. */
#ifndef ET_ETI_PARSER_H
#define ET_ETI_PARSER_H

#include "ir/base/table.h"
#include "ir/eti/eti.h"
#include "ir/graph/ops.h"

typedef enum {
    ETI_EOF,
    ETI_BAD, /* reported by the lexer */
    ETI_NAME,
    ETI_INT,
    ETI_FLOAT,
    ETI_STRING,
    ETI_TENSOR, /* %name */
    ETI_LOCAL,  /* $name */
    ETI_FUNC,   /* @name */
    ETI_OP,     /* punctuation */
} eti_kind;

typedef struct {
    eti_kind kind;
    et_loc loc;
    const char *text; /* names without their sign, strings unescaped */
    int op;           /* OP: its characters, the second one times 256 */
    int64_t i;
    double f;
    bool fresh; /* first on its line */
} eti_tok;

#define ETI_OP2(a, b) ((a) | (b) << 8)

enum {
    ETI_MAX_NAME = 1023,   /* two of the graph language and a dot between, and more for numbers */
    ETI_MAX_DEPTH = 1000,  /* brackets within brackets */
    ETI_MAX_LEVELS = 2000, /* of an expression's tree */
    ETI_MAX_ERRORS = 100,
    ETI_MAX_SLICES = 64,
    ETI_MAX_ITEMS = 100000, /* of any kind of declaration */
    ETI_MAX_LDS = 1 << 20,
    ETI_MAX_TILE = 1 << 24, /* elements one step of a tile goes through */
};
#define ETI_MAX_INT INT64_MAX /* of an expression: whatever simplification makes is read back */
#define ETI_MAX_BYTES ((int64_t)1 << 46)

/* What an expression may read besides symbols and the variables in scope. */
enum {
    ETI_TENSORS = 1,
    ETI_LOCALS = 2,
    ETI_ARGS = 4,   /* $0, $1: arguments of the node */
    ETI_GROUPS = 8, /* sums over a variable, products of the group */
    ETI_LOOPS = 16,
    ETI_SCORE = 32,   /* $qk: the product of query and key */
    ETI_CARRIED = 64, /* $state, $seen, $sum: of a scan */
};

typedef struct {
    const char *name;
    int var;
} eti_binding;

typedef struct {
    const char *key; /* its sign, then the name */
    int index;       /* -1: its declaration was wrong, so uses of it say nothing */
    et_loc loc;
} eti_name;

typedef struct eti_parser {
    et_arena *arena;
    et_diags *diags;
    et_graph *g;
    et_exprs *x;
    et_program *p;
    et_stage stage;

    int file;
    const char *at, *end, *line_begin;
    int line;
    eti_tok tok;
    int wave;    /* work-items per wave, where the text leaves something to be chosen */
    bool inside; /* a variant: it ends with a brace */
    const char *narrow;
    int64_t narrow_lo, narrow_hi;
    const char *recovered; /* where the last recovery ended */
    bool broken; /* a syntax error: nothing more is said or done until the next statement */
    bool leaves; /* in the expression being read, what the launch decides may leave 64 bits, at: */
    et_loc leaves_at;
    int depth;
    int errors; /* of this text: told, suppressed as repetitions, or uses of what is wrong */
    int told_before;

    et_table names; /* of eti_name */

    eti_binding *scope; /* variables in scope, innermost last */
    int nscope, cscope;
    eti_binding *made; /* variables of the group or function so far, in scope or not */
    int nmade, cmade;

    et_func *f; /* whose locals can be named */
    const et_group *gr;
    const et_node *node; /* whose arguments $0, $1 are */

    struct eti_pending *pending; /* graph: weights and the loops they will be in */
    int npending, cpending;
    int loop; /* graph: the one being read, or -1 */

    int model; /* what is being read belongs to, or -1: the first name in it will tell */

    bool planned; /* offsets in the workspace are given: fill in those that are not */
    bool *placed; /* by tensor */
    int cplaced;
} eti_parser;

/* ---- lex.c ---- */
void eti_next(eti_parser *);

/* ---- parse.c ---- */
/* An error of meaning; the statement goes on. */
void eti_error(eti_parser *, et_loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* "expected WHAT, found ..."; the rest of the statement is skipped. */
void eti_expected(eti_parser *, const char *what);
bool eti_is(const eti_parser *, int op);
bool eti_take(eti_parser *, int op);
void eti_need(eti_parser *, int op);
bool eti_is_word(const eti_parser *, const char *word);
bool eti_take_word(eti_parser *, const char *word);
void eti_need_word(eti_parser *, const char *word);
/* A token of KIND; its text, or NULL with an error that calls it WHAT. */
const char *eti_need_name(eti_parser *, eti_kind, const char *what);
/* A whole number from LO to HI; LO after an error. */
int64_t eti_need_int(eti_parser *, int64_t lo, int64_t hi, const char *what);
/* A number with or without point and sign. */
double eti_need_float(eti_parser *);
/* After a syntax error: to the next line that begins with one of WORDS (NULL at the end), with a
 * sign in SIGNS or with a closing brace. */
void eti_recover(eti_parser *, const char *const *words, const char *signs);
bool eti_among(const char *text, const char *const *words);

/* Declare SIGN + NAME as number INDEX; an error when it is taken. */
bool eti_declare(eti_parser *, char sign, const char *name, et_loc, int index);
/* The same of what passes name, which may have dots in it: "attn.qkv". */
bool eti_declare_made(eti_parser *, char sign, const char *name, et_loc, int index);
/* Uses of a name whose declaration failed say nothing. */
void eti_poison(eti_parser *, char sign, const char *name, et_loc);
/* Its number; -1 after an error "there is no WHAT called ...". */
int eti_find(eti_parser *, char sign, const char *name, et_loc, const char *what);
/* Where a name was declared. */
et_loc eti_loc_of(const eti_parser *, char sign, const char *name);
bool eti_known(const eti_parser *, char sign, const char *name);

/* ---- model.c ---- */
/* A statement of its own begins: of whatever model. */
void eti_any_model(eti_parser *);
/* What is being read is of NAME's model, where nothing before has told. */
void eti_enter_model(eti_parser *, const char *name);
/* May a name be declared so? They begin with a model's where there are several, and only there. */
bool eti_check_model(eti_parser *, const char *name, et_loc);
/* Is NAME of the model of what is being read? Else an error. */
bool eti_of_this_model(eti_parser *, const char *name, et_loc);
void eti_part(eti_parser *);

/* ---- expr.c ---- */
/* No expression means an error was reported. */
et_expr eti_expr(eti_parser *, int may);
et_expr eti_expr_of(eti_parser *, int may, et_type, const char *what);
/* f32 or i32 */
et_expr eti_number(eti_parser *, int may, const char *what);
int eti_bind(eti_parser *, const char *name, et_loc, et_expr extent);
void eti_bind_var(eti_parser *, int var);
/* "name < extent" over symbols, entered into the scope; its variable or -1. CONSTANT: 1 to that. */
int eti_var(eti_parser *, int64_t constant);
/* "name < extent" where the extent may read MAY and what is in scope. */
int eti_var_over(eti_parser *, int may);
/* "[var, ...]"; how many. -1 after an error. */
int eti_vars(eti_parser *, int most, int *vars, int64_t constant);
bool eti_indices(eti_parser *, int may, int rank, et_expr *index, const char *what);
/* Is E surely from LO to HI at all times? Else an error at LOC. */
bool eti_in_bounds(eti_parser *, et_expr e, et_loc, int64_t lo, int64_t hi, const char *what);
bool eti_symbols_only(eti_parser *, et_expr e, et_loc, const char *what);

/* ---- tensor.c ---- */
void eti_shape(eti_parser *, et_shape *out_shape);
/* May a tensor, a WEIGHT or not, be of this type and shape? Else an error. */
bool eti_storable(eti_parser *, et_loc, const et_shape *, bool weight);
const void *eti_data(eti_parser *, const et_shape *);
/* "e in 0..8", after "each": what its tensors are stacked by, after the N loops. */
void eti_cut(eti_parser *, const et_shape *, bool weight, et_device_cut *out);
void eti_each(eti_parser *, const et_shape *, int *n, int loops[ET_MAX_LOOPS]);
void eti_tensor(eti_parser *);
/* [until EXPRESSION]: the iterations of a launch, MOST at most; MOST where nothing is said. */
et_expr eti_until(eti_parser *, int64_t most);
/* A loop declared so far, by label; -1 after an error. */
int eti_loop_named(eti_parser *);
/* The user's name in a label: what is before ".2". */
const char *eti_plain_name(eti_parser *, const char *label);

/* ---- the stages ---- */
void eti_graph_body(eti_parser *);
void eti_graph_end(eti_parser *);
/* How many attributes a node may have, and elements an attribute. */
enum { ETI_MAX_LIST = 16 };
/* One attribute of a node of OP, at the word that names it. */
void eti_attribute(eti_parser *, const et_op *op, et_attr *out);
/* Has a node the attributes that its operator reads without looking? Reports the first it lacks. */
bool eti_check_attrs(eti_parser *, const et_node *, int count, const et_attr *);
void eti_group(eti_parser *);
void eti_function(eti_parser *);
/* One of the words of KIND, after its name; 0 after an error. */
int eti_plan_word(eti_parser *, const char *name, et_plan_words kind);
void eti_step_contract(eti_parser *, et_step *);
void eti_step_attend(eti_parser *, et_step *);
void eti_step_scan(eti_parser *, et_step *);
/* An error at LOC where the step's variables have too many values together. */
void eti_check_total(eti_parser *, const et_step *, et_loc);
/* The state and the parts of a scan of a group or a step, over row I, NROWS variables ROWS and
 * element J. */
void eti_scan(eti_parser *, int i, int nrows, const int *rows, int j, et_place *state,
              et_expr part[ET_SC_PARTS]);
/* The plan of a MAP or REDUCE step, after the word. */
void eti_items_plan(eti_parser *, et_step *);
/* "NAME = expression" for the parts of an attention, those that must be there and others. VAR: its
 * variables, -1 for one that there is not; KEYS: what stands for the head in keys and values. */
void eti_attention(eti_parser *, const int var[ET_AT_VARS], int keys, int may,
                   et_expr part[ET_AT_PARTS]);
int eti_add_local(eti_parser *, const char *name, et_dtype, int rank, const int *dim);
/* "NAME = expression" */
et_expr eti_side(eti_parser *, const char *name, int may, et_type);
/* "%tensor[...]" or "$local[...]" that is written. */
bool eti_target(eti_parser *, int may, et_place *out);
/* Nothing that BODY, of a reduction at LOC over VAR, reduces depends on VAR; else an error. */
bool eti_check_nested(eti_parser *, int var, et_expr body, et_loc);
/* The local buffer of the function called NAME, or -1. Its rank is -1 when its declaration was
 * wrong. */
int eti_local(const eti_parser *, const char *name);
/* ---- event.c ---- */
void eti_event(eti_parser *);
void eti_wait(eti_parser *, et_grid *);
void eti_await(eti_parser *, et_grid *);
void eti_notify(eti_parser *, et_grid *);
/* Is E surely from 0 to MOST, and not always 0? Else an error at LOC. A task may have no tiles for
 * some values of the dims. */
bool eti_positive(eti_parser *, et_expr e, et_loc, int64_t most, const char *what);

void eti_schedule(eti_parser *);
et_hint eti_hint(eti_parser *);   /* [static | dynamic] */
et_share eti_range(eti_parser *); /* [range [from, to]] */
/* [slice NAME of K], NAME one of the N variables. */
et_slice eti_slice(eti_parser *, int n, const int *vars);
void eti_finish(eti_parser *);

#endif
