/* What bash completes, and the rows as they are for tests. */
#include "runtime/cli/cli.h"
#include <string.h>

enum { FORM = 256 };

/* "--target|-t" */
static void put_pattern(const cli_option *o, FILE *to) {
    if (o->letter) fprintf(to, "-%c%s", o->letter, o->name ? "|" : "");
    if (o->name) fprintf(to, "--%s", o->name);
}

/* A case of the option before the cursor: which values there are. */
static void put_values(const cli_option *o, FILE *to) {
    if (!cli_takes_value(o)) return;
    bool files = o->kind == CLI_INPUT || o->kind == CLI_OUTPUT || o->kind == CLI_INPUTS;
    fputs("    ", to);
    put_pattern(o, to);
    fputs(")", to);
    if (o->names) {
        fputs(o->commas ? " before=${word%\"${word##*,}\"} words=\"" : " words=\"", to);
        for (int i = o->kind == CLI_CHOICE ? (int)o->lo : 0; o->names(i); i++)
            fprintf(to, "%s%s", i > (int)o->lo ? " " : "", o->names(i));
        fputs("\"", to);
    }
    fprintf(to, " kind=%s ;;\n",
            files || o->kind == CLI_LIST ? "file"
            : o->kind == CLI_FOLDER      ? "directory"
                                         : "");
}

/* Options that command I may have, or of all commands with I < 0. */
static void put_options(const cli_tool *tool, int i, FILE *to) {
    const cli_option *tables[] = {tool->options, cli_common};
    const char *space = "";
    for (int t = 0; t < 2; t++)
        for (const cli_option *o = tables[t]; o->help; o++) {
            unsigned whose = o->need | o->may;
            if (o->hidden || o->kind == CLI_GROUP || (i >= 0 && whose && !(whose >> i & 1)))
                continue;
            fputs(space, to);
            if (o->letter) fprintf(to, "-%c%s", o->letter, o->name ? " " : "");
            if (o->name) fprintf(to, "--%s", o->name);
            space = " ";
        }
}

void cli_print_completion(const cli_tool *tool, FILE *to) {
    fprintf(
        to,
        "# What bash completes after %s; generated from its table of options.\n"
        "_%s_complete() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]}\n"
        "    local words= before= kind=file options item\n"
        "    if [[ $word == = ]]; then\n        word=\n"
        "    elif [[ $option == = ]]; then\n        option=${COMP_WORDS[COMP_CWORD-2]}\n    fi\n",
        tool->name, tool->name);
    fputs("    options=\"", to);
    put_options(tool, -1, to);
    fputs("\"\n", to);
    if (tool->commands) {
        fputs("    words=\"", to);
        for (const cli_command *c = tool->commands; c->name; c++)
            fprintf(to, "%s%s", c == tool->commands ? "" : " ", c->name);
        fputs("\" kind=\n    for item in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
              "        case $item in\n",
              to);
        for (int i = 0; tool->commands[i].name; i++) {
            fprintf(to, "        %s) words= options=\"", tool->commands[i].name);
            put_options(tool, i, to);
            fputs("\" ;;\n", to);
        }
        fputs("        esac\n    done\n", to);
    }
    fputs("    case $option in\n", to);
    for (const cli_option *o = tool->options; o->help; o++)
        if (!o->hidden && o->kind != CLI_GROUP) put_values(o, to);
    fputs("    *) [[ $word == -* ]] && words=$options kind= ;;\n    esac\n"
          "    word=${word#\"$before\"}\n"
          "    COMPREPLY=($(compgen -P \"$before\" -W \"$words\" -- \"$word\"))\n"
          "    if [[ $kind ]]; then\n"
          "        mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -A \"$kind\" -- "
          "\"$word\")\n"
          "        compopt -o filenames 2>/dev/null\n"
          "    fi\n}\n",
          to);
    fprintf(to, "complete -F _%s_complete %s\n", tool->name, tool->name);
}

void cli_print_rows(const cli_tool *tool, FILE *to) {
    static const char *const kinds[] = {
        [CLI_GROUP] = "group", [CLI_FLAG] = "flag",     [CLI_TEXT] = "text",
        [CLI_INPUT] = "input", [CLI_OUTPUT] = "output", [CLI_FOLDER] = "folder",
        [CLI_INT] = "int",     [CLI_REAL] = "real",     [CLI_CHOICE] = "choice",
        [CLI_LIST] = "list",   [CLI_INPUTS] = "inputs", [CLI_PAIRS] = "pairs",
        [CLI_DIMS] = "dims",   [CLI_TAKE] = "take",     [CLI_PRINT] = "print"};
    const cli_option *tables[] = {tool->options, cli_common};
    char form[FORM];
    for (int t = 0; t < 2; t++)
        for (const cli_option *o = tables[t]; o->help; o++) {
            if (o->hidden || o->kind == CLI_GROUP) continue;
            bool closed = o->kind == CLI_CHOICE || (o->names && !o->arg);
            fprintf(to, "%s\t%c\t%s\t%s\t%s\t%lld\t%lld\t%s\n", o->name ? o->name : "",
                    o->letter ? o->letter : ' ', kinds[o->kind],
                    cli_takes_value(o) ? cli_form(o, form, sizeof form) : "",
                    o->otherwise ? "optional"
                    : closed     ? "closed"
                                 : "open",
                    (long long)o->lo, (long long)o->hi, o->help);
        }
}
