/* The producer wave: it visits the grids that the consumers visit, in the same order, and copies to
 * LDS what their tiles stream (ir/weights/stream.h). It does nothing else, and takes part in
 * no barrier but that behind the setup of the stages. */
#include "codegen/kernel/kernel.h"
#include "codegen/step/product/product.h"
#include "ir/weights/stream.h"

const et_step *cg_streamed(cg *g, int grid) {
    const et_grid *gr = &g->p->grids[grid];
    if (!g->stages_here || !gr->streamed) return NULL;
    const et_func *f = &g->p->funcs[gr->func];
    const et_step *s = &f->steps[et_stream_step(g->p, f)];
    const et_func *was = g->f;
    g->f = f;
    bool can = cg_plan(g, s)->weights == ET_WEIGHTS_STREAM;
    g->f = was;
    return can ? s : NULL;
}

bool cg_model_streams(const et_program *p, int model) {
    bool any = false;
    for (int i = 0; i < p->ngrids; i++)
        any |= p->grids[i].model == model && p->grids[i].streamed;
    return any;
}

/* Stages of a model may lie where the models before it had their locals; prefetches need no stage.
 */
bool cg_ring_enters(cg *g, int model) {
    bool streams = g->stages_here && cg_model_streams(g->p, model);
    if (g->producer && g->producer->sends) return true;
    if (g->producer && (g->producer->asks || g->producer->tells)) return streams;
    if (streams && g->producer)
        cg_ring_await_model(g, g->producer->models, g->producer->quit);
    else if (streams)
        cg_ring_model_begins(g);
    return streams || !g->producer;
}

static void produce_tile(cg *g, int grid, val tile) {
    const et_grid *gr = &g->p->grids[grid];
    int mark = cg_scope(g);
    g->f = &g->p->funcs[gr->func];
    cg_bind_tile(g, gr, tile);
    cg_producer by = *g->producer;
    by.late = gr->nawaits > 0;
    by.calm = gr->calm;
    cg_awaits(g, grid, by.quit);
    cg_contract_produce(g, cg_streamed(g, grid), &by);
    cg_scope_end(g, mark);
}

/* Called where the other waves would run a tile. */
bool cg_produces(cg *g, int grid, val tile) {
    if (!g->producer) return false;
    if (g->producer->sends) {
        cg_send_tile(g, grid, tile);
        return true;
    }
    if (g->producer->tells) {
        cg_tell_tile(g, grid, tile);
        return true;
    }
    bool any = !g->producer->asks || (g->p->ring.prefetch && !g->p->grids[grid].nawaits);
    if (any && cg_streamed(g, grid)) produce_tile(g, grid, tile);
    return true;
}

static void make_ring(cg *g) {
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->tid, cg_i32(g, 0)));
    LLVMBuildStore(g->b, cg_i32(g, CG_GO_ON), cg_flag(g, CG_QUIT));
    cg_ring_init(g);
    cg_if_end(g, &first);
    g->family->stream->meet(g, 0);
}

/* The work of the producer wave, of the wave that prefetches ahead of it, or of the one that tells.
 */
static void visit_as(cg *g, cg_producer *by, void (*visit)(cg *)) {
    cg outside = *g;
    bool brings = !by->asks && !by->tells && !by->sends;
    cg_isolate(g);
    g->wg = g->rank = g->family->workgroup(g);
    by->chunks = cg_ring_count(g);
    if (by->tells || by->sends) by->told = cg_ring_count(g);
    if (by->sends) by->sent = cg_ring_count(g);
    if (brings) cg_ring_begin(g, &by->next);
    if (brings) by->models = cg_ring_count(g);
    if (brings && g->producers > 1) {
        by->turn = cg_ring_count(g);
        val last = cg_i32(g, g->p->workgroup / g->t->wave + g->family->stream->waves(g) - 1);
        val second = cg_icmp(g, LLVMIntEQ, g->wave, last);
        LLVMBuildStore(g->b, LLVMBuildZExt(g->b, second, g->i32, ""), by->turn);
    }
    g->producer = by;
    if (g->opt->resident) {
        cg_stay_producing(g, visit);
    } else {
        visit(g);
        cg_br(g, by->quit);
    }
    *g = outside;
}

/* Continues as those that run tiles; the other waves send, and end. */
static void begin_senders(cg *g, void (*visit)(cg *)) {
    cg_if one;
    block other = cg_block(g, "send"), go = cg_block(g, "work"), quit = cg_block(g, "sent");
    cg_if_begin(g, &one, cg_icmp(g, LLVMIntEQ, g->tid, cg_i32(g, 0)));
    LLVMBuildStore(g->b, cg_i32(g, CG_GO_ON), cg_flag(g, CG_QUIT));
    cg_send_init(g);
    cg_if_end(g, &one);
    g->family->stream->meet(g, 0);
    val first = cg_i32(g, g->p->workgroup / g->t->wave);
    cg_cond(g, cg_icmp(g, LLVMIntSGE, g->wave, first), other, go);
    cg_at(g, other);
    g->family->stream->registers(g, true);
    cg_producer sends = {.quit = quit, .sends = true};
    visit_as(g, &sends, visit);
    cg_at(g, quit);
    cg_br(g, g->exit);
    cg_at(g, go);
    g->family->stream->registers(g, false);
    g->tell_phase = cg_ring_count(g);
}

/* Continues as the consumers; the other waves produce, prefetch, and end. */
void cg_begin_producer(cg *g, void (*visit)(cg *)) {
    if (g->send_at) begin_senders(g, visit);
    if (!g->ring_stages) return;
    make_ring(g);
    block other = cg_block(g, "bring"), go = cg_block(g, "work"), quit = cg_block(g, "drain");
    val first = cg_i32(g, g->p->workgroup / g->t->wave);
    cg_cond(g, cg_icmp(g, LLVMIntSGE, g->wave, first), other, go);
    cg_at(g, other);
    g->family->stream->registers(g, true);
    cg_producer brings = {.quit = quit}, asks = {.quit = quit, .asks = true},
                tells = {.quit = quit, .tells = true};
    block rest = g->exit;
    if (cg_ring_prefetches(g) || g->tell_at) rest = cg_block(g, "others");
    if (g->family->stream->waves(g) > 1) {
        block bring = cg_block(g, "brings");
        val is = cg_icmp(g, LLVMIntEQ, g->wave, first);
        val last = cg_addi(g, first, g->family->stream->waves(g) - 1);
        if (g->producers > 1) is = LLVMBuildOr(g->b, is, cg_icmp(g, LLVMIntEQ, g->wave, last), "");
        cg_cond(g, is, bring, rest);
        cg_at(g, bring);
    }
    visit_as(g, &brings, visit);
    if (cg_ring_prefetches(g)) {
        block ask = cg_block(g, "asks"), next = g->tell_at ? cg_block(g, "last") : g->exit;
        cg_at(g, rest);
        cg_cond(g, cg_icmp(g, LLVMIntEQ, g->wave, cg_addi(g, first, 1)), ask, next);
        cg_at(g, ask);
        visit_as(g, &asks, visit);
        rest = next;
    }
    if (g->tell_at) {
        block say = cg_block(g, "tells");
        cg_at(g, rest);
        cg_cond(g, cg_icmp(g, LLVMIntEQ, g->wave, cg_addi(g, first, 2)), say, g->exit);
        cg_at(g, say);
        visit_as(g, &tells, visit);
    }
    cg_at(g, quit);
    g->family->stream->drain(g);
    if (g->opt->resident) cg_leave_early(g);
    cg_br(g, g->exit);

    cg_at(g, go);
    g->family->stream->registers(g, false);
    cg_ring_begin(g, &g->consumer);
    if (g->tell_at) g->tell_phase = cg_ring_count(g);
}
