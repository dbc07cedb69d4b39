/* --help and the manual page. */
#include "runtime/cli/cli.h"
#include <ctype.h>
#include <string.h>

enum { WIDTH = 80, COLUMN = 25, FORM = 256 };

static void print_version(const cli_tool *tool, FILE *to) {
    fprintf(to, "%s " ETCC_VERSION "\n", tool->name);
}

static void print_help(const cli_tool *tool, FILE *to);

static void print_man(const cli_tool *tool, FILE *to);

const cli_option cli_common[] = {
    CLI_HEADING("About this program"),
    {"help", 'h', CLI_PRINT, NULL, 0, 0, "print this", .print = print_help},
    {"version", 0, CLI_PRINT, NULL, 0, 0, "print the version", .print = print_version},
    {"man", 0, CLI_PRINT, NULL, 0, 0, "the manual page", .print = print_man, .hidden = true},
    {"completion", 0, CLI_PRINT, NULL, 0, 0, "for bash", .print = cli_print_completion,
     .hidden = true},
    {"rows", 0, CLI_PRINT, NULL, 0, 0, "all rows", .print = cli_print_rows, .hidden = true},
    {0},
};

static const char exit_status[] = "0 done, 1 failed, 2 wrong usage.";

const char *cli_form(const cli_option *o, char *out, size_t bytes) {
    int n = 0;
    if (o->arg || !o->names) {
        snprintf(out, bytes, "%s", o->arg ? o->arg : "");
        return out;
    }
    for (int i = (int)o->lo; o->names(i) && n < (int)bytes; i++)
        n += snprintf(out + n, bytes - (size_t)n, "%s%s", n ? "|" : "", o->names(i));
    if (o->commas && n < (int)bytes) snprintf(out + n, bytes - (size_t)n, "[,...]");
    return out;
}

/* TEXT from column AT on, with lines that begin at INDENT. */
static void wrap(FILE *to, const char *text, int at, int indent) {
    bool first = true;
    while (*text) {
        size_t n = strcspn(text, " \n");
        if (!first && at + 1 + (int)n > WIDTH) {
            fprintf(to, "\n%*s", indent, "");
            at = indent;
            first = true;
        }
        fprintf(to, "%s%.*s", first ? "" : " ", (int)n, text);
        at += (int)n + !first;
        first = false;
        text += n;
        if (*text == '\n') {
            fprintf(to, "\n%*s", text[1] ? indent : 0, "");
            at = indent;
            first = true;
        }
        text += *text != 0;
    }
    fputc('\n', to);
}

/* LEFT is printed and N wide. */
static void explain(FILE *to, int n, const char *text) {
    if (n + 1 >= COLUMN)
        fprintf(to, "\n%*s", COLUMN, "");
    else
        fprintf(to, "%*s", COLUMN - n, "");
    wrap(to, text, COLUMN, COLUMN);
}

/* " (score, compare)" of the commands a row is for; empty for all. */
static const char *commands_of(const cli_tool *tool, const cli_option *o, char *out, size_t bytes) {
    int n = 0;
    *out = 0;
    for (int i = 0; tool->commands && (o->need | o->may) && tool->commands[i].name; i++)
        if ((o->need | o->may) >> i & 1 && n < (int)bytes)
            n += snprintf(out + n, bytes - (size_t)n, "%s%s", n ? ", " : " (",
                          tool->commands[i].name);
    if (n && n < (int)bytes) snprintf(out + n, bytes - (size_t)n, ")");
    return out;
}

/* Names that have no room beside their option stand behind what it does. */
static void move_names(const cli_option *o, char form[FORM], char *out, size_t bytes) {
    int n = snprintf(out, bytes, ": ");
    for (char *p = strtok(form, "|"); p && n < (int)bytes; p = strtok(NULL, "|"))
        n += snprintf(out + n, bytes - (size_t)n, "%s%s", n > 2 ? ", " : "", p);
    snprintf(form, FORM, "NAME%s", o->commas ? "[,...]" : "");
}

static void help_row(const cli_tool *tool, const cli_option *o, FILE *to) {
    char form[FORM], whose[FORM], names[2 * FORM] = "", text[2048];
    if (o->kind == CLI_GROUP) {
        fprintf(to, "\n%s:\n", o->help);
        return;
    }
    const char *value = cli_takes_value(o) ? cli_form(o, form, sizeof form) : "";
    if (*value && o->name && !o->arg && strlen(o->name) + strlen(form) + strlen("  --=") > WIDTH)
        move_names(o, form, names, sizeof names);
    int n = o->letter ? fprintf(to, "  -%c%s", o->letter, o->name ? ", " : " ") : fprintf(to, "  ");
    n += o->name ? fprintf(to, "--%s%s%s%s%s", o->name, o->otherwise ? "[" : "", *value ? "=" : "",
                           value, o->otherwise ? "]" : "")
                 : fprintf(to, "%s", value);
    snprintf(text, sizeof text, "%s%s%s", o->help, names,
             commands_of(tool, o, whose, sizeof whose));
    explain(to, n, text);
}

static void each_line(const char *lines, const char *before, const char *name, FILE *to) {
    for (size_t n; *lines; lines += n + (lines[n] != 0)) {
        n = strcspn(lines, "\n");
        fprintf(to, "%s%s %.*s\n", before, name, (int)n, lines);
        if (strcmp(before, "usage: ") == 0) before = "       ";
    }
}

static void print_help(const cli_tool *tool, FILE *to) {
    const cli_option *tables[] = {tool->options, cli_common};
    each_line(tool->usage, "usage: ", tool->name, to);
    wrap(to, tool->about, 0, 0);
    if (tool->commands) fprintf(to, "\nCommands:\n");
    for (const cli_command *c = tool->commands; c && c->name; c++)
        explain(to, fprintf(to, "  %s", c->name), c->help);
    if (tool->options->kind != CLI_GROUP && tool->options->help) fprintf(to, "\nOptions:\n");
    for (int t = 0; t < 2; t++)
        for (const cli_option *o = tables[t]; o->help; o++)
            if (!o->hidden) help_row(tool, o, to);
    if (tool->list_title) fprintf(to, "\n%s:\n", tool->list_title);
    for (int i = 0; tool->list_title && tool->list_name(i); i++)
        explain(to, fprintf(to, "  %s", tool->list_name(i)), tool->list_help(i));
    fputc('\n', to);
    if (tool->notes) wrap(to, tool->notes, 0, 0);
    fprintf(to, "Exit status: %s\n", exit_status);
}

/* ---- the manual page ---- */

/* Nothing in TEXT is a request of troff; "-" is the character that is typed. */
static void put_roff(FILE *to, const char *text, size_t n) {
    bool starts = true;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (starts && (c == '.' || c == '\'')) fputs("\\&", to);
        starts = c == '\n';
        if (starts)
            fputs("\n.PP\n", to);
        else if (c == '\\' || c == '-')
            fputs(c == '-' ? "\\-" : "\\e", to);
        else
            fputc(c, to);
    }
}

static void roff(FILE *to, const char *before, const char *text, const char *after) {
    fputs(before, to);
    put_roff(to, text, strlen(text));
    fputs(after, to);
}

static void man_row(const cli_tool *tool, const cli_option *o, FILE *to) {
    char form[FORM], whose[FORM];
    if (o->kind == CLI_GROUP) {
        fprintf(to, ".SS %s\n", o->help);
        return;
    }
    const char *value = cli_takes_value(o) ? cli_form(o, form, sizeof form) : "";
    fputs(".TP\n", to);
    if (o->letter) fprintf(to, "\\fB\\-%c\\fR%s", o->letter, o->name ? ", " : " ");
    if (o->name) roff(to, "\\fB\\-\\-", o->name, "\\fR");
    if (o->name && *value) fputs(o->otherwise ? "[=" : "=", to);
    if (*value) roff(to, "\\fI", value, "\\fR");
    fputs(o->name && o->otherwise ? "]\n" : "\n", to);
    roff(to, "", o->help, "");
    roff(to, "", commands_of(tool, o, whose, sizeof whose), "\n");
}

static void man_term(FILE *to, const char *name, const char *help) {
    roff(to, ".TP\n\\fB", name, "\\fR\n");
    roff(to, "", help, "\n");
}

static void man_see_also(const cli_tool *tool, FILE *to) {
    static const char *const all[] = {"etcc",  "etimport", "etinterp", "etrun",
                                      "etllm", "etbench",  "etfill"};
    const char *comma = "";
    fputs(".SH SEE ALSO\n", to);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i], tool->name) == 0) continue;
        fprintf(to, "%s\\fB%s\\fR(1)", comma, all[i]);
        comma = ", ";
    }
    fputc('\n', to);
}

static void print_man(const cli_tool *tool, FILE *to) {
    const cli_option *tables[] = {tool->options, cli_common};
    fputs(".TH ", to);
    for (const char *c = tool->name; *c; c++)
        fputc(toupper((unsigned char)*c), to);
    fprintf(to, " 1 \"\" \"%s " ETCC_VERSION "\" \"User Commands\"\n", tool->name);
    fprintf(to, ".SH NAME\n%s ", tool->name);
    roff(to, "\\- ", tool->summary, "\n.SH SYNOPSIS\n.nf\n");
    for (const char *line = tool->usage; *line;) {
        size_t n = strcspn(line, "\n");
        fprintf(to, "\\fB%s\\fR ", tool->name);
        put_roff(to, line, n);
        fputc('\n', to);
        line += n + (line[n] != 0);
    }
    roff(to, ".fi\n.SH DESCRIPTION\n", tool->about, "\n");
    if (tool->commands) fputs(".SH COMMANDS\n", to);
    for (const cli_command *c = tool->commands; c && c->name; c++)
        man_term(to, c->name, c->help);
    fputs(".SH OPTIONS\n", to);
    for (int t = 0; t < 2; t++)
        for (const cli_option *o = tables[t]; o->help; o++)
            if (!o->hidden) man_row(tool, o, to);
    if (tool->list_title) roff(to, ".SH ", tool->list_title, "\n");
    for (int i = 0; tool->list_title && tool->list_name(i); i++)
        man_term(to, tool->list_name(i), tool->list_help(i));
    if (tool->notes) roff(to, ".SH NOTES\n", tool->notes, "\n");
    roff(to, ".SH EXIT STATUS\n", exit_status, "\n");
    man_see_also(tool, to);
}
