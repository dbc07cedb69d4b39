#include "ir/verify/steps/linear.h"

bool sv_add(const sv_linear *a, const sv_linear *b, int64_t by, sv_linear *out) {
    sv_linear r;
    int64_t k;
    r.n = 0;
    if (__builtin_mul_overflow(b->k, by, &k) || __builtin_add_overflow(a->k, k, &r.k)) return false;
    for (int i = 0, j = 0; i < a->n || j < b->n;) {
        bool first = j == b->n || (i < a->n && a->number[i] <= b->number[j]);
        bool second = i == a->n || (j < b->n && b->number[j] <= a->number[i]);
        int number = first ? a->number[i] : b->number[j];
        int64_t c = first ? a->coef[i] : 0, d = 0;
        if (second && __builtin_mul_overflow(b->coef[j], by, &d)) return false;
        if (__builtin_add_overflow(c, d, &c)) return false;
        i += first;
        j += second;
        if (!c) continue;
        if (r.n == SV_TERMS) return false;
        r.number[r.n] = number;
        r.coef[r.n++] = c;
    }
    *out = r;
    return true;
}

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

void sv_reduce(sv_linear *f) {
    int64_t g = 0;
    for (int i = 0; i < f->n; i++)
        g = gcd(g, f->coef[i]);
    if (g < 2) return;
    for (int i = 0; i < f->n; i++)
        f->coef[i] /= g;
    f->k = f->k / g - (f->k % g < 0);
}

int64_t sv_coef(const sv_linear *f, int number) {
    for (int i = 0; i < f->n; i++)
        if (f->number[i] == number) return f->coef[i];
    return 0;
}

bool sv_same_terms(const sv_linear *a, const sv_linear *b) {
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++)
        if (a->coef[i] != b->coef[i] || a->number[i] != b->number[i]) return false;
    return true;
}
