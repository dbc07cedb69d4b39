/* A JSON schema as rules: its alternatives one after the other, and the rule of each set of schemas
 * once. What it says and is not done is refused by name: an answer that breaks a part of its schema
 * is worse than a request that fails. */
#include "examples/llm/grammar/schema.h"
#include <stdlib.h>
#include <string.h>

int32_t schema_refuse(struct maker *m, const char *what, const char *name) {
    llm_fail(m->err, "%s '%.80s'", what, name);
    return -1;
}

int32_t schema_text(struct maker *m, const char *text) {
    return json_rule_text(m->r, text, strlen(text));
}

void schema_alternative(struct maker *m, int32_t rule, int32_t to) {
    rules_open(m->r, rule);
    rules_refer(m->r, to);
    rules_close(m->r);
}

bool schemas_add(struct maker *m, struct schemas *set, const json_t *schema) {
    if (json_is_true(schema)) return true;
    for (int i = 0; i < set->n; i++)
        if (set->at[i] == schema) return true;
    if (set->n == MOST_SCHEMAS)
        return llm_fail(m->err, "more than %d schemas for one value are not supported",
                        MOST_SCHEMAS);
    set->at[set->n++] = schema;
    return true;
}

const json_t *schema_keep(struct maker *m, json_t *made) {
    if (made && json_array_append_new(m->made, made) == 0) return made;
    llm_fail(m->err, "out of memory");
    return NULL;
}

/* ---- references ---- */

/* "#/a/b" from the root: '~1' is '/' and '~0' is '~' in names. */
static const json_t *look_up(const json_t *at, const char *path) {
    char name[256];
    if (*path++ != '#' || strchr(path, '%')) return NULL;
    while (at && *path) {
        size_t n = 0;
        if (*path++ != '/') return NULL;
        for (; *path && *path != '/' && n + 1 < sizeof name; path++)
            if (*path == '~' && (path[1] == '0' || path[1] == '1'))
                name[n++] = *++path == '1' ? '/' : '~';
            else
                name[n++] = *path;
        if (*path && *path != '/') return NULL;
        name[n] = 0;
        at = json_is_array(at) ? json_array_get(at, strtoul(name, NULL, 10))
                               : json_object_get(at, name);
    }
    return at;
}

const json_t *schema_target(const struct maker *m, const json_t *s) {
    const json_t *path = json_object_get(s, "$ref");
    return path ? look_up(m->root, json_string_value(path) ? json_string_value(path) : "") : s;
}

/* ---- alternatives ---- */

/* Schemas of one value that were met, each with the one that led to it. */
struct branch {
    struct {
        const json_t *schema;
        int from; /* -1: it was there in the beginning */
    } met[2 * MOST_SCHEMAS];
    int nmet, ndone;
    int forks[MOST_SCHEMAS]; /* of MET: those with alternatives that were not taken yet, as */
    enum fork { ANY_OF, ONE_OF, IF, NOT } kinds[MOST_SCHEMAS];
    int nforks;
    struct schemas nots;
};

static bool meet(struct maker *m, struct branch *b, const json_t *schema, int from) {
    for (int i = from; i >= 0; i = b->met[i].from)
        if (b->met[i].schema == schema)
            return llm_fail(m->err, "the schema refers to itself without end");
    if (b->nmet == 2 * MOST_SCHEMAS)
        return llm_fail(m->err, "more than %d schemas for one value are not supported",
                        2 * MOST_SCHEMAS);
    b->met[b->nmet].schema = schema;
    b->met[b->nmet++].from = from;
    return true;
}

static bool fork_at(struct maker *m, struct branch *b, int at, enum fork kind) {
    if (b->nforks == MOST_SCHEMAS) return llm_fail(m->err, "too many alternatives in a schema");
    b->forks[b->nforks] = at;
    b->kinds[b->nforks++] = kind;
    return true;
}

static bool meet_all(struct maker *m, struct branch *b, const json_t *list, int from) {
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!meet(m, b, json_array_get(list, i), from)) return false;
    return true;
}

/* Where a property is, others must be, or more must hold: it is not there, or that. */
static bool meet_dependent(struct maker *m, struct branch *b, const json_t *s, const char *word,
                           int from) {
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(s, word), name, value) {
        bool names = json_is_array(value);
        json_t *then = names ? json_pack("{s:O}", "required", value) : json_incref(value);
        const json_t *made = schema_keep(m, json_pack("{s:[{s:{s:b}}, {s:[o]}]}", "anyOf",
                                                      "properties", name, 0, "allOf", then));
        if (!names && !json_is_object(value) && !json_is_boolean(value))
            return llm_fail(m->err, "'%s' must have names or schemas", word);
        if (!made || !meet(m, b, made, from)) return false;
    }
    return true;
}

/* One that was met: what it stands for is met too. */
static bool open(struct maker *m, struct branch *b, int at) {
    const json_t *s = b->met[at].schema;
    if (!json_is_object(s)) return true;
    if (json_object_get(s, "$ref")) {
        const json_t *to = schema_target(m, s);
        const char *path = json_string_value(json_object_get(s, "$ref"));
        if (!to) return schema_refuse(m, "leads nowhere: \"$ref\"", path ? path : "?") >= 0;
        if (!schema_check(m, to) || !meet(m, b, to, at)) return false;
    }
    if (!meet_all(m, b, json_object_get(s, "allOf"), at)) return false;
    if (!meet_dependent(m, b, s, "dependentRequired", at)) return false;
    if (!meet_dependent(m, b, s, "dependentSchemas", at)) return false;
    if (json_object_get(s, "anyOf") && !fork_at(m, b, at, ANY_OF)) return false;
    if (json_object_get(s, "oneOf") && !fork_at(m, b, at, ONE_OF)) return false;
    if (json_object_get(s, "not") && !fork_at(m, b, at, NOT)) return false;
    return !json_object_get(s, "if") || fork_at(m, b, at, IF);
}

static bool take_branches(struct maker *m, struct branch *b, int32_t rule);

/* What does not fit S: a schema of it, or S itself as what must not fit, to be tried on values. */
static bool meet_not(struct maker *m, struct branch *b, const json_t *s, int from) {
    const json_t *other = schema_negation(m, s);
    return other ? meet(m, b, other, from) : schemas_add(m, &b->nots, s);
}

static bool take_one(struct maker *m, const struct branch *b, const json_t *schemas, size_t which,
                     int from, int32_t rule) {
    struct branch *next = malloc(sizeof *next);
    if (!next) return llm_fail(m->err, "out of memory");
    *next = *b;
    const json_t *s = json_array_get(schemas, which);
    bool ok = meet(m, next, s, from);
    if (json_object_get(b->met[from].schema, "oneOf") == schemas)
        for (size_t i = 0; ok && i < json_array_size(schemas); i++)
            if (i != which && !schema_apart(m, s, json_array_get(schemas, i)))
                ok = meet_not(m, next, json_array_get(schemas, i), from);
    ok = ok && take_branches(m, next, rule);
    free(next);
    return ok;
}

/* It fits "if" and "then", or not "if" and "else". */
static bool take_if(struct maker *m, const struct branch *b, int from, int32_t rule) {
    const json_t *s = b->met[from].schema;
    bool ok = true;
    for (int yes = 0; ok && yes < 2; yes++) {
        struct branch *next = malloc(sizeof *next);
        if (!next) return llm_fail(m->err, "out of memory");
        *next = *b;
        const json_t *then = json_object_get(s, yes ? "then" : "else");
        ok = yes ? meet(m, next, json_object_get(s, "if"), from)
                 : meet_not(m, next, json_object_get(s, "if"), from);
        if (ok && then) ok = meet(m, next, then, from);
        ok = ok && take_branches(m, next, rule);
        free(next);
    }
    return ok;
}

static bool take_fork(struct maker *m, struct branch *b, int32_t rule) {
    int at = b->forks[--b->nforks];
    enum fork kind = b->kinds[b->nforks];
    const json_t *s = b->met[at].schema;
    if (kind == IF) return take_if(m, b, at, rule);
    if (kind == NOT)
        return meet_not(m, b, json_object_get(s, "not"), at) && take_branches(m, b, rule);
    const json_t *list = json_object_get(s, kind == ANY_OF ? "anyOf" : "oneOf");
    bool ok = true;
    for (size_t i = 0; ok && i < json_array_size(list); i++)
        ok = take_one(m, b, list, i, at, rule);
    return ok;
}

/* Alternatives of RULE: all that fits what B has met. B is used up. */
static bool take_branches(struct maker *m, struct branch *b, int32_t rule) {
    struct schemas set = {.n = 0};
    for (; b->ndone < b->nmet; b->ndone++) {
        const json_t *s = b->met[b->ndone].schema;
        bool again = false;
        if (json_is_false(s)) return true;
        for (int i = 0; i < b->ndone && !again; i++)
            again = b->met[i].schema == s;
        if (!again && (!schema_check(m, s) || !open(m, b, b->ndone))) return false;
    }
    if (b->nforks) return take_fork(m, b, rule);
    if (++m->branches > MOST_BRANCHES) return llm_fail(m->err, "too many alternatives in a schema");
    for (int i = 0; i < b->nmet; i++)
        if (!schemas_add(m, &set, b->met[i].schema)) return false;
    int32_t one = schema_plain(m, &set, &b->nots);
    if (one >= 0) schema_alternative(m, rule, one);
    return one >= 0;
}

/* ---- sets ---- */

struct known {
    struct schemas set;
    int32_t rule, chain;
};
enum { BUCKETS_OF_SETS = 4096 };

static uint32_t hash_of(const struct schemas *set) {
    uint64_t h = 1;
    for (int i = 0; i < set->n; i++)
        h = (h ^ (uint64_t)(uintptr_t)set->at[i]) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32) % BUCKETS_OF_SETS;
}

static int32_t find(const struct maker *m, const struct schemas *set) {
    for (int32_t i = m->table[hash_of(set)]; i >= 0; i = m->known[i].chain)
        if (m->known[i].set.n == set->n &&
            !memcmp(m->known[i].set.at, set->at, (size_t)set->n * sizeof *set->at))
            return m->known[i].rule;
    return -1;
}

static bool note(struct maker *m, const struct schemas *set, int32_t rule) {
    if (m->nknown == m->known_cap) {
        int cap = m->known_cap ? 2 * m->known_cap : 64;
        struct known *more = realloc(m->known, (size_t)cap * sizeof *more);
        if (!more) return llm_fail(m->err, "out of memory");
        m->known = more;
        m->known_cap = cap;
    }
    int32_t *bucket = &m->table[hash_of(set)];
    m->known[m->nknown] = (struct known){*set, rule, *bucket};
    *bucket = m->nknown++;
    return true;
}

/* The rule of a set is known before it is made, so that it may refer to itself. */
int32_t schema_set(struct maker *m, const struct schemas *set) {
    int32_t rule = set->n ? find(m, set) : m->value;
    if (rule >= 0) return rule;
    if (m->depth >= MOST_DEPTH) return schema_refuse(m, "too deep:", "schema");
    rule = rules_new(m->r);
    struct branch *b = calloc(1, sizeof *b);
    bool ok = (b && note(m, set, rule)) || llm_fail(m->err, "out of memory");
    for (int i = 0; ok && i < set->n; i++)
        ok = meet(m, b, set->at[i], -1);
    m->depth++;
    ok = ok && take_branches(m, b, rule);
    m->depth--;
    free(b);
    if (ok && m->r->failed) ok = llm_fail(m->err, "the schema is too large");
    return ok ? rule : -1;
}

/* ---- from the root ---- */

/* OPEN [item , item] CLOSE */
static int32_t brackets(struct maker *m, const char *left, int32_t items, const char *right) {
    return json_rule_sequence(m->r, 5, schema_text(m, left), m->blank, items, m->blank,
                              schema_text(m, right));
}

static void begin(struct maker *m) {
    struct rules *r = m->r;
    m->blank = json_rule_blank(r);
    m->comma = json_rule_sequence(r, 2, schema_text(m, ","), m->blank);
    m->colon = json_rule_sequence(r, 2, schema_text(m, ":"), m->blank);
    m->letter = json_rule_letter(r, true);
    m->string = json_rule_string(r, m->letter, 0, -1);
    m->name = json_rule_string(r, json_rule_letter(r, false), 0, -1);
    m->integer = json_rule_integer(r);
    m->number = json_rule_number(r, m->integer);
    m->value = rules_new(r);
    int32_t pair = json_rule_sequence(r, 3, m->name, m->colon, m->value);
    m->object = brackets(m, "{", rules_repeat(r, pair, 0, -1, m->comma), "}");
    int32_t list = brackets(m, "[", rules_repeat(r, m->value, 0, -1, m->comma), "]");
    const int32_t kinds[] = {m->object,
                             list,
                             m->string,
                             m->number,
                             schema_text(m, "true"),
                             schema_text(m, "false"),
                             schema_text(m, "null")};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        schema_alternative(m, m->value, kinds[i]);
}

/* What only schemas made here may say. */
static bool has_own_words(const json_t *v, int depth) {
    const char *name;
    json_t *value;
    bool has = depth > 2000;
    for (size_t i = 0; !has && i < json_array_size(v); i++)
        has = has_own_words(json_array_get(v, i), depth + 1);
    json_object_foreach((json_t *)v, name, value) has =
        has || *name == *WORD_EXCEPT || has_own_words(value, depth + 1);
    return has;
}

static void end(struct maker *m) {
    for (int i = 0; i < m->npatterns; i++)
        machine_free(m->patterns[i].machine);
    free(m->patterns);
    free(m->negated);
    free(m->lengths);
    free(m->known);
    free(m->table);
    json_decref(m->made);
}

int32_t schema_rule(struct rules *r, const json_t *s, char *err) {
    struct maker m = {.r = r, .root = s, .err = err};
    struct schemas set = {.n = 0};
    int32_t rule = -1;
    m.made = json_array();
    m.table = malloc(BUCKETS_OF_SETS * sizeof *m.table);
    if (m.made && m.table) {
        memset(m.table, 0xff, BUCKETS_OF_SETS * sizeof *m.table);
        begin(&m);
        if (!s)
            rule = m.object;
        else if (has_own_words(s, 0))
            llm_fail(err, "a keyword that begins with a control character is not supported");
        else if (schema_check(&m, s) && schemas_add(&m, &set, s))
            rule = schema_set(&m, &set);
    } else {
        llm_fail(err, "out of memory");
    }
    if (rule >= 0 && m.failed) rule = -1;
    end(&m);
    return rule;
}
