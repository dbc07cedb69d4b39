/* parse.c - one line of LLVM's disassembly into a name and operands. Modifiers are not read
 * from the text: what they say is taken from the encoding. */
#include "runtime/emu/isa/isa.h"

#include <ctype.h>
#include <stdlib.h>

static const struct {
    const char *name;
    uint16_t reg;
    uint8_t count;
} special[] = {
    {"vcc", S_VCC, 2},
    {"vcc_lo", S_VCC, 1},
    {"vcc_hi", S_VCC + 1, 1},
    {"exec", S_EXEC, 2},
    {"exec_lo", S_EXEC, 1},
    {"exec_hi", S_EXEC + 1, 1},
    {"m0", S_M0, 1},
    {"scc", S_SCC, 1},
    {"src_scc", S_SCC, 1},
    {"flat_scratch", S_FLAT_SCRATCH, 2},
    {"flat_scratch_lo", S_FLAT_SCRATCH, 1},
    {"flat_scratch_hi", S_FLAT_SCRATCH + 1, 1},
    {"xnack_mask", S_XNACK, 2},
    {"xnack_mask_lo", S_XNACK, 1},
    {"xnack_mask_hi", S_XNACK + 1, 1},
    {"null", S_NULL, 1},
    {"src_shared_base", S_SHARED_BASE, 2},
    {"src_shared_limit", S_SHARED_LIMIT, 2},
    {"src_private_base", S_PRIVATE_BASE, 2},
    {"src_private_limit", S_PRIVATE_LIMIT, 2},
};

/* "12" or "[12:15]" after a register file's letter. */
static bool parse_regs(const char *s, uint16_t *reg, uint8_t *count) {
    char *end;
    bool range = *s == '[';
    if (range) s++;
    if (!isdigit((unsigned char)*s)) return false;
    unsigned long lo = strtoul(s, &end, 10), hi = lo;
    if (range) {
        if (*end == ':') hi = strtoul(end + 1, &end, 10);
        if (*end++ != ']') return false;
    }
    if (*end || hi < lo || hi > 511 || hi - lo > 63) return false;
    *reg = (uint16_t)lo;
    *count = (uint8_t)(hi - lo + 1);
    return true;
}

static bool parse_register(const char *s, struct emu_tok *t) {
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        if (!strcmp(s, special[i].name)) {
            t->kind = TOK_SGPR;
            t->reg = special[i].reg;
            t->count = special[i].count;
            return true;
        }
    }
    if (!strncmp(s, "ttmp", 4) && parse_regs(s + 4, &t->reg, &t->count)) {
        t->kind = TOK_SGPR;
        t->reg = (uint16_t)(t->reg + S_TTMP);
        return t->reg + t->count <= S_M0;
    }
    size_t n = strlen(s);
    char name[16];
    if (*s == 'v' && n > 3 && n < sizeof name && s[n - 2] == '.' && strchr("lh", s[n - 1])) {
        t->half = s[n - 1] == 'l' ? 1 : 2;
        memcpy(name, s, n - 2);
        name[n - 2] = 0;
        s = name;
    }
    if (!*s || !strchr("vas", *s) || !parse_regs(s + 1, &t->reg, &t->count)) return false;
    t->kind = *s == 'v' ? TOK_VGPR : *s == 'a' ? TOK_AGPR : TOK_SGPR;
    return t->reg + t->count <= (*s == 's' ? S_VCC : MAX_VGPR);
}

static bool parse_number(const char *s, struct emu_tok *t) {
    const char *digits = s + (*s == '-');
    char *end;
    if (!isdigit((unsigned char)*digits)) return false;
    if (digits[0] == '0' && digits[1] == 'x') {
        t->kind = TOK_INT;
        t->literal = true;
        t->i = (uint64_t)strtoll(s, &end, 16);
    } else if (strchr(s, '.')) {
        t->kind = TOK_FLOAT;
        t->f = strtod(s, &end);
    } else {
        t->kind = TOK_INT;
        t->i = (uint64_t)strtoll(s, &end, 10);
    }
    return *end == 0;
}

static void parse_operand(char *s, struct emu_tok *t) {
    memset(t, 0, sizeof *t);
    t->kind = TOK_OTHER;
    if (!strcmp(s, "off")) {
        t->kind = TOK_OFF;
        return;
    }
    size_t len = strlen(s);
    if (len > 5 && !strncmp(s, "lit(", 4) && s[len - 1] == ')') {
        s[len - 1] = 0;
        s += 4;
    }
    if (parse_number(s, t)) return;
    if (*s == '-') {
        t->neg = true;
        s++;
    }
    size_t n = strlen(s);
    if (n > 2 && s[0] == '|' && s[n - 1] == '|') {
        t->abs = true;
        s[n - 1] = 0;
        s++;
    } else if (n > 6 && !strncmp(s, "sext(", 5) && s[n - 1] == ')') {
        s[n - 1] = 0;
        s += 5;
    }
    if (parse_register(s, t) || parse_number(s, t)) return;
    t->kind = TOK_OTHER;
}

static void strip_suffix(struct emu_text *x) {
    static const struct {
        const char *suffix;
        uint8_t encoding;
    } suffixes[] = {{"_e64_dpp", ENC_DPP},
                    {"_dpp", ENC_DPP},
                    {"_sdwa", ENC_SDWA},
                    {"_e32", ENC_PLAIN},
                    {"_e64", ENC_VOP3}};
    size_t n = strlen(x->name);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t m = strlen(suffixes[i].suffix);
        if (n > m && !strcmp(x->name + n - m, suffixes[i].suffix)) {
            x->name[n - m] = 0;
            x->dpp = suffixes[i].encoding == ENC_DPP;
            /* from gfx11 on, DPP is something that most encodings can have */
            if (x->gen < GEN_11) x->encoding = suffixes[i].encoding;
            return;
        }
    }
}

bool isa_parse(const char *line, struct emu_text *out) {
    while (isspace((unsigned char)*line))
        line++;
    size_t n = strcspn(line, " \t");
    if (!n || n >= sizeof out->name || strstr(line, "/*")) return false;
    memcpy(out->name, line, n);
    out->name[n] = 0;
    uint32_t top = out->word[0] >> 26;
    out->dpp = false;
    if (out->gen >= GEN_11)
        out->encoding = top == 0x35                    ? ENC_VOP3
                        : (out->word[0] >> 24) == 0xcc ? ENC_VOP3P
                                                       : ENC_PLAIN;
    else
        out->encoding =
            top == 0x34 ? ((out->word[0] >> 23) == 0x1a7 ? ENC_VOP3P : ENC_VOP3) : ENC_PLAIN;
    strip_suffix(out);
    line += n;
    out->ntok = 0;
    while (*line) {
        while (*line == ' ' || *line == '\t')
            line++;
        char word[96];
        size_t w = 0;
        int depth = 0;
        bool done = false; /* the rest up to the comma is modifiers */
        for (; *line && (*line != ',' || depth); line++) {
            if (*line == '(' || *line == '[') depth++;
            if (*line == ')' || *line == ']') depth--;
            if (*line == ' ' && !depth) done = true;
            if (!done && w + 1 < sizeof word) word[w++] = *line;
        }
        word[w] = 0;
        if (*line == ',') line++;
        if (!w) continue;
        if (out->ntok == sizeof out->tok / sizeof *out->tok) return false;
        parse_operand(word, &out->tok[out->ntok++]);
    }
    return true;
}
