#include "ir/base/text.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The fewest digits that read back as V, or false when that takes more than MOST. */
static bool shortest(char out[40], double v, bool single, int most) {
    for (int digits = 6; digits <= most; digits++) {
        snprintf(out, 32, "%.*g", digits, v);
        if (single ? strtof(out, NULL) == (float)v : strtod(out, NULL) == v) return true;
    }
    return false;
}

void et_float_text(char out[40], double v) {
    if (isnan(v)) {
        strcpy(out, "nan");
        return;
    }
    if (isinf(v)) {
        strcpy(out, v < 0 ? "-inf" : "inf");
        return;
    }
    bool plain = shortest(out, v, false, 9), single = !plain && (double)(float)v == v;
    if (single)
        shortest(out, v, true, 9);
    else if (!plain)
        shortest(out, v, false, 17);
    if (!strpbrk(out, ".e")) strcat(out, ".0");
    if (single) strcat(out, "f");
}

void et_put_float(FILE *to, double v) {
    char text[40];
    et_float_text(text, v);
    fputs(text, to);
}

void et_put_string(FILE *to, const char *s) {
    fputc('"', to);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c < 0x20 || c == 0x7f) {
            fprintf(to, "\\x%02x", c);
            continue;
        }
        if (c == '"' || c == '\\') fputc('\\', to);
        fputc(c, to);
    }
    fputc('"', to);
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

/* "<" could end a script. */
void et_put_json(FILE *to, const char *text) {
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
