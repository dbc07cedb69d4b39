/* Decimal numbers within bounds, and multiples: a state knows how many digits were written, how
 * they compare with the digits of both bounds, and what is left over of them. */
#include "examples/llm/grammar/regular/machine.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_WHOLE = 18, MOST_PART = 15 };

bool decimal_read(const char *text, struct decimal *d) {
    char digits[64];
    long n = 0, point = -1;
    memset(d, 0, sizeof *d);
    if ((d->negative = *text == '-')) text++;
    for (; (*text >= '0' && *text <= '9') || *text == '.'; text++) {
        if (*text == '.')
            point = n;
        else if (n < (long)sizeof digits)
            digits[n++] = *text;
        else
            return false;
    }
    long power = *text == 'e' || *text == 'E' ? strtol(text + 1, NULL, 10) : 0;
    if (power < -330 || power > 330) return false;
    point = (point < 0 ? n : point) + power;
    for (long i = point < 0 ? point : 0; i < n || i < point; i++) {
        char digit = i >= 0 && i < n ? digits[i] : '0';
        if (i >= point)
            d->part[d->npart++] = digit;
        else if (d->nwhole || digit != '0')
            d->whole[d->nwhole++] = digit;
    }
    while (d->npart && d->part[d->npart - 1] == '0')
        d->npart--;
    if (!d->nwhole && !d->npart) d->negative = false;
    return true;
}

enum phase { START, SIGNED, ZERO, WHOLE, POINT, PART };
struct number {
    enum phase phase;
    bool negative, nonzero;
    int n;           /* digits of the part that is being written */
    int least, most; /* the number, without its sign, against the bound's: -1, 0, 1 */
    int64_t rest;    /* of the digits, divided by the factor */
};

static int64_t pack(const struct number *s) {
    int64_t v = s->rest;
    v = v << 5 | s->n;
    v = v << 2 | (s->least + 1);
    v = v << 2 | (s->most + 1);
    return v << 5 | (int64_t)s->negative << 4 | (int64_t)s->nonzero << 3 | (int64_t)s->phase;
}

static struct number unpack(int64_t v) {
    return (struct number){.phase = (enum phase)(v & 7),
                           .nonzero = v >> 3 & 1,
                           .negative = v >> 4 & 1,
                           .most = (int)(v >> 5 & 3) - 1,
                           .least = (int)(v >> 7 & 3) - 1,
                           .n = (int)(v >> 9 & 31),
                           .rest = v >> 14};
}

static int sign(int a, int b) {
    return (a > b) - (a < b);
}

/* Digit number N of those before the point, from the left. */
static int against_whole(int so_far, const struct decimal *d, int n, int digit) {
    if (so_far || n >= d->nwhole) return so_far;
    return sign(digit, d->whole[n] - '0');
}

/* Once all of them are there: more digits are a larger number. */
static int whole_over(int so_far, const struct decimal *d, int n, bool zero) {
    int digits = zero ? 0 : n;
    return digits != d->nwhole ? sign(digits, d->nwhole) : so_far;
}

static int against_part(int so_far, const struct decimal *d, int n, int digit) {
    return so_far ? so_far : sign(digit, n < d->npart ? d->part[n] - '0' : 0);
}

/* Digits before the point: as many as a bound has, where that is more than a number has as a rule.
 */
static int most_whole(const struct number_limits *l) {
    enum { KEPT = 31 }; /* that pack keeps */
    int n = MOST_WHOLE;
    if (l->has_least && l->least.nwhole > n) n = l->least.nwhole;
    if (l->has_most && l->most.nwhole > n) n = l->most.nwhole;
    return n < KEPT ? n : KEPT;
}

static bool add_digit(const struct number_limits *l, struct number *s, int digit) {
    bool whole = s->phase == WHOLE;
    if (s->n >= (whole ? most_whole(l) : l->factor ? l->places : MOST_PART)) return false;
    if (l->has_least)
        s->least = (whole ? against_whole : against_part)(s->least, &l->least, s->n, digit);
    if (l->has_most)
        s->most = (whole ? against_whole : against_part)(s->most, &l->most, s->n, digit);
    if (l->factor) s->rest = (s->rest * 10 + digit) % l->factor;
    s->nonzero = s->nonzero || digit;
    s->n++;
    return true;
}

static void end_whole(const struct number_limits *l, struct number *s) {
    bool zero = s->phase == ZERO;
    if (l->has_least) s->least = whole_over(s->least, &l->least, s->n, zero);
    if (l->has_most) s->most = whole_over(s->most, &l->most, s->n, zero);
    s->n = 0;
}

static int64_t step(const void *user, int64_t state, unsigned char byte) {
    const struct number_limits *l = user;
    struct number s = unpack(state);
    bool digit = byte >= '0' && byte <= '9';
    if (s.phase == START && byte == '-') {
        s.negative = true;
        s.phase = SIGNED;
        return pack(&s);
    }
    if (byte == '.' && !l->integer && (s.phase == ZERO || s.phase == WHOLE)) {
        end_whole(l, &s);
        s.phase = POINT;
        return pack(&s);
    }
    if (!digit || s.phase == ZERO) return -1;
    if (s.phase == START || s.phase == SIGNED) {
        s.phase = byte == '0' ? ZERO : WHOLE;
        if (byte == '0') return pack(&s);
    }
    if (s.phase == POINT) s.phase = PART;
    return add_digit(l, &s, byte - '0') ? pack(&s) : -1;
}

/* The number against a bound: its sign, and what its digits say. */
static int compare(const struct number *s, int digits, const struct decimal *d) {
    bool zero = !d->nwhole && !d->npart;
    if (!s->nonzero) return zero ? 0 : d->negative ? 1 : -1;
    if (s->negative != d->negative || zero) return s->negative ? -1 : 1;
    return s->negative ? -digits : digits;
}

static int part_over(int so_far, const struct decimal *d, int n) {
    return !so_far && n < d->npart ? -1 : so_far;
}

static bool ends(const void *user, int64_t state) {
    const struct number_limits *l = user;
    struct number s = unpack(state);
    if (s.phase != ZERO && s.phase != WHOLE && s.phase != PART) return false;
    if (s.negative && !s.nonzero) return false; /* -0 is 0, and written so */
    if (s.phase != PART) end_whole(l, &s);
    if (l->has_least) {
        int c = compare(&s, part_over(s.least, &l->least, s.n), &l->least);
        if (c < 0 || (!c && l->above)) return false;
    }
    if (l->has_most) {
        int c = compare(&s, part_over(s.most, &l->most, s.n), &l->most);
        if (c > 0 || (!c && l->below)) return false;
    }
    for (int i = s.n; l->factor && i < l->places; i++)
        s.rest = s.rest * 10 % l->factor;
    return !l->factor || !s.rest;
}

struct machine *machine_number(const struct number_limits *l) {
    struct number begin = {.phase = START};
    struct machine_plan p = {.start = pack(&begin), .step = step, .ends = ends, .user = l};
    bool marks[257] = {['-'] = true, ['.'] = true, ['/'] = true, [':'] = true};
    for (int c = '0'; c <= '9'; c++)
        marks[c] = true;
    machine_classes(&p, marks);
    return machine_make(&p);
}
