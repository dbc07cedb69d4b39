/* value.h - what a template computes with: Python's values, as far as templates see them.
 *
 * Values live in the arena of one rendering, or of the parsed template where they are literals;
 * nothing is freed before its end. Strings borrow: from the JSON given, from literals, from one
 * another. */
#ifndef LLM_TEMPLATE_VALUE_H
#define LLM_TEMPLATE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct jt_vm jt_vm;

/* Where something stands in the text of a template, from 1; the column in characters. */
typedef struct {
    int line, column;
} jt_place;

typedef enum {
    JT_ABSENT, /* no value at all: an argument that was left out, a key that is not there */
    JT_UNDEFINED,
    JT_NONE,
    JT_BOOL,
    JT_INT,
    JT_FLOAT,
    JT_STR,
    JT_LIST,
    JT_TUPLE,
    JT_DICT,
    JT_RANGE,
    JT_ITER, /* what map, select and reversed give: can be gone through once */
    JT_VIEW, /* of a dict: keys(), values(), items() */
    JT_NAMESPACE,
    JT_LOOP,
    JT_MACRO,
    JT_FUNCTION, /* a function, or a method with its object */
    JT_CYCLER,
    JT_JOINER,
} jt_kind;

enum { JT_CHARS_UNKNOWN = -1 };

typedef struct {
    const char *p; /* UTF-8, not ended by 0 */
    size_t n;      /* bytes */
    int64_t chars; /* code points, or JT_CHARS_UNKNOWN */
    bool markup;   /* marked safe: what is added to it gets escaped */
    bool digits;   /* an integer beyond 64 bits, which JSON has without quotes */
} jt_str;

typedef struct jt_list jt_list;
typedef struct jt_dict jt_dict;

typedef struct {
    int64_t start, stop, step, count;
} jt_range;

typedef struct {
    enum { JT_KEYS, JT_VALUES, JT_ITEMS } what;
    jt_dict *dict;
} jt_view;

typedef struct {
    const char *hint; /* the message; NULL: made of NAME and TYPE */
    const char *type; /* of the object that has no NAME; NULL: a variable */
    const jt_str *name;
} jt_undefined;

typedef struct {
    jt_kind kind;
    union {
        bool b;
        int64_t i;
        double f;
        jt_str *s;
        jt_list *l; /* list, tuple; of a JT_ITER too */
        jt_dict *d; /* dict, namespace */
        jt_range *range;
        jt_view *view;
        jt_undefined *undefined; /* may be NULL */
        struct jt_loop *loop;
        struct jt_macro *macro;
        struct jt_function *function;
        struct jt_cycler *cycler;
        struct jt_joiner *joiner;
    };
} jt_value;

struct jt_list {
    jt_value *at;
    size_t n, cap;
    /* Of a JT_ITER: how many were gone through, and what makes them when the first is wanted. */
    size_t taken;
    struct jt_pending *pending; /* NULL: they are made */
};

/* The beginning of what knows how to make the items of a JT_ITER. */
struct jt_pending {
    void (*make)(jt_vm *, struct jt_pending *, jt_list *out);
};

typedef struct {
    jt_value key, value;
    uint64_t hash;
} jt_entry;

/* In the order of insertion. */
struct jt_dict {
    jt_entry *at;
    size_t n, cap;
    uint32_t *index; /* 1 + the number of an entry, by hash; NULL while there are few */
    size_t mask;
};

/* Going through a value. */
typedef struct {
    jt_value of;
    size_t at, bytes;
} jt_walk;

struct jt_node;
struct jt_nodes;
struct jt_params;
struct jt_frame;

struct jt_loop {
    const struct jt_node *node;
    struct jt_frame *frame; /* around the loop, for recursive calls */
    jt_list *items;         /* that were taken from WALK so far; all of them when it is DONE */
    jt_walk walk;
    bool done;
    size_t index0;
    int depth0;
    jt_list *changed; /* what loop.changed() was given last; NULL: it was not called */
};

struct jt_macro {
    const jt_str *name; /* NULL: the body of a call block */
    const struct jt_params *params;
    const struct jt_nodes *body;
    struct jt_frame *frame;
};

struct jt_cycler {
    jt_list *items;
    size_t at;
};

struct jt_joiner {
    jt_str *with;
    bool used;
};

/* Operators of two operands. */
typedef enum {
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_FLOORDIV,
    OP_MOD,
    OP_POW,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_IN,
    OP_NOT_IN,
} jt_op;

static inline jt_value jt_none(void) {
    return (jt_value){.kind = JT_NONE};
}
static inline jt_value jt_bool(bool b) {
    return (jt_value){.kind = JT_BOOL, .b = b};
}
static inline jt_value jt_int(int64_t i) {
    return (jt_value){.kind = JT_INT, .i = i};
}
static inline jt_value jt_float(double f) {
    return (jt_value){.kind = JT_FLOAT, .f = f};
}
static inline jt_value jt_of_str(jt_str *s) {
    return (jt_value){.kind = JT_STR, .s = s};
}
static inline jt_value jt_of_list(jt_list *l) {
    return (jt_value){.kind = JT_LIST, .l = l};
}
static inline jt_value jt_of_tuple(jt_list *l) {
    return (jt_value){.kind = JT_TUPLE, .l = l};
}
static inline jt_value jt_of_iter(jt_list *l) {
    return (jt_value){.kind = JT_ITER, .l = l};
}
static inline jt_value jt_of_dict(jt_dict *d) {
    return (jt_value){.kind = JT_DICT, .d = d};
}
static inline bool jt_absent(jt_value v) {
    return v.kind == JT_ABSENT;
}
static inline bool jt_is(jt_value v, jt_kind kind) {
    return v.kind == kind;
}

/* Functions that take a jt_vm end the rendering with an error rather than return one. */

jt_str *jt_str_of(jt_vm *, const char *p, size_t n); /* borrows P */
jt_value jt_text(jt_vm *, const char *p, size_t n);  /* borrows P */
jt_value jt_word(jt_vm *, const char *p);            /* borrows P, ended by 0 */
int64_t jt_chars(jt_str *);                          /* code points */

jt_list *jt_list_new(jt_vm *, size_t cap);
void jt_list_add(jt_vm *, jt_list *, jt_value);
jt_value jt_pair(jt_vm *, jt_value, jt_value); /* a tuple of both */

jt_dict *jt_dict_new(jt_vm *);
void jt_dict_set(jt_vm *, jt_dict *, jt_value key, jt_value); /* KEY must be hashable */
jt_value jt_dict_get(jt_vm *, const jt_dict *, jt_value key); /* JT_ABSENT: not there */
jt_value jt_dict_find(jt_vm *, const jt_dict *, const char *key, size_t n);
bool jt_hashable(jt_value);

jt_value jt_missing(jt_vm *, const char *hint); /* an undefined value; HINT is kept */
_Noreturn void jt_fail_undefined(jt_vm *, jt_value);

bool jt_true(jt_vm *, jt_value);
bool jt_equal(jt_vm *, jt_value, jt_value);
/* -1, 0, 1; fails for what Python cannot order. OP is what the message calls it. */
int jt_order(jt_vm *, jt_value, jt_value, const char *op);
bool jt_same(jt_value, jt_value); /* Python's `is` */
bool jt_number(jt_value, double *out);
bool jt_integer(jt_value, int64_t *out); /* int or bool */
const char *jt_type_name(jt_value);      /* as Python calls it */

/* Python's iter(). Fails for what is not iterable. */
jt_walk jt_walk_of(jt_vm *, jt_value);
bool jt_walk_next(jt_vm *, jt_walk *, jt_value *out);
bool jt_iterable(jt_value);
bool jt_length(jt_value, int64_t *out);                    /* Python's len(); false: it has none */
jt_list *jt_to_list(jt_vm *, jt_value);                    /* a new list of what is in it */
jt_value jt_at(jt_vm *, jt_value sequence, int64_t index); /* 0 <= INDEX < its length */
/* Sorts N items by their keys, both in place; equal ones keep their order. */
void jt_sort(jt_vm *, jt_value *items, jt_value *keys, size_t n, bool reverse);

#endif
