/* Names that a program declares, and finding them. */
#include "ir/eti/parser.h"

static eti_name *find_name(const eti_parser *p, char sign, const char *name) {
    return et_table_find(&p->names, et_printf(p->arena, "%c%s", sign, name));
}

/* NULL, or the one of this name that was there before. */
static eti_name *enter(eti_parser *p, char sign, const char *name, et_loc loc, int index) {
    eti_name *n = find_name(p, sign, name);
    if (n) return n;
    n = et_alloc(p->arena, sizeof *n);
    *n = (eti_name){et_printf(p->arena, "%c%s", sign, name), index, loc};
    et_table_add(p->arena, &p->names, n);
    return NULL;
}

static bool declare(eti_parser *p, char sign, const char *name, et_loc loc, int index, bool fits) {
    if (!fits) {
        enter(p, sign, name, loc, -1);
        return false;
    }
    const eti_name *was = enter(p, sign, name, loc, index);
    if (!was) return true;
    if (!p->broken) {
        eti_error(p, loc, "'%s' is declared twice", name);
        if (was->loc.line) et_diag(p->diags, ET_NOTE, was->loc, "first here");
    }
    return false;
}

bool eti_declare(eti_parser *p, char sign, const char *name, et_loc loc, int index) {
    bool fits = sign == 's' || p->broken || eti_check_model(p, name, loc);
    return declare(p, sign, name, loc, index, fits);
}

bool eti_declare_made(eti_parser *p, char sign, const char *name, et_loc loc, int index) {
    bool fits = p->broken || !p->g->nmodels || eti_check_model(p, name, loc);
    return declare(p, sign, name, loc, index, fits);
}

void eti_poison(eti_parser *p, char sign, const char *name, et_loc loc) {
    enter(p, sign, name, loc, -1);
}

bool eti_known(const eti_parser *p, char sign, const char *name) {
    return find_name(p, sign, name) != NULL;
}

et_loc eti_loc_of(const eti_parser *p, char sign, const char *name) {
    const eti_name *n = find_name(p, sign, name);
    return n ? n->loc : (et_loc){.file = p->file, .line = 1, .col = 1, .len = 1};
}

int eti_find(eti_parser *p, char sign, const char *name, et_loc loc, const char *what) {
    const eti_name *n = find_name(p, sign, name);
    if (n && p->g->nmodels && n->index != -1 && !eti_of_this_model(p, name, loc)) return -1;
    if (n) {
        p->errors += n->index == -1;
        return n->index;
    }
    eti_error(p, loc, "there is no %s called '%s'", what, name);
    return -1;
}
