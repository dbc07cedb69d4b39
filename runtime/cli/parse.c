/* A command line into the options of a tool. */
#include "runtime/cli/cli.h"
#include "runtime/cli/guess.h"
#include "runtime/files/output.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { GO_ON = CLI_GO_ON, FORM = 256, MAX_ROWS = 128 };

typedef struct {
    const cli_tool *tool;
    char **next, **end; /* arguments that are left */
    void *options;
    bool given[MAX_ROWS]; /* rows of the tool's table */
    int command;          /* index, or -1 */
    int nrest;
} parser;

int cli_wrong(const cli_tool *tool, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "%s: ", tool->name);
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\nTry '%s --help'.\n", tool->name);
    va_end(ap);
    return 2;
}

static int no_memory(const parser *p) {
    fprintf(stderr, "%s: out of memory\n", p->tool->name);
    return 1;
}

bool cli_takes_value(const cli_option *o) {
    return o->kind != CLI_FLAG && o->kind != CLI_PRINT && o->kind != CLI_GROUP;
}

bool cli_integer(const char *text, int64_t lo, int64_t hi, int64_t *out) {
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    *out = v;
    return end != text && !*end && !errno && v >= lo && v <= hi;
}

bool cli_bytes(const char *text, uint64_t *out) {
    static const char units[] = "KMGT";
    char *end;
    *out = UINT64_MAX;
    if (!strcmp(text, "all")) return true;
    double n = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (end == text || (*end && (!unit || end[1]))) return false;
    n = ldexp(n, unit ? 10 * (int)(unit - units + 1) : 0);
    if (!(n >= 0 && n < ldexp(1, 63))) return false;
    *out = (uint64_t)n;
    return true;
}

/* "--name", or "-n" where there is no more */
static const char *shown(const cli_option *o) {
    static char letter[3] = "-?";
    static char name[64];
    letter[1] = o->letter;
    snprintf(name, sizeof name, "--%s", o->name ? o->name : "");
    return o->name ? name : o->letter ? letter : "";
}

/* ---- one value ---- */

static int wrong_value(const parser *p, const cli_option *o, const char *value) {
    char form[FORM];
    if (o->kind == CLI_INT)
        return cli_wrong(p->tool, "%s %s: write a number from %lld to %lld", shown(o), value,
                         (long long)o->lo, (long long)o->hi);
    if (o->kind == CLI_REAL)
        return cli_wrong(p->tool, "%s %s: write a number %s %lld, at most %lld", shown(o), value,
                         o->above ? "above" : "from", (long long)o->lo, (long long)o->hi);
    return cli_wrong(p->tool, "%s %s: write %s", shown(o), value, cli_form(o, form, sizeof form));
}

/* The number of the name, or -1. */
static int find_name(const cli_option *o, const char *text) {
    for (int i = (int)o->lo; o->names(i); i++)
        if (strcmp(o->names(i), text) == 0) return i;
    return -1;
}

static int wrong_name(const parser *p, const cli_option *o, const char *text) {
    char form[FORM];
    et_guess g = {.name = text};
    for (int i = (int)o->lo; o->names(i); i++)
        et_guess_try(&g, o->names(i));
    return cli_wrong(p->tool, "%s %s: %s%s%swrite %s", shown(o), text,
                     g.best ? "did you mean " : "", g.best ? g.best : "", g.best ? "? Else " : "",
                     cli_form(o, form, sizeof form));
}

/* Each name between commas is one there is, and none is there twice. */
static int check_names(const parser *p, const cli_option *o, const char *value) {
    uint64_t seen = 0;
    char *copy = strdup(value), *rest = copy;
    int status = copy ? GO_ON : no_memory(p);
    for (char *item; status == GO_ON && (item = o->commas ? strsep(&rest, ",") : rest);) {
        int i = find_name(o, item);
        if (i < 0)
            status = wrong_name(p, o, item);
        else if (seen >> (i & 63) & 1)
            status = cli_wrong(p->tool, "%s: '%s' is named twice", shown(o), item);
        seen |= (uint64_t)1 << (i & 63);
        if (!o->commas) break;
    }
    free(copy);
    return status;
}

static int add_item(const parser *p, const cli_option *o, cli_list *list, const char *text) {
    cli_item *more = realloc(list->at, (size_t)(list->n + 1) * sizeof *more), *item;
    if (!more) return no_memory(p);
    list->at = more;
    item = &more[list->n];
    *item = (cli_item){.text = strdup(text)};
    if (!item->text) return no_memory(p);
    list->n++;
    if (o->kind != CLI_PAIRS && o->kind != CLI_DIMS) return GO_ON;
    char *sign = strchr(item->text, '=');
    if (!sign || sign == item->text || !sign[1]) return wrong_value(p, o, text);
    item->value = sign + 1;
    if (o->kind == CLI_DIMS && !cli_integer(sign + 1, INT32_MIN, INT32_MAX, &item->number))
        return wrong_value(p, o, text);
    *sign = 0;
    return GO_ON;
}

static int add_items(const parser *p, const cli_option *o, cli_list *list, const char *value) {
    char *copy = strdup(value), *rest = copy;
    int status = copy ? GO_ON : no_memory(p);
    if (!o->commas && copy) status = add_item(p, o, list, value);
    for (char *item; o->commas && status == GO_ON && (item = strsep(&rest, ","));)
        status = add_item(p, o, list, item);
    free(copy);
    return status;
}

static void put_integer(const cli_option *o, char *to, int64_t value) {
    if (o->bytes == sizeof(int32_t))
        memcpy(to, &(int32_t){(int32_t)value}, sizeof(int32_t));
    else
        memcpy(to, &value, sizeof value);
}

static int take_number(parser *p, const cli_option *o, char *to, const char *value) {
    int64_t number;
    char *end;
    if (o->kind == CLI_INT) {
        if (!cli_integer(value, o->lo, o->hi, &number)) return wrong_value(p, o, value);
        put_integer(o, to, number);
        return GO_ON;
    }
    double real = strtod(value, &end);
    bool low = o->above ? real > (double)o->lo : real >= (double)o->lo;
    if (end == value || *end || !low || !(real <= (double)o->hi)) return wrong_value(p, o, value);
    memcpy(to, &real, sizeof real);
    return GO_ON;
}

static int take_value(parser *p, const cli_option *o, const char *value) {
    char *to = (char *)p->options + o->at;
    int status = GO_ON;
    if (o->names && !o->arg) status = check_names(p, o, value);
    if (status != GO_ON) return status;
    switch (o->kind) {
    case CLI_INT:
    case CLI_REAL:
        return take_number(p, o, to, value);
    case CLI_CHOICE:
        put_integer(o, to, find_name(o, value));
        return GO_ON;
    case CLI_LIST:
    case CLI_INPUTS:
    case CLI_PAIRS:
    case CLI_DIMS:
        return add_items(p, o, (cli_list *)(void *)to, value);
    case CLI_TAKE:
        return o->take(p->options, value) ? GO_ON : wrong_value(p, o, value);
    default:
        memcpy(to, &value, sizeof value);
        return GO_ON;
    }
}

/* ---- finding options ---- */

static const cli_option *find_letter(const cli_option *o, char letter) {
    for (; o->help; o++)
        if (o->letter == letter && o->kind != CLI_GROUP) return o;
    return NULL;
}

/* The row of this name or, if there is only one, that it is the beginning of. */
static const cli_option *find_long(const cli_tool *tool, const char *name, size_t n, int *count) {
    const cli_option *tables[] = {tool->options, cli_common}, *found = NULL;
    *count = 0;
    for (int t = 0; t < 2; t++)
        for (const cli_option *o = tables[t]; o->help; o++) {
            if (!o->name || strncmp(o->name, name, n) != 0 || o->kind == CLI_GROUP) continue;
            if (!o->name[n]) {
                *count = 1;
                return o;
            }
            if (o->hidden) continue;
            found = o;
            ++*count;
        }
    return found;
}

static int unknown(const parser *p, const char *name, size_t n, int count) {
    const cli_option *tables[] = {p->tool->options, cli_common};
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)n, name);
    if (count > 1) return cli_wrong(p->tool, "more than one option begins with --%s", text);
    et_guess g = {.name = text};
    for (int t = 0; t < 2; t++)
        for (const cli_option *o = tables[t]; o->help; o++)
            if (o->name && !o->hidden) et_guess_try(&g, o->name);
    if (g.best) return cli_wrong(p->tool, "unknown option --%s; did you mean --%s?", text, g.best);
    return cli_wrong(p->tool, "unknown option --%s", text);
}

/* VALUE is what stands behind "=" or the letter, or NULL. */
static int take_option(parser *p, const cli_option *o, const char *value) {
    char form[FORM];
    if (o->kind == CLI_PRINT) {
        o->print(p->tool, stdout);
        return 0;
    }
    ptrdiff_t row = o - p->tool->options;
    p->given[row] = true;
    if (!cli_takes_value(o)) {
        memcpy((char *)p->options + o->at, &(bool){true}, sizeof(bool));
        return GO_ON;
    }
    if (!value) value = o->otherwise;
    if (!value && p->next == p->end)
        return cli_wrong(p->tool, "%s needs a value: %s", shown(o), cli_form(o, form, sizeof form));
    return take_value(p, o, value ? value : *p->next++);
}

static int take_long(parser *p, const char *text) {
    size_t n = strcspn(text, "=");
    int count;
    const cli_option *o = find_long(p->tool, text, n, &count);
    if (count != 1) return unknown(p, text, n, count);
    if (text[n] && !cli_takes_value(o)) return cli_wrong(p->tool, "%s takes no value", shown(o));
    return take_option(p, o, text[n] ? text + n + 1 : NULL);
}

/* "-v", "-o", "-oFILE", "-vo": letters up to one that takes a value. */
static int take_letters(parser *p, const char *text) {
    int status = GO_ON;
    while (status == GO_ON && *text) {
        const cli_option *o = find_letter(p->tool->options, *text);
        if (!o) o = find_letter(cli_common, *text);
        if (!o) return cli_wrong(p->tool, "unknown option -%c", *text);
        bool value = cli_takes_value(o);
        status = take_option(p, o, value && text[1] ? text + 1 : NULL);
        text = value ? "" : text + 1;
    }
    return status;
}

static int find_command(parser *p, const char *name) {
    et_guess g = {.name = name};
    for (int i = 0; p->tool->commands[i].name; i++) {
        et_guess_try(&g, p->tool->commands[i].name);
        if (strcmp(p->tool->commands[i].name, name) == 0) p->command = i;
    }
    if (p->command >= 0) return GO_ON;
    if (g.best)
        return cli_wrong(p->tool, "there is no command '%s'; did you mean '%s'?", name, g.best);
    return cli_wrong(p->tool, "there is no command '%s'", name);
}

/* The option whose value a word behind the command is, once; or NULL. */
static const cli_option *find_bare(const parser *p) {
    for (const cli_option *o = p->tool->options; p->command >= 0 && o->help; o++)
        if (o->bare & 1u << p->command && !p->given[o - p->tool->options]) return o;
    return NULL;
}

static int take_rest(parser *p, const char *text) {
    const cli_option *o = p->tool->rest, *bare = find_bare(p);
    if (p->tool->commands && p->command < 0) return find_command(p, text);
    if (bare) return take_option(p, bare, text);
    bool list = o && (o->kind == CLI_LIST || o->kind == CLI_INPUTS);
    if (!o || (!list && p->nrest)) return cli_wrong(p->tool, "'%s' is one too many", text);
    p->nrest++;
    return take_value(p, o, text);
}

/* Is everything there that is needed, and nothing that another command is for? */
static int check_given(const parser *p) {
    const cli_tool *tool = p->tool;
    if (tool->commands && p->command < 0) return cli_wrong(tool, "no command given");
    if (tool->rest && tool->rest->need && !p->nrest)
        return cli_wrong(tool, "no %s given", tool->rest->arg);
    unsigned bit = p->command < 0 ? 1 : 1u << p->command;
    for (const cli_option *o = tool->options; o->help; o++) {
        bool given = p->given[o - tool->options];
        if (o->need & bit && !given) return cli_wrong(tool, "%s is missing", shown(o));
        if (given && (o->need | o->may) && !((o->need | o->may) & bit) && tool->commands)
            return cli_wrong(tool, "%s has no option %s", tool->commands[p->command].name,
                             shown(o));
    }
    return GO_ON;
}

static int parse(parser *p) {
    int status = GO_ON;
    bool options = true;
    while (status == GO_ON && p->next < p->end) {
        const char *text = *p->next++;
        if (options && strcmp(text, "--") == 0)
            options = false;
        else if (options && strncmp(text, "--", 2) == 0)
            status = take_long(p, text + 2);
        else if (options && text[0] == '-' && text[1])
            status = take_letters(p, text + 1);
        else
            status = take_rest(p, text);
    }
    if (status == GO_ON) status = check_given(p);
    return status == GO_ON ? cli_check_files(p->tool, p->options, p->command) : status;
}

static void free_list(const cli_option *o, void *options) {
    if (o->kind < CLI_LIST || o->kind > CLI_DIMS) return;
    cli_list *list = (cli_list *)(void *)((char *)options + o->at);
    for (int i = 0; i < list->n; i++)
        free(list->at[i].text);
    free(list->at);
    *list = (cli_list){0};
}

int cli_main(const cli_tool *tool, int argc, char **argv, void *options) {
    parser p = {tool, argv + (argc > 0), argv + argc, options, {false}, -1, 0};
    et_files_begin();
    cli_guard_capture();
    int status = parse(&p);
    if (status == GO_ON)
        status = p.command < 0 ? tool->run(options) : tool->commands[p.command].run(options);
    for (const cli_option *o = tool->options; o->help; o++)
        free_list(o, options);
    if (tool->rest) free_list(tool->rest, options);
    return cli_close_stdout(tool, status);
}
