/* Keys and values in pages: which pages a sequence gets, and who gives way when there are none. Of
 * an engine whose kernel has no pages nothing here does anything. */
#include "examples/llm/engine/kept/pages.h"
#include "examples/llm/engine/parts.h"
#include <stdlib.h>

static int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* ---- what is there already ---- */

static int32_t last_page(const struct sequence *s) {
    return s->npages ? s->pages[s->npages - 1] : -1;
}

/* A page that begins as the rest of the prompt does is of use too, but it has been given to what
 * follows there and is going to be written: so it is copied. A copy takes as long as a few tokens.
 */
static void copy_like(struct engine *e, struct sequence *s, int64_t rest) {
    char err[LLM_ERR];
    int64_t common, size = e->sizes.page;
    int64_t n = rest < size ? rest : size;
    if (n * 4 < size) return;
    int32_t like = pages_find_like(e->pages, last_page(s), s->ids + s->npages * size, n, &common);
    if (like < 0) return;
    int32_t own = common * 4 < size ? -1 : pages_take(e->pages);
    if (own >= 0 && lm_copy_page(e->lm, own, like, err)) {
        s->pages[s->npages++] = own;
        s->fed += (size_t)common;
    } else if (own >= 0) {
        pages_drop(e->pages, own);
    }
    pages_drop(e->pages, like);
}

/* Pages from N tokens on are given back: what layers carry along them is not there. */
static void give_back(struct engine *e, struct sequence *s, size_t n) {
    int64_t keeps = (int64_t)n / e->sizes.page;
    pages_drop_all(e->pages, s->pages + keeps, s->npages - keeps);
    s->npages = s->nkept = keeps;
    s->fed = n;
}

size_t paged_begin(struct engine *e, struct sequence *s) {
    int64_t size = e->sizes.page, most = (int64_t)s->n - 1;
    s->npages = s->nkept = 0;
    s->fed = 0;
    bool forget = e->forgets || s->job.tells_prompt;
    while (!forget && (s->npages + 1) * size <= most) {
        int32_t page = pages_find(e->pages, last_page(s), s->ids + s->npages * size);
        if (page < 0) break;
        s->pages[s->npages++] = page;
    }
    s->nkept = s->npages;
    s->fed = (size_t)(s->npages * size);
    size_t found = s->fed;
    if (e->recurs)
        give_back(e, s, forget ? 0 : states_find(e, s, found));
    else if (!forget)
        copy_like(e, s, most - (int64_t)s->fed);
    return found;
}

void paged_end(struct engine *e, struct sequence *s) {
    if (!e->pages) return;
    pages_drop_all(e->pages, s->pages, s->npages);
    s->npages = s->nkept = 0;
}

void paged_lost(struct engine *e) {
    if (!e->pages) return;
    pages_clear(e->pages);
    for (int64_t i = 0; i < e->nactive; i++)
        e->active[i]->npages = e->active[i]->nkept = 0;
}

void paged_keep(struct engine *e, struct sequence *s) {
    int64_t size = e->sizes.page;
    if (!e->pages || e->forgets) return;
    for (; (s->nkept + 1) * size <= (int64_t)s->fed; s->nkept++) {
        int32_t before = s->nkept ? s->pages[s->nkept - 1] : -1;
        s->pages[s->nkept] =
            pages_keep(e->pages, s->pages[s->nkept], before, s->ids + s->nkept * size);
    }
}

/* ---- room ---- */

/* Pages that are still free are not so for long where prompts are being read. */
static int64_t promised(const struct engine *e) {
    int64_t n = 0;
    for (int64_t i = 0; i < e->nactive; i++) {
        const struct sequence *s = e->active[i];
        int64_t needs = ceil_div((int64_t)s->n, e->sizes.page);
        /* One more for what it writes, or it would soon take one from those that came later. */
        n += (needs > s->npages ? needs - s->npages : 0) + 1;
    }
    return n;
}

bool paged_fits(const struct engine *e, const struct sequence *s) {
    int64_t size = e->sizes.page, shared = 0;
    if (!e->pages || !e->nactive) return true;
    int32_t before = -1;
    for (int64_t i = 0; !e->forgets && (i + 1) * size < (int64_t)s->n; i++) {
        before = pages_look(e->pages, before, s->ids + i * size);
        if (before < 0 || !pages_is_held(e->pages, before)) break;
        shared++;
    }
    return ceil_div((int64_t)s->n, size) - shared + promised(e) <= pages_free_count(e->pages);
}

int64_t paged_reach(struct engine *e, struct sequence *s, int64_t until) {
    int64_t size = e->sizes.page;
    if (!e->pages) return until;
    while (s->npages * size < until) {
        int32_t page = pages_take(e->pages);
        if (page < 0) return s->npages * size;
        s->pages[s->npages++] = page;
    }
    return until;
}

/* From the oldest on: one for which no page is left takes those of the youngest, which may be
 * itself. Alone a sequence finds a page, since none may have more tokens than all pages hold. */
void paged_reserve(struct engine *e) {
    if (!e->pages) return;
    for (int64_t i = 0; i < e->nactive; i++) {
        struct sequence *s = e->active[i];
        int64_t next = (int64_t)s->fed + 1;
        while (i < e->nactive && paged_reach(e, s, next) < next)
            engine_preempt(e, e->active[e->nactive - 1]);
    }
}

int64_t paged_used(const struct engine *e) {
    return (e->sizes.pages - pages_free_count(e->pages)) * e->sizes.page;
}
