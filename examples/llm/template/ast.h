/* ast.h - a parsed template. Nothing of it changes after parsing. */
#ifndef LLM_TEMPLATE_AST_H
#define LLM_TEMPLATE_AST_H

#include "examples/llm/template/template.h"
#include "examples/llm/template/value/arena.h"
#include "examples/llm/template/value/value.h"

typedef enum {
    /* expressions */
    N_CONST,   /* value */
    N_NAME,    /* name */
    N_INPUT,   /* what a filter block applies its filters to */
    N_LIST,    /* items */
    N_TUPLE,   /* items */
    N_DICT,    /* items: keys, more: values */
    N_CONCAT,  /* items */
    N_BINARY,  /* op, a, b */
    N_NEGATE,  /* a */
    N_PLUS,    /* a */
    N_AND,     /* a, b */
    N_OR,      /* a, b */
    N_NOT,     /* a */
    N_COMPARE, /* a, items: N_OPERAND each */
    N_OPERAND, /* op, a */
    N_COND,    /* a if b else c; c may be NULL */
    N_ATTR,    /* a, name */
    N_ITEM,    /* a, b */
    N_SLICE,   /* a, b:c:d, each of the three may be NULL */
    N_FILTER,  /* a, name, args, builtin */
    N_TEST,    /* a, name, args, builtin */
    N_CALL,    /* a, args */
    /* statements; bodies are lists of them */
    N_TEXT,         /* value */
    N_PRINT,        /* items */
    N_IF,           /* a, items, more: else */
    N_FOR,          /* for a in b if c, items, more: else; flag: recursive */
    N_SET,          /* a: target, b */
    N_SET_BLOCK,    /* a: target, b: filters or NULL, items */
    N_SET_TARGET,   /* name, of a namespace: attr */
    N_MACRO,        /* name, items, params */
    N_CALL_BLOCK,   /* a: the call, items, params */
    N_FILTER_BLOCK, /* b: filters, items */
    N_WITH,         /* targets, more: values, items */
    N_SCOPE,        /* items */
    N_BREAK,
    N_CONTINUE,
} jt_node_kind;

typedef struct jt_node jt_node;

typedef struct jt_nodes {
    jt_node **at;
    uint32_t n, cap;
} jt_nodes;

/* The arguments of a call as they are written. */
typedef struct {
    jt_nodes positional, named;
    jt_str **names; /* of NAMED */
    jt_node *star, *star_star;
} jt_call_args;

/* What a macro takes. */
typedef struct jt_params {
    jt_nodes names;                    /* N_SET_TARGET each */
    jt_nodes defaults;                 /* of the last of them */
    jt_str *caller, *varargs, *kwargs; /* their names, where the body has them */
} jt_params;

struct jt_node {
    jt_node_kind kind;
    jt_op op;
    jt_place place;
    bool flag;
    jt_node *a, *b, *c, *d;
    jt_nodes items, more, targets;
    jt_str *name, *attr;
    jt_value value;
    jt_call_args *args;
    jt_params *params;
    const struct jt_builtin *builtin;
};

struct lm_template {
    jt_arena arena;
    jt_nodes body;
};

/* A name is one string in all of a template, so that names are compared by their address. */

#endif
