/* cli.h - the command line of a tool, described once.
 *
 * A tool is a table with a row for each option. Parsing, what is said of wrong usage, --help, the
 * manual page and what bash completes all come from the rows, so an option is added by adding a
 * row. What every tool has (--help, --version) is in a table of this library.
 *
 * --name=VALUE and --name VALUE both work, as do -nVALUE and -n VALUE; what follows an option that
 * needs a value is its value, whatever it begins with. A long name may be cut short where one
 * option alone begins so. "--" ends options, "-" stands for standard input or output. Exit status:
 * 0 done, 1 failed, 2 wrong usage. */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_tool cli_tool;

typedef enum {
    CLI_GROUP,  /* no option but a heading, HELP, for the rows that follow */
    CLI_FLAG,   /* bool: true when given */
    CLI_TEXT,   /* const char *; one of the NAMES, where a row has them and no ARG */
    CLI_INPUT,  /* const char *: a file to read; "-" becomes a path that reads standard input */
    CLI_OUTPUT, /* const char *: a file to write, and "-" is standard output; one can be that. No
                   two are one file, and none is a file that is read */
    CLI_FOLDER, /* const char * */
    CLI_INT,    /* an integer of 4 or 8 bytes, from LO to HI */
    CLI_REAL,   /* double, from LO to HI */
    CLI_CHOICE, /* an enum: the number of the name among NAMES, counted from LO */
    CLI_LIST,   /* cli_list: may be given many times */
    CLI_INPUTS, /* cli_list of what CLI_INPUT takes, or of NAME=FILE */
    CLI_PAIRS,  /* cli_list of NAME=VALUE */
    CLI_DIMS,   /* cli_list of NAME=INTEGER */
    CLI_TAKE,   /* TAKE is called */
    CLI_PRINT,  /* PRINT is called, and that is all the tool does */
} cli_kind;

typedef struct {
    char *text;     /* all of it; the name of a pair */
    char *value;    /* of a pair */
    int64_t number; /* the same of CLI_DIMS */
} cli_item;

/* Freed by cli_main. */
typedef struct {
    cli_item *at;
    int n;
} cli_list;

typedef struct {
    const char *name; /* without its dashes; NULL where there is a letter only */
    char letter;      /* 0: none */
    cli_kind kind;
    const char *arg; /* what --help calls the value; NULL for flags and where NAMES say it */
    size_t at, bytes;
    const char *help;
    const char *(*names)(
        int);              /* names there are, from LO of a CLI_CHOICE or 0 on; ends with NULL */
    bool commas;           /* several at once with commas between them */
    const char *otherwise; /* the value may be left out, and is this then */
    int64_t lo, hi;
    bool above;                                     /* CLI_REAL: more than LO */
    bool (*take)(void *options, const char *value); /* false: not what ARG says */
    void (*print)(const cli_tool *, FILE *);
    unsigned need, may; /* masks of the commands that need it, that may have it; of a tool without
                           commands, NEED is 1 or 0. No command: all may */
    unsigned bare;      /* mask of the commands behind which a word is this option's value */
    unsigned reads;     /* CLI_OUTPUT: mask of the commands that read the file */
    bool files;         /* CLI_PAIRS: values are what CLI_INPUT takes */
    bool hidden;        /* works, but is not told */
} cli_option;

/* Where a row puts its value: CLI_AT(struct options, output) */
#define CLI_AT(type, field) .at = offsetof(type, field), .bytes = sizeof(((type *)0)->field)
/* A heading. */
#define CLI_HEADING(text)                                                                          \
    { .kind = CLI_GROUP, .help = text }

typedef struct {
    const char *name, *help;
    int (*run)(void *options);
} cli_command;

struct cli_tool {
    const char *name, *summary;  /* "compiles a model to one GPU kernel" */
    const char *usage;           /* what may follow the name, a line each way to use it */
    const char *about;           /* paragraphs, parted by newlines */
    const cli_option *options;   /* ends with a row that has no help */
    const cli_option *rest;      /* a row for what is no option, or NULL for none */
    const cli_command *commands; /* the first word chooses; ends with a NULL name. NULL: none */
    const char *notes;           /* paragraphs after the options, or NULL */
    const char *list_title;      /* one more table: its title, rows by number, ends with NULL */
    const char *(*list_name)(int);
    const char *(*list_help)(int);
    int (*run)(void *options); /* the tool itself; gives the exit status */
};

/* Reads the command line into OPTIONS, which holds what is true when nothing is given, and runs the
 * tool or the command. The exit status: 1 also where standard output cannot be written. */
int cli_main(const cli_tool *, int argc, char **argv, void *options);

/* "etcc: MESSAGE" and where help is on standard error; returns 2. */
int cli_wrong(const cli_tool *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* All of TEXT as an integer from LO to HI. */
bool cli_integer(const char *text, int64_t lo, int64_t hi, int64_t *out);

/* All of TEXT as bytes: a number, and K, M, G or T for as many KiB, MiB, GiB or TiB; or `all`, the
 * most there can be. */
bool cli_bytes(const char *text, uint64_t *out);

/* ---- for the parts of this library ---- */

enum { CLI_GO_ON = -1 }; /* no exit status yet */
/* Makes paths of "-" where files are read, and refuses outputs that are the same or an input. */
int cli_check_files(const cli_tool *, void *options, int command);
void cli_guard_capture(void);
/* STATUS, or 1 with a message where it was 0 and something written to stdout was lost. */
int cli_close_stdout(const cli_tool *, int status);

extern const cli_option cli_common[];                              /* what every tool has */
const char *cli_form(const cli_option *, char *out, size_t bytes); /* "FILE", "static|dynamic" */
bool cli_takes_value(const cli_option *);
void cli_print_completion(const cli_tool *, FILE *);
/* A line for each row, for tests: name, letter, kind, form, lo, hi, commands. Fields are parted by
 * tabs. */
void cli_print_rows(const cli_tool *, FILE *);

#endif
