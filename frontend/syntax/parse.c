/* Statements, and recovery: after a syntax error the rest of the statement is skipped and what was
 * read of it is kept, so that one mistake gives one message. */
#include "frontend/syntax/parser.h"
#include "runtime/cli/guess.h"
#include <stdarg.h>
#include <string.h>

void et_parser_next(et_parser *p) {
    p->tok = et_lex(&p->lex);
}

bool et_parser_take(et_parser *p, et_tok_kind kind) {
    if (p->tok.kind != kind) return false;
    et_parser_next(p);
    return true;
}

void et_parser_error(et_parser *p, et_loc loc, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (!p->failed) et_diag(p->diags, ET_ERROR, loc, "%s", et_vprintf(p->arena, fmt, ap));
    va_end(ap);
    p->failed = true;
}

void et_parser_unexpected(et_parser *p, const char *expected) {
    const et_tok *t = &p->tok;
    bool quoted = t->kind >= ET_TOK_MODEL;
    if (t->kind == ET_TOK_BAD)
        p->failed = true;
    else if (t->kind == ET_TOK_NAME)
        et_parser_error(p, t->loc, "expected %s, found '%s'", expected, t->text);
    else
        et_parser_error(p, t->loc, "expected %s, found %s%s%s", expected, quoted ? "'" : "",
                        et_tok_text(t->kind), quoted ? "'" : "");
}

bool et_parser_expect(et_parser *p, et_tok_kind kind, const char *where) {
    if (et_parser_take(p, kind)) return true;
    const char *quote = kind >= ET_TOK_MODEL ? "'" : "";
    et_parser_unexpected(p,
                         et_printf(p->arena, "%s%s%s%s", quote, et_tok_text(kind), quote, where));
    return false;
}

/* ---- recovery ---- */

static bool at_end(const et_parser *p) {
    et_tok_kind k = p->tok.kind;
    return k == ET_TOK_NEWLINE || k == ET_TOK_SEMI || k == ET_TOK_EOF || k == ET_TOK_RBRACE;
}

/* Inside an unclosed bracket line ends do not show. There, a line that starts with a statement
 * keyword, or no further right than the broken statement did, is taken for the next statement. */
static bool at_next_statement(const et_parser *p, int col) {
    et_tok_kind k = p->tok.kind;
    if (k == ET_TOK_EOF || (k == ET_TOK_RBRACE && p->nesting > 0)) return true;
    if ((k == ET_TOK_NEWLINE || k == ET_TOK_SEMI) && p->lex.depth == 0) return true;
    if (!p->tok.first || k == ET_TOK_NEWLINE) return false;
    return et_tok_starts_statement(k) ||
           (p->tok.loc.col <= col && k != ET_TOK_RPAREN && k != ET_TOK_RBRACKET);
}

/* Skip to the next statement, or to ALSO outside brackets. Braces opened on the way are skipped
 * with their contents. */
static void skip(et_parser *p, int col, et_tok_kind also) {
    p->lex.quiet = true;
    for (int braces = 0;; et_parser_next(p)) {
        if (p->tok.kind == also && p->lex.depth == 0 && braces == 0) break;
        if (p->tok.kind == ET_TOK_RBRACE && braces > 0)
            braces--;
        else if (at_next_statement(p, col))
            break;
        braces += p->tok.kind == ET_TOK_LBRACE;
    }
    p->lex.depth = 0;
    p->lex.quiet = false;
}

/* ---- pieces ---- */

static bool take_name(et_parser *p, et_stm *s, const char *what) {
    if (p->tok.kind != ET_TOK_NAME) {
        et_parser_unexpected(p, what);
        if (et_tok_starts_statement(p->tok.kind) && !p->tok.first)
            et_diag(p->diags, ET_NOTE, p->tok.loc, "'%s' is a word of the language",
                    et_tok_text(p->tok.kind));
        return false;
    }
    if (s->nnames >= ET_MAX_ITEMS) {
        et_parser_error(p, p->tok.loc, "more than %d names", ET_MAX_ITEMS);
        return false;
    }
    ET_GROW(p->arena, s->names, s->nnames, s->cnames);
    s->names[s->nnames++] = (et_ident){p->tok.text, p->tok.loc};
    et_parser_next(p);
    return true;
}

/* What still looks like a declared name after a mistake in the list is taken for one. */
static void salvage_names(et_parser *p, et_stm *s) {
    while (!at_end(p) && p->tok.kind != ET_TOK_COLON && p->tok.kind != ET_TOK_ASSIGN)
        if (p->tok.kind != ET_TOK_NAME || !take_name(p, s, "")) et_parser_next(p);
}

static bool parse_type(et_parser *p, et_type_ast *type) {
    type->bad = true;
    if (p->tok.kind != ET_TOK_NAME) {
        et_parser_unexpected(p, "a type such as f32[N, 8]");
        return false;
    }
    type->dtype = (et_ident){p->tok.text, p->tok.loc};
    et_parser_next(p);
    if (p->tok.kind == ET_TOK_LBRACKET) {
        type->dims = et_parse_list(p);
        if (!type->dims) return false;
    }
    type->bad = false;
    return true;
}

static bool parse_bounds(et_parser *p, et_stm *s) {
    et_loc loc = p->tok.loc;
    bool value = p->tok.kind == ET_TOK_ASSIGN;
    if (!et_parser_expect(p, ET_TOK_IN, " and the bounds")) {
        if (value && s->kind == ET_ST_DIM)
            et_diag(
                p->diags, ET_NOTE, loc,
                "a dim has bounds, 'in 1..4', and is given its value at run time; a number that "
                "never changes is a const");
        return false;
    }
    s->lo = et_parse_expr(p);
    if (!s->lo || !et_parser_expect(p, ET_TOK_RANGE, " between the bounds")) return false;
    s->hi = et_parse_expr(p);
    return s->hi != NULL;
}

static et_stm *new_stm(et_parser *p, et_stm_kind kind, et_loc loc) {
    et_stm *s = et_alloc(p->arena, sizeof *s);
    s->kind = kind;
    s->loc = loc;
    if (kind == ET_ST_OUTPUT || kind == ET_ST_ASSIGN) {
        s->hint = p->hint;
        s->range = p->range;
        s->dynamic = p->dynamic;
        s->dynamic_loc = p->dynamic_loc;
        p->hint = p->range = NULL;
        p->dynamic = 0;
    }
    if (kind == ET_ST_WEIGHT) {
        s->split = p->split;
        p->split = NULL;
    }
    return s;
}

static void append(et_parser *p, et_program_ast *out, et_stm *s) {
    s->bad |= p->failed;
    if (p->nstm++ == ET_MAX_STMTS) {
        et_parser_error(p, s->loc, "more than %d statements", ET_MAX_STMTS);
        p->stop = true;
    }
    if (p->stop) return;
    ET_GROW(p->arena, out->stm, out->n, out->cap);
    out->stm[out->n++] = s;
}

/* ---- statements; each leaves p->failed set when it could not read all of itself ---- */

static void parse_model(et_parser *p, et_stm *s, et_program_ast *out) {
    take_name(p, s, "the model's name");
    append(p, out, s);
}

/* NAME in lo..hi or NAME = value, several with commas between; each becomes a statement. */
static void parse_pairs(et_parser *p, et_stm *s, et_program_ast *out) {
    bool any_failed = false;
    et_stm_kind kind = s->kind;
    int col = s->loc.col;
    do {
        s = new_stm(p, kind, p->tok.loc);
        if (!take_name(p, s, "a name")) break;
        if (kind == ET_ST_DIM)
            parse_bounds(p, s);
        else if (et_parser_expect(p, ET_TOK_ASSIGN, " and the value"))
            s->expr = et_parse_expr(p);
        append(p, out, s);
        if (p->failed) {
            any_failed = true;
            if (p->tok.kind != ET_TOK_COMMA) skip(p, col, ET_TOK_COMMA);
            if (p->tok.kind == ET_TOK_COMMA) p->failed = false;
        }
    } while (et_parser_take(p, ET_TOK_COMMA));
    p->failed |= any_failed;
}

static void parse_declaration(et_parser *p, et_stm *s, et_program_ast *out) {
    bool ok = true;
    do
        ok = take_name(p, s, "a name");
    while (ok && et_parser_take(p, ET_TOK_COMMA));
    if (ok && p->tok.kind != ET_TOK_COLON) {
        et_parser_unexpected(p, "',' or ':' and a type");
        ok = false;
    }
    if (!ok) salvage_names(p, s);
    if (ok) {
        et_parser_next(p);
        ok = parse_type(p, &s->type);
    }
    if (ok && p->tok.kind == ET_TOK_ASSIGN) {
        if (s->kind != ET_ST_WEIGHT) {
            et_parser_error(p, p->tok.loc, "%s is given its value at run time, not here",
                            s->kind == ET_ST_INPUT ? "an input" : "a state");
        } else {
            et_parser_next(p);
            s->source = p->tok.text;
            s->source_loc = p->tok.loc;
            if (!et_parser_take(p, ET_TOK_STRING))
                et_parser_unexpected(p, "the weight's name in the checkpoint, in quotes");
        }
    }
    append(p, out, s);
}

static void parse_def(et_parser *p, et_stm *s, et_program_ast *out) {
    if (take_name(p, s, "the function's name") && et_parser_expect(p, ET_TOK_LPAREN, "")) {
        et_stm params = {0};
        while (p->tok.kind != ET_TOK_RPAREN && take_name(p, &params, "a parameter"))
            if (!et_parser_take(p, ET_TOK_COMMA)) break;
        s->params = params.names;
        s->nparams = params.nnames;
        if (!p->failed && et_parser_expect(p, ET_TOK_RPAREN, " after the parameters") &&
            et_parser_expect(p, ET_TOK_ASSIGN, " and the function's value"))
            s->expr = et_parse_expr(p);
    }
    append(p, out, s);
}

static void parse_output(et_parser *p, et_stm *s, et_program_ast *out) {
    if (take_name(p, s, "the output's name") &&
        (!et_parser_take(p, ET_TOK_COLON) || parse_type(p, &s->type))) {
        if (at_end(p))
            et_parser_error(p, s->names[0].loc, "output '%s' is never given a value",
                            s->names[0].text),
                et_diag(p->diags, ET_NOTE, s->names[0].loc, "write output %s : TYPE = EXPRESSION",
                        s->names[0].text);
        else if (et_parser_expect(p, ET_TOK_ASSIGN, " and the output's value"))
            s->expr = et_parse_expr(p);
    }
    append(p, out, s);
}

static void parse_statement(et_parser *p, et_program_ast *out);

/* Where a block whose '}' is missing most likely ends: without a '{' at the first line that is not
 * indented below the loop, with one at such a line that cannot be in a loop. */
static bool block_is_over(const et_parser *p, int col, bool opened) {
    et_tok_kind k = p->tok.kind;
    if (!p->tok.first || p->tok.loc.col > col || k == ET_TOK_NEWLINE) return false;
    return !opened || (et_tok_starts_statement(k) && k != ET_TOK_FOR && k != ET_TOK_WEIGHT);
}

static void parse_block(et_parser *p, et_stm *s, et_loc open, bool opened) {
    et_program_ast body = {0};
    p->nesting++;
    while (p->tok.kind != ET_TOK_RBRACE && p->tok.kind != ET_TOK_EOF && !p->stop &&
           !block_is_over(p, s->loc.col, opened))
        parse_statement(p, &body);
    p->nesting--;
    s->body = body.stm;
    s->nbody = body.n;
    p->failed = !opened;
    if (p->stop || et_parser_take(p, ET_TOK_RBRACE)) return;
    et_parser_error(p, p->tok.loc, "expected '}' to end the loop");
    if (opened) et_diag(p->diags, ET_NOTE, open, "the loop was opened here");
}

static void parse_for(et_parser *p, et_stm *s, et_program_ast *out) {
    bool ok = take_name(p, s, "the loop variable") && parse_bounds(p, s);
    while (ok && p->tok.kind == ET_TOK_NEWLINE)
        et_parser_next(p);
    if (ok && p->tok.kind != ET_TOK_LBRACE) et_parser_unexpected(p, "'{' and the loop's body");
    if (!ok && p->tok.kind != ET_TOK_LBRACE) skip(p, s->loc.col, ET_TOK_LBRACE);
    bool opened = p->tok.kind == ET_TOK_LBRACE;
    if (opened && p->nesting >= ET_MAX_NESTING) {
        et_parser_error(p, p->tok.loc, "loops nested more than %d deep", ET_MAX_NESTING);
        p->stop = true;
    }
    append(p, out, s);
    if (p->stop || (!opened && (!ok || !p->tok.first))) return;
    et_loc open = p->tok.loc;
    if (opened) et_parser_next(p);
    parse_block(p, s, open, opened);
}

/* A name where a keyword could stand: a misspelt keyword when another name follows it. */
static et_tok_kind misspelt(et_parser *p, const et_ast *e) {
    if (e->kind != ET_E_NAME || p->tok.kind != ET_TOK_NAME) return ET_TOK_NAME;
    et_guess g = {.name = e->text};
    et_tok_kind found = ET_TOK_NAME;
    for (int k = ET_TOK_MODEL; k <= ET_TOK_OUTPUT; k++) {
        const char *before = g.best;
        et_guess_try(&g, et_tok_text((et_tok_kind)k));
        if (g.best != before) found = (et_tok_kind)k;
    }
    et_parser_error(p, e->loc, "'%s' does not start a statement", e->text);
    if (g.best) et_diag(p->diags, ET_NOTE, e->loc, "did you mean '%s'?", g.best);
    return found;
}

static void parse_keyword(et_parser *p, et_tok_kind k, et_loc loc, et_program_ast *out);

static void parse_assign(et_parser *p, et_program_ast *out) {
    et_stm *s = new_stm(p, ET_ST_ASSIGN, p->tok.loc);
    et_ast *left = et_parse_postfix(p);
    if (left) {
        et_tok_kind k = misspelt(p, left);
        if (k != ET_TOK_NAME) {
            parse_keyword(p, k, left->loc, out);
            return;
        }
    }
    const et_ast *name = left && left->kind == ET_E_INDEX ? left->kid[0] : left;
    if (name && name->kind == ET_E_NAME) {
        ET_GROW(p->arena, s->names, s->nnames, s->cnames);
        s->names[s->nnames++] = (et_ident){name->text, name->loc};
        s->target = left == name ? NULL : left;
        while (left == name && et_parser_take(p, ET_TOK_COMMA) && take_name(p, s, "a name")) {
        }
        if (p->tok.kind == ET_TOK_COLON)
            et_parser_error(p, p->tok.loc,
                            "only inputs, weights, states and outputs are declared with a type");
        else if (et_parser_expect(p, ET_TOK_ASSIGN, " and a value"))
            s->expr = et_parse_expr(p);
    } else if (left) {
        et_parser_error(p, left->loc, "a statement must declare or assign something");
        et_diag(p->diags, ET_NOTE, left->loc, "write NAME = ...");
    }
    if (s->nnames) append(p, out, s);
}

static void parse_keyword(et_parser *p, et_tok_kind k, et_loc loc, et_program_ast *out) {
    static const struct {
        et_stm_kind kind;
        void (*parse)(et_parser *, et_stm *, et_program_ast *);
    } row[] = {
        {ET_ST_MODEL, parse_model},
        {ET_ST_DIM, parse_pairs},
        {ET_ST_CONST, parse_pairs},
        {ET_ST_INPUT, parse_declaration},
        {ET_ST_WEIGHT, parse_declaration},
        {ET_ST_STATE, parse_declaration},
        {ET_ST_DEF, parse_def},
        {ET_ST_FOR, parse_for},
        {ET_ST_OUTPUT, parse_output},
    };
    int i = (int)k - ET_TOK_MODEL;
    row[i].parse(p, new_stm(p, row[i].kind, loc), out);
}

/* A hint that looks like a call, to *OUT. */
static void parse_call(et_parser *p, const char *instead, et_ast **out) {
    et_loc loc = p->tok.loc;
    et_ast *hint = et_parse_postfix(p);
    if (!hint) return;
    if (hint->kind != ET_E_CALL || hint->nkw || !hint->n)
        et_parser_error(p, loc, "write %s", instead);
    else
        *out = hint;
}

/* @tile(64, 256), @range(0.5), @split(0, 2), @static, @dynamic, on the line of the statement or
 * before it. */
static void parse_hints(et_parser *p) {
    et_loc loc = p->tok.loc;
    while (!p->failed && et_parser_take(p, ET_TOK_AT)) {
        loc = p->tok.loc;
        bool named = p->tok.kind == ET_TOK_NAME;
        bool fixed = named && strcmp(p->tok.text, "static") == 0;
        if (fixed || (named && strcmp(p->tok.text, "dynamic") == 0)) {
            p->dynamic = fixed ? -1 : 1;
            p->dynamic_loc = loc;
            et_parser_next(p);
        } else if (named && strcmp(p->tok.text, "tile") == 0) {
            parse_call(p, "@tile(64, 256): elements per tile along each dimension", &p->hint);
        } else if (named && strcmp(p->tok.text, "range") == 0) {
            parse_call(p, "@range(0.5) or @range(0.25, 0.75): the part of the GPU", &p->range);
        } else if (named && strcmp(p->tok.text, "split") == 0) {
            parse_call(p, "@split(0, 2): the axis, and into how many parts", &p->split);
        } else {
            et_parser_unexpected(
                p, "the hint 'tile(...)', 'range(...)', 'split(...)', 'static' or 'dynamic'");
        }
        while (!p->failed && p->tok.kind == ET_TOK_NEWLINE)
            et_parser_next(p);
    }
    if (p->failed) return;
    bool others = p->hint || p->range || p->dynamic;
    if (p->split && (others || p->tok.kind != ET_TOK_WEIGHT))
        et_parser_error(p, loc, "@split comes before a weight, and nothing else does there");
    else if (!p->split && p->tok.kind != ET_TOK_NAME && p->tok.kind != ET_TOK_OUTPUT)
        et_parser_error(p, loc, "a hint comes before the value it is for: NAME = ... or output");
}

static void parse_statement(et_parser *p, et_program_ast *out) {
    et_tok t = p->tok;
    p->failed = false;
    p->hint = p->range = p->split = NULL;
    p->dynamic = 0;
    if (t.kind == ET_TOK_AT) {
        parse_hints(p);
        if (p->failed) {
            skip(p, t.loc.col, ET_TOK_EOF);
            return;
        }
        t = p->tok;
    }
    if (t.kind == ET_TOK_NEWLINE || t.kind == ET_TOK_SEMI) {
        et_parser_next(p);
        return;
    }
    if (et_tok_starts_statement(t.kind)) {
        et_parser_next(p);
        parse_keyword(p, t.kind, t.loc, out);
    } else if (t.kind == ET_TOK_NAME) {
        parse_assign(p, out);
    } else if (t.kind == ET_TOK_RBRACE) {
        et_parser_error(p, t.loc, "'}' without its '{'");
        et_parser_next(p);
    } else {
        et_parser_unexpected(p, "a statement");
        et_parser_next(p);
    }
    if (!p->failed && !at_end(p)) et_parser_unexpected(p, "the end of the statement");
    if (p->failed) skip(p, t.loc.col, ET_TOK_EOF);
    if (et_diag_errors(p->diags) >= ET_MAX_ERRORS) p->stop = true;
}

et_program_ast et_parse_text(et_arena *arena, et_diags *diags, int file, const char *text,
                             size_t bytes) {
    et_parser p = {.arena = arena, .diags = diags};
    et_program_ast out = {0};
    et_lex_init(&p.lex, arena, diags, file, text, bytes);
    et_parser_next(&p);
    while (p.tok.kind != ET_TOK_EOF && !p.stop)
        parse_statement(&p, &out);
    return out;
}
