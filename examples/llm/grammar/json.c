/* Rules for what JSON is made of. */
#include "examples/llm/grammar/json.h"
#include <stdarg.h>
#include <string.h>

int32_t json_rule_sequence(struct rules *r, int n, ...) {
    int32_t rule = rules_new(r);
    va_list ap;
    rules_open(r, rule);
    va_start(ap, n);
    for (int i = 0; i < n; i++)
        rules_refer(r, va_arg(ap, int32_t));
    va_end(ap);
    rules_close(r);
    return rule;
}

/* One of N rules. */
static int32_t json_rule_either(struct rules *r, int n, ...) {
    int32_t rule = rules_new(r);
    va_list ap;
    va_start(ap, n);
    for (int i = 0; i < n; i++) {
        rules_open(r, rule);
        rules_refer(r, va_arg(ap, int32_t));
        rules_close(r);
    }
    va_end(ap);
    return rule;
}

int32_t json_rule_text(struct rules *r, const char *text, size_t bytes) {
    int32_t rule = rules_new(r);
    rules_open(r, rule);
    rules_text(r, text, bytes);
    rules_close(r);
    return rule;
}

static int32_t word(struct rules *r, const char *text) {
    return json_rule_text(r, text, strlen(text));
}

/* RANGES: pairs of first and last byte. */
static int32_t rule_class(struct rules *r, const char *ranges) {
    struct class c = {{0}};
    int32_t rule = rules_new(r);
    for (; *ranges; ranges += 2)
        class_add(&c, (unsigned char)ranges[0], (unsigned char)ranges[1]);
    rules_open(r, rule);
    rules_class(r, &c);
    rules_close(r);
    return rule;
}

/* White space that a model may like: a space, or a new line and what indents it. Not more, or one
 * that has lost its way would write blanks for ever. */
int32_t json_rule_blank(struct rules *r) {
    int32_t indent = rules_repeat(r, word(r, " "), 0, 24, -1);
    int32_t line = json_rule_sequence(r, 2, word(r, "\n"), indent);
    return rules_repeat(r, json_rule_either(r, 2, word(r, " "), line), 0, 1, -1);
}

/* Characters of UTF-8 beyond ASCII, as alternatives of RULE. */
static void add_wide(struct rules *r, int32_t rule) {
    static const struct {
        unsigned char first_lo, first_hi, next_lo, next_hi;
        int more; /* bytes 80-BF after these */
    } forms[] = {{0xc2, 0xdf, 0x80, 0xbf, 0}, {0xe0, 0xe0, 0xa0, 0xbf, 1},
                 {0xe1, 0xec, 0x80, 0xbf, 1}, {0xed, 0xed, 0x80, 0x9f, 1},
                 {0xee, 0xef, 0x80, 0xbf, 1}, {0xf0, 0xf0, 0x90, 0xbf, 2},
                 {0xf1, 0xf3, 0x80, 0xbf, 2}, {0xf4, 0xf4, 0x80, 0x8f, 2}};
    struct class rest = {{0}};
    class_add(&rest, 0x80, 0xbf);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct class first = {{0}}, next = {{0}};
        class_add(&first, forms[i].first_lo, forms[i].first_hi);
        class_add(&next, forms[i].next_lo, forms[i].next_hi);
        rules_open(r, rule);
        rules_class(r, &first);
        rules_class(r, &next);
        for (int k = 0; k < forms[i].more; k++)
            rules_class(r, &rest);
        rules_close(r);
    }
}

/* \u and a character that is not 0, and no half of a pair, as \uD800 to \uDFFF are. */
static int32_t by_number(struct rules *r, int32_t hex) {
    int32_t some = rule_class(r, "19afAF"), zero = word(r, "0"), u = word(r, "\\u");
    int32_t first = json_rule_sequence(r, 2, rule_class(r, "19acefACEF"), hex);
    int32_t below = json_rule_sequence(r, 2, rule_class(r, "ddDD"), rule_class(r, "07"));
    int32_t high = json_rule_either(r, 3, first, json_rule_sequence(r, 2, zero, some), below);
    int32_t low = json_rule_either(r, 2, json_rule_sequence(r, 2, some, hex),
                                   json_rule_sequence(r, 2, zero, some));
    return json_rule_either(r, 2, json_rule_sequence(r, 4, u, high, hex, hex),
                            json_rule_sequence(r, 4, u, zero, zero, low));
}

int32_t json_rule_letter(struct rules *r, bool zero) {
    int32_t plain = rule_class(r, "  !!#[]~"), backslash = word(r, "\\");
    int32_t escape = rule_class(r, "\"\"\\\\//bbffnnrrtt");
    int32_t letter = json_rule_either(r, 3, plain, json_rule_sequence(r, 2, backslash, escape),
                                      by_number(r, rule_class(r, "09afAF")));
    if (zero) {
        rules_open(r, letter);
        rules_text(r, "\\u0000", 6);
        rules_close(r);
    }
    add_wide(r, letter);
    return letter;
}

int32_t json_rule_string(struct rules *r, int32_t letter, int64_t least, int64_t most) {
    int32_t quote = word(r, "\"");
    return json_rule_sequence(r, 3, quote, rules_repeat(r, letter, least, most, -1), quote);
}

int32_t json_rule_integer(struct rules *r) {
    int32_t digits = rules_repeat(r, rule_class(r, "09"), 0, 18, -1);
    int32_t more = json_rule_sequence(r, 2, rule_class(r, "19"), digits);
    int32_t minus = rules_repeat(r, word(r, "-"), 0, 1, -1);
    return json_rule_sequence(r, 2, minus, json_rule_either(r, 2, word(r, "0"), more));
}

int32_t json_rule_number(struct rules *r, int32_t integer) {
    int32_t digit = rule_class(r, "09");
    int32_t fraction = json_rule_sequence(r, 2, word(r, "."), rules_repeat(r, digit, 1, 18, -1));
    int32_t sign = rules_repeat(r, rule_class(r, "++--"), 0, 1, -1);
    int32_t power =
        json_rule_sequence(r, 3, rule_class(r, "eeEE"), sign, rules_repeat(r, digit, 1, 2, -1));
    return json_rule_sequence(r, 3, integer, rules_repeat(r, fraction, 0, 1, -1),
                              rules_repeat(r, power, 0, 1, -1));
}
