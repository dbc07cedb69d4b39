/* Results as a picture: bars by point and column, one panel for each of the figures that matter
 * most. SVG that needs nothing but a viewer. */
#include "bench/etbench/etbench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT = 70, TOP = 40, PANEL = 220, GAP = 70, BAR = 26, GROUP_GAP = 24, LEGEND = 20 };

static const char *const colours[] = {"#4269d0", "#efb118", "#ff725c", "#6cc5b0",
                                      "#3ca951", "#a463f2", "#97bbf5", "#9c6b4e"};

static const char *colour(int column) {
    return colours[column % (int)(sizeof colours / sizeof *colours)];
}

static void put_text(FILE *to, const char *text) {
    for (; *text; text++)
        if (*text == '<')
            fputs("&lt;", to);
        else if (*text == '&')
            fputs("&amp;", to);
        else
            fputc(*text, to);
}

static void put_label(FILE *to, double x, double y, const char *anchor, const char *text) {
    fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    put_text(to, text);
    fputs("</text>\n", to);
}

static double group_width(const struct eb_bench *b) {
    return b->ncolumns * BAR + GROUP_GAP;
}

/* A round number that is at least X: 1, 2 or 5 times a power of ten. */
static double round_up(double x) {
    double power = x > 0 ? pow(10, floor(log10(x))) : 1;
    for (double step = 1; step < 10; step = step == 2 ? 5 : step * 2)
        if (step * power >= x) return step * power;
    return 10 * power;
}

static double largest(const struct eb_bench *b, enum eb_metric m) {
    double most = 0;
    for (int i = 0; i < b->npoints; i++)
        for (int c = 0; c < b->ncolumns; c++) {
            const struct eb_cell *cell = &b->point[i].cell[c];
            most = fmax(most, eb_summarise(cell->sample[m], cell->n[m]).q3);
        }
    return most > 0 ? most : 1;
}

static void put_axis(const struct eb_bench *b, FILE *to, double top, double step, int lines) {
    for (int k = 0; k <= lines; k++) {
        double y = top + PANEL - k * (double)PANEL / lines;
        double v = k * step;
        char *label = v >= 1e6   ? eb_text("%g M", v / 1e6)
                      : v >= 1e4 ? eb_text("%g k", v / 1e3)
                                 : eb_text("%g", v);
        fprintf(to, "<path d=\"M%d %.1fh%.1f\" stroke=\"#8884\"/>\n", LEFT, y,
                b->npoints * group_width(b));
        put_label(to, LEFT - 6, y + 4, "end", label);
        free(label);
    }
}

static void put_bar(FILE *to, const struct eb_point *p, int c, enum eb_metric m, double x,
                    double base, double scale) {
    const struct eb_cell *cell = &p->cell[c];
    if (!cell->n[m]) return;
    struct eb_summary s = eb_summarise(cell->sample[m], cell->n[m]);
    fprintf(to,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" fill=\"%s\">"
            "<title>%g</title></rect>\n",
            x + 1, base - s.median * scale, BAR - 2, s.median * scale, colour(c), s.median);
    if (s.q3 > s.q1)
        fprintf(to, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"currentColor\"/>\n", x + BAR / 2.0,
                base - s.q1 * scale, base - s.q3 * scale);
    struct eb_ratio r = {NAN, NAN, NAN};
    if (c) r = eb_ratio_of(cell->sample[m], cell->n[m], p->cell[0].sample[m], p->cell[0].n[m], 1);
    char *label = eb_text("%.*f", r.value < 9.995 ? 2 : r.value < 99.95 ? 1 : 0, r.value);
    if (!isnan(r.value))
        put_label(to, x + BAR / 2.0, base - fmax(s.median, s.q3) * scale - 3, "middle", label);
    free(label);
}

static void put_panel(const struct eb_bench *b, enum eb_metric m, double top, FILE *to) {
    double most = largest(b, m), step = round_up(most / 5);
    int lines = (int)ceil(most / step - 1e-9);
    double scale = PANEL / (lines * step);
    char *title = eb_metric_title(b, m);
    put_label(to, LEFT, top - 12, "start", title);
    free(title);
    put_axis(b, to, top, step, lines);
    for (int i = 0; i < b->npoints; i++) {
        double x = LEFT + i * group_width(b) + GROUP_GAP / 2.0;
        for (int c = 0; c < b->ncolumns; c++)
            put_bar(to, &b->point[i], c, m, x + c * BAR, top + PANEL, scale);
        put_label(to, x + b->ncolumns * BAR / 2.0, top + PANEL + 16, "middle", b->point[i].name);
    }
}

static void put_legend(const struct eb_bench *b, double top, FILE *to) {
    for (int c = 0; c < b->ncolumns; c++) {
        fprintf(to, "<rect x=\"%d\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", LEFT,
                top + c * LEGEND, colour(c));
        char *text = eb_text("%s%s", b->column[c].name, b->column[c].model ? "" : " (predicted)");
        put_label(to, LEFT + 18, top + c * LEGEND + 11, "start", text);
        free(text);
    }
}

bool eb_write_plot(const struct eb_bench *b, const char *path) {
    enum eb_metric wanted[] = {EB_PREDICTED, EB_TIME, EB_INSTRUCTIONS}, shown[3];
    int n = 0;
    for (int i = 0; i < 3; i++) {
        bool host = wanted[i] == EB_TIME && etrt_device_is_emulated(b->device);
        if (!host && eb_metric_shown(b, wanted[i])) shown[n++] = wanted[i];
    }
    et_output f;
    if (!eb_file_open(&f, path)) return false;
    double width = fmax(LEFT + b->npoints * group_width(b) + 20, 620);
    fprintf(f.to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, TOP + n * (PANEL + GAP) + b->ncolumns * LEGEND);
    for (int i = 0; i < n; i++)
        put_panel(b, shown[i], TOP + i * (PANEL + GAP), f.to);
    put_legend(b, TOP + n * (PANEL + GAP) - GAP / 2.0 + 5, f.to);
    fputs("</svg>\n", f.to);
    return eb_file_close(&f);
}
