#include "ir/base/names.h"
#include "ir/base/table.h"

struct entry {
    const char *name;
    int next; /* number to try for the next one of this base */
};

struct et_names {
    et_arena *arena;
    et_table table;
};

et_names *et_names_create(et_arena *a) {
    et_names *t = et_alloc(a, sizeof *t);
    t->arena = a;
    return t;
}

static const char *add(et_names *t, const char *name) {
    struct entry *e = et_alloc(t->arena, sizeof *e);
    *e = (struct entry){et_strdup(t->arena, name), 2};
    et_table_add(t->arena, &t->table, e);
    return e->name;
}

const char *et_names_add(et_names *t, const char *base, char separator) {
    struct entry *e = et_table_find(&t->table, base);
    if (!e) return add(t, base);
    for (;;) {
        const char *name = et_printf(t->arena, "%s%c%d", base, separator, e->next++);
        if (!et_table_find(&t->table, name)) return add(t, name);
    }
}
