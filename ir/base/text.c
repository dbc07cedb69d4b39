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
