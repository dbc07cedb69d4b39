/* The files that a command line names, once all of it is read: "-", and which are the same. */
#include "runtime/cli/cli.h"
#include "runtime/files/output.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 256 }; /* files of a command line that are compared; more are not */

typedef struct {
    const cli_tool *tool;
    const char *in[MOST], *out[MOST];
    int nin, nout;
} files;

/* Standard input can be opened by a path, and again from its start, once it is a file. */
static bool read_stdin(void) {
    struct stat st;
    char buffer[1 << 16];
    if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode)) return true;
    int fd = memfd_create("standard input", MFD_CLOEXEC);
    ssize_t n = 0;
    bool ok = fd >= 0;
    while (ok && ((n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR)))
        ok = n < 0 || write(fd, buffer, (size_t)n) == n;
    ok = ok && n == 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO;
    int why = errno;
    if (fd >= 0) close(fd);
    errno = why;
    return ok;
}

/* /dev/stdin means the same. */
static int take_input(files *f, const char **path) {
    if (strcmp(*path, "-") == 0 || strcmp(*path, "/dev/stdin") == 0) {
        *path = "/dev/stdin";
        if (read_stdin()) return CLI_GO_ON;
        fprintf(stderr, "%s: standard input: %s\n", f->tool->name, strerror(errno));
        return 1;
    }
    if (f->nin < MOST) f->in[f->nin++] = *path;
    return CLI_GO_ON;
}

/* A file, or MODEL=FILE of several. */
static int take_item(files *f, const cli_option *o, cli_item *item) {
    struct stat st;
    const char *path = item->value ? item->value : item->text, *sign = strchr(item->text, '=');
    if (o->kind == CLI_INPUTS && sign && stat(item->text, &st) != 0) path = sign + 1;
    bool whole = path == item->text;
    int status = take_input(f, &path);
    if (strcmp(path, "/dev/stdin") != 0 || status != CLI_GO_ON) return status;
    if (item->value) {
        item->value = (char *)(uintptr_t) "/dev/stdin"; /* never freed, nor written to */
        return status;
    }
    char *text = NULL;
    if (asprintf(&text, "%.*s/dev/stdin", whole ? 0 : (int)(sign + 1 - item->text), item->text) <
        0) {
        fprintf(stderr, "%s: out of memory\n", f->tool->name);
        return 1;
    }
    free(item->text);
    item->text = text;
    return status;
}

static int take_row(files *f, const cli_option *o, void *options, int command) {
    char *at = (char *)options + o->at;
    const char **path = (const char **)(void *)at;
    bool reads = o->kind == CLI_OUTPUT && command >= 0 && o->reads >> command & 1;
    int status = CLI_GO_ON;
    if (o->kind == CLI_INPUTS || (o->kind == CLI_PAIRS && o->files)) {
        cli_list *list = (cli_list *)(void *)at;
        for (int i = 0; status == CLI_GO_ON && i < list->n; i++)
            status = take_item(f, o, &list->at[i]);
    } else if ((o->kind == CLI_INPUT || reads) && *path) {
        status = take_input(f, path);
    } else if (o->kind == CLI_OUTPUT && *path && f->nout < MOST) {
        f->out[f->nout++] = *path;
    }
    return status;
}

/* Would writing OUT take away what reading the folder IN needs? */
static bool in_folder(const char *in, const char *out) {
    static const char *const kinds[] = {".safetensors", ".json"};
    struct stat folder, file;
    const char *slash = strrchr(out, '/');
    size_t n = strlen(out);
    bool kind = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t k = strlen(kinds[i]);
        kind |= n > k && strcmp(out + n - k, kinds[i]) == 0;
    }
    if (!kind || stat(in, &folder) != 0 || !S_ISDIR(folder.st_mode) || stat(out, &file) != 0)
        return false;
    char *parent = slash ? strndup(out, (size_t)(slash - out) + 1) : strdup(".");
    struct stat above;
    bool same = parent && stat(parent, &above) == 0 && above.st_dev == folder.st_dev &&
                above.st_ino == folder.st_ino;
    free(parent);
    return same;
}

static int refuse(const files *f, const char *path, const char *why) {
    fprintf(stderr, "%s: %s: %s\n", f->tool->name, path, why);
    return 1;
}

static int compare(const files *f) {
    for (int i = 0; i < f->nout; i++) {
        for (int k = 0; k < i; k++) {
            if (strcmp(f->out[i], "-") == 0 && strcmp(f->out[k], "-") == 0)
                return cli_wrong(f->tool, "only one result can go to standard output");
            if (et_same_file(f->out[i], f->out[k]))
                return refuse(f, f->out[i], "two outputs would be one file");
        }
        for (int k = 0; k < f->nin; k++)
            if (et_same_file(f->out[i], f->in[k]) || in_folder(f->in[k], f->out[i]))
                return refuse(f, f->out[i], "the output would replace the input");
    }
    return CLI_GO_ON;
}

int cli_check_files(const cli_tool *tool, void *options, int command) {
    files f = {.tool = tool};
    int status = CLI_GO_ON;
    for (const cli_option *o = tool->options; status == CLI_GO_ON && o->help; o++)
        status = take_row(&f, o, options, command);
    if (status == CLI_GO_ON && tool->rest) status = take_row(&f, tool->rest, options, command);
    return status == CLI_GO_ON ? compare(&f) : status;
}

/* libetrt writes what ETRT_CAPTURE asks for into a folder of this name first, and being a library
 * it leaves signals alone. */
void cli_guard_capture(void) {
    const char *folder = getenv("ETRT_CAPTURE");
    char path[PATH_MAX];
    int n =
        folder && *folder ? snprintf(path, sizeof path, "%s.tmp.%ld", folder, (long)getpid()) : 0;
    if (n > 0 && n < PATH_MAX) et_guard(path);
}

int cli_close_stdout(const cli_tool *tool, int status) {
    bool failed = ferror(stdout) != 0;
    failed |= fclose(stdout) != 0;
    if (!failed || status != 0) return status;
    fprintf(stderr, "%s: cannot write standard output: %s\n", tool->name,
            strerror(errno ? errno : EIO));
    return 1;
}
