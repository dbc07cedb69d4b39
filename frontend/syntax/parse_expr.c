/* Expressions, by precedence: or, and, not, comparison, + -, * / @, unary -, postfix. */
#include "frontend/syntax/parser.h"
#include <string.h>

static et_ast *node(et_parser *p, et_ast_kind kind, et_loc loc) {
    et_ast *e = et_alloc(p->arena, sizeof *e);
    e->kind = kind;
    e->loc = loc;
    e->depth = 1;
    return e;
}

/* Chains such as a + a + a grow deep without recursion here; what walks the tree recurses. */
static et_ast *add_kid(et_parser *p, et_ast *e, et_ast *kid) {
    ET_GROW(p->arena, e->kid, e->n, e->cap);
    e->kid[e->n++] = kid;
    if (kid && kid->depth >= e->depth) e->depth = kid->depth + 1;
    if (e->depth > ET_MAX_DEPTH) {
        et_parser_error(p, e->loc, "expression nested more than %d levels deep", ET_MAX_DEPTH);
        et_diag(p->diags, ET_NOTE, e->loc, "give a part of it a name in a statement of its own");
        return NULL;
    }
    return e;
}

static bool room(et_parser *p, int n, et_loc loc) {
    if (n < ET_MAX_ITEMS) return true;
    et_parser_error(p, loc, "more than %d items", ET_MAX_ITEMS);
    return false;
}

static bool closed(et_parser *p, et_tok_kind close, et_loc open) {
    if (et_parser_take(p, close)) return true;
    bool reported = p->tok.kind == ET_TOK_BAD;
    et_parser_unexpected(p, close == ET_TOK_RPAREN ? "',' or ')'" : "',' or ']'");
    if (!reported && p->tok.loc.line != open.line)
        et_diag(p->diags, ET_NOTE, open, "the bracket was opened here");
    return false;
}

static et_ast *binary(et_parser *p, int level);

et_ast *et_parse_expr(et_parser *p) {
    if (p->depth >= ET_MAX_DEPTH) {
        et_parser_error(p, p->tok.loc, "expression nested more than %d levels deep", ET_MAX_DEPTH);
        return NULL;
    }
    p->depth++;
    et_ast *e = binary(p, 0);
    p->depth--;
    return e;
}

/* NAME in lo..hi */
static et_ast *range(et_parser *p, const et_ast *name) {
    et_ast *e = node(p, ET_E_RANGE, name->loc), *lo, *hi;
    e->text = name->text;
    et_parser_next(p);
    lo = et_parse_expr(p);
    if (!lo || !add_kid(p, e, lo) || !et_parser_expect(p, ET_TOK_RANGE, " between the bounds"))
        return NULL;
    hi = et_parse_expr(p);
    return hi && add_kid(p, e, hi) ? e : NULL;
}

et_ast *et_parse_list(et_parser *p) {
    et_loc open = p->tok.loc;
    if (!et_parser_expect(p, ET_TOK_LBRACKET, "")) return NULL;
    et_ast *list = node(p, ET_E_LIST, open);
    while (p->tok.kind != ET_TOK_RBRACKET) {
        if (!room(p, list->n, p->tok.loc)) return NULL;
        et_ast *e = et_parse_expr(p);
        if (e && e->kind == ET_E_NAME && p->tok.kind == ET_TOK_IN) e = range(p, e);
        if (!e || !add_kid(p, list, e)) return NULL;
        if (!et_parser_take(p, ET_TOK_COMMA)) break;
    }
    return closed(p, ET_TOK_RBRACKET, open) ? list : NULL;
}

static bool keyword_argument(et_parser *p, et_ast *call, const et_ast *name) {
    if (!room(p, call->nkw, name->loc)) return false;
    et_parser_next(p);
    et_ast *value = et_parse_expr(p);
    if (!value) return false;
    ET_GROW(p->arena, call->kw, call->nkw, call->ckw);
    call->kw[call->nkw++] = (et_kwarg){{name->text, name->loc}, value};
    if (value->depth >= call->depth) call->depth = value->depth + 1;
    return true;
}

static et_ast *call(et_parser *p, const et_ast *name) {
    et_loc open = p->tok.loc;
    et_ast *e = node(p, ET_E_CALL, name->loc);
    e->text = name->text;
    et_parser_next(p);
    while (p->tok.kind != ET_TOK_RPAREN) {
        if (!room(p, e->n, p->tok.loc)) return NULL;
        et_ast *arg = et_parse_expr(p);
        if (!arg) return NULL;
        if (arg->kind == ET_E_NAME && p->tok.kind == ET_TOK_IN) arg = range(p, arg);
        if (!arg) return NULL;
        if (arg->kind == ET_E_NAME && p->tok.kind == ET_TOK_ASSIGN) {
            if (!keyword_argument(p, e, arg)) return NULL;
        } else if (e->nkw) {
            et_parser_error(p, arg->loc, "positional argument after a keyword argument");
            return NULL;
        } else if (!add_kid(p, e, arg)) {
            return NULL;
        }
        if (!et_parser_take(p, ET_TOK_COMMA)) break;
    }
    return closed(p, ET_TOK_RPAREN, open) ? e : NULL;
}

static et_ast *index_item(et_parser *p) {
    et_loc loc = p->tok.loc;
    et_ast *lo = NULL, *hi = NULL, *step = NULL;
    if (p->tok.kind != ET_TOK_COLON) {
        lo = et_parse_expr(p);
        if (!lo || p->tok.kind != ET_TOK_COLON) return lo;
        loc = p->tok.loc;
    }
    et_parser_next(p);
    if (p->tok.kind != ET_TOK_COMMA && p->tok.kind != ET_TOK_RBRACKET &&
        p->tok.kind != ET_TOK_COLON) {
        hi = et_parse_expr(p);
        if (!hi) return NULL;
    }
    if (et_parser_take(p, ET_TOK_COLON)) {
        step = et_parse_expr(p);
        if (!step) return NULL;
    }
    et_ast *slice = node(p, ET_E_SLICE, loc);
    slice = add_kid(p, slice, lo);
    if (slice) slice = add_kid(p, slice, hi);
    return slice ? add_kid(p, slice, step) : NULL;
}

static et_ast *subscript(et_parser *p, et_ast *base) {
    et_loc open = p->tok.loc;
    et_ast *e = add_kid(p, node(p, ET_E_INDEX, open), base);
    et_parser_next(p);
    while (e && p->tok.kind != ET_TOK_RBRACKET) {
        if (!room(p, e->n, p->tok.loc)) return NULL;
        et_ast *item = index_item(p);
        if (!item) return NULL;
        e = add_kid(p, e, item);
        if (!et_parser_take(p, ET_TOK_COMMA)) break;
    }
    return e && closed(p, ET_TOK_RBRACKET, open) ? e : NULL;
}

static et_ast *primary(et_parser *p) {
    et_tok t = p->tok;
    et_ast *e;
    switch (t.kind) {
    case ET_TOK_INT:
        e = node(p, ET_E_INT, t.loc);
        e->i = t.i;
        break;
    case ET_TOK_FLOAT:
        e = node(p, ET_E_FLOAT, t.loc);
        e->f = t.f;
        break;
    case ET_TOK_STRING:
        e = node(p, ET_E_STRING, t.loc);
        e->text = t.text;
        break;
    case ET_TOK_NAME:
        e = node(p, ET_E_NAME, t.loc);
        e->text = t.text;
        et_parser_next(p);
        return p->tok.kind == ET_TOK_LPAREN ? call(p, e) : e;
    case ET_TOK_LBRACKET:
        return et_parse_list(p);
    case ET_TOK_LPAREN:
        et_parser_next(p);
        e = et_parse_expr(p);
        return e && closed(p, ET_TOK_RPAREN, t.loc) ? e : NULL;
    default:
        et_parser_unexpected(p, "an expression");
        if (t.kind == ET_TOK_STAR)
            et_diag(p->diags, ET_NOTE, t.loc, "a power is pow(x, y), or x * x");
        if (t.kind == ET_TOK_DIM) et_diag(p->diags, ET_NOTE, t.loc, "the option is 'axis'");
        return NULL;
    }
    et_parser_next(p);
    return e;
}

static et_ast *transposed(et_parser *p, et_ast *base) {
    et_parser_next(p);
    if (p->tok.kind != ET_TOK_NAME || strcmp(p->tok.text, "T") != 0) {
        et_parser_unexpected(p, "'T' after '.'");
        return NULL;
    }
    et_ast *e = add_kid(p, node(p, ET_E_TRANSPOSE, p->tok.loc), base);
    et_parser_next(p);
    return e;
}

et_ast *et_parse_postfix(et_parser *p) {
    et_ast *e = primary(p);
    while (e) {
        if (p->tok.kind == ET_TOK_LBRACKET) {
            e = subscript(p, e);
        } else if (p->tok.kind == ET_TOK_DOT) {
            e = transposed(p, e);
        } else if (p->tok.kind == ET_TOK_LPAREN) {
            et_parser_error(p, p->tok.loc, "only a function can be called");
            return NULL;
        } else {
            return e;
        }
    }
    return NULL;
}

enum { LEVEL_NOT = 2, LEVEL_COMPARE = 3 };

static int level_of(et_tok_kind k) {
    switch (k) {
    case ET_TOK_OR:
        return 0;
    case ET_TOK_AND:
        return 1;
    case ET_TOK_EQ:
    case ET_TOK_NE:
    case ET_TOK_LT:
    case ET_TOK_LE:
    case ET_TOK_GT:
    case ET_TOK_GE:
        return LEVEL_COMPARE;
    case ET_TOK_PLUS:
    case ET_TOK_MINUS:
        return 4;
    case ET_TOK_STAR:
    case ET_TOK_SLASH:
    case ET_TOK_AT:
        return 5;
    default:
        return -1;
    }
}

/* `not` takes a comparison, `-` the tightest operand there is. */
static et_ast *prefixed(et_parser *p) {
    et_ast *e = node(p, ET_E_UNARY, p->tok.loc);
    e->op = p->tok.kind;
    if (p->depth >= ET_MAX_DEPTH) {
        et_parser_error(p, p->tok.loc, "expression nested more than %d levels deep", ET_MAX_DEPTH);
        return NULL;
    }
    et_parser_next(p);
    p->depth++;
    et_ast *kid = e->op == ET_TOK_NOT           ? binary(p, LEVEL_NOT)
                  : p->tok.kind == ET_TOK_MINUS ? prefixed(p)
                                                : et_parse_postfix(p);
    p->depth--;
    return kid ? add_kid(p, e, kid) : NULL;
}

/* A run of operators of LEVEL and above, left to right. */
static et_ast *binary(et_parser *p, int level) {
    bool is_prefix =
        p->tok.kind == ET_TOK_MINUS || (p->tok.kind == ET_TOK_NOT && level <= LEVEL_NOT);
    et_ast *left = is_prefix ? prefixed(p) : et_parse_postfix(p);
    bool compared = false;
    while (left) {
        int l = level_of(p->tok.kind);
        if (l < level) return left;
        if (l == LEVEL_COMPARE && compared) {
            et_parser_error(p, p->tok.loc, "comparisons do not chain");
            et_diag(p->diags, ET_NOTE, p->tok.loc, "write a < b and b < c");
            return NULL;
        }
        compared = l == LEVEL_COMPARE;
        et_ast *e = node(p, ET_E_BINARY, p->tok.loc);
        e->op = p->tok.kind;
        et_parser_next(p);
        e = add_kid(p, e, left);
        et_ast *right = e ? binary(p, l + 1) : NULL;
        left = right ? add_kid(p, e, right) : NULL;
    }
    return NULL;
}
