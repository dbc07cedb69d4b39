/* whole.c - texts that become vectors or scores: of encoders, whose launches have whole texts, and
 * of decoders, where they are prompts that nothing follows. */
#include "examples/llm/engine/parts.h"

/* The oldest first, so that none waits for ever; where it does not fit any more, a shorter one may.
 */
int64_t whole_fill(struct engine *e) {
    int64_t tokens = 0;
    e->is_done = false;
    e->steps = 1;
    e->guessed = 0;
    for (int64_t i = 0; i < e->nactive; i++) {
        struct sequence *s = e->active[i];
        s->had = s->fed = 0;
        s->row = -1;
        s->launched = (int64_t)s->n <= e->batch - tokens && i < e->lm->slots;
        if (!s->launched) continue;
        size_t second = s->job.second < s->n ? s->job.second : s->n;
        s->row = lm_add_text(e->lm, s->ids, (int64_t)s->n, (int64_t)second);
        s->fed = s->n;
        tokens += (int64_t)s->n;
    }
    e->stats.last_prompts = tokens;
    e->stats.last_texts = 0;
    return tokens;
}

void whole_take(struct engine *e, struct sequence *s) {
    char err[LLM_ERR];
    if (!lm_read_row(e->lm, s->row, e->row, err)) {
        engine_finish(e, s, ENGINE_FAILED, err);
        return;
    }
    s->result.first = s->result.last = lm_now();
    s->job.sink.vector(s->job.sink.user, e->row, e->sizes.width);
    engine_finish(e, s, ENGINE_LENGTH, NULL);
}
