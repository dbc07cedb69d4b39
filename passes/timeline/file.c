/* Files that appear complete or not at all, and JSON strings in them. */
#include "passes/timeline/int.h"

#include <errno.h>
#include <string.h>

static bool failed(const char *path, char err[TIMELINE_ERR]) {
    snprintf(err, TIMELINE_ERR, "%s: %s", path, strerror(errno));
    return false;
}

bool timeline_open(et_output *f, const char *path, char err[TIMELINE_ERR]) {
    return et_output_open(f, path) || failed(path, err);
}

bool timeline_close(et_output *f, char err[TIMELINE_ERR]) {
    return et_output_close(f, true) || failed(f->path, err);
}

/* Bytes of the UTF-8 sequence at S, 0 when it is none. */
static int sequence(const unsigned char *s) {
    int n = s[0] < 0x80 ? 1 : s[0] >= 0xC2 && s[0] < 0xE0 ? 2 : (s[0] & 0xF0) == 0xE0 ? 3 : 0;
    if (s[0] >= 0xF0 && s[0] < 0xF5) n = 4;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    if (n == 3 && ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F))) return 0;
    if (n == 4 && ((s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))) return 0;
    return n;
}

/* "<" could end a script; bytes that are no UTF-8 become question marks. */
void timeline_put_string(FILE *to, const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    fputc('"', to);
    while (*s) {
        int n = sequence(s);
        if (n == 1 && (*s < 0x20 || *s == '"' || *s == '\\' || *s == '<' || *s == 0x7F))
            fprintf(to, "\\u%04x", *s);
        else if (n)
            fwrite(s, 1, (size_t)n, to);
        else
            fputc('?', to);
        s += n ? n : 1;
    }
    fputc('"', to);
}
