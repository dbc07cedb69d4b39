/* Queues of tasks, as rings (ir/program/queue.h): push, pop, idle. Done by wave 0 of a workgroup,
 * uniformly except for slots that its lanes fill side by side. */
#include "codegen/kernel/kernel.h"

/* Cells of more tasks than this are for the whole device. */
enum { FEW = 16 };
enum { NO_TICKET = -1 };

static bool has_dies(const cg *g) {
    return g->t->dies;
}

static const et_region *region_of(const cg *g, int region) {
    return &g->queues.region[region];
}

/* Address of a word of the ring that is number RING; the device's comes after the dies'. */
static val ring_word(cg *g, const et_region *r, val ring, int word) {
    return cg_word(g, cg_addi(g, cg_muli(g, ring, ET_DIE_RING), r->rings + word));
}

static val device_ring(cg *g) {
    return cg_i32(g, ET_QUEUE_DIES);
}

/* ---- push ---- */

/* Reserve room for COUNT tasks in this die's ring. Returns which ring to use. */
static val reserve(cg *g, const et_region *r, val count) {
    if (!has_dies(g)) return device_ring(g);
    val die = cg_die(g);
    cg_if few, full;
    cg_if_begin(g, &few, cg_icmp(g, LLVMIntULE, count, cg_i32(g, FEW)));
    val room = ring_word(g, r, die, ET_RING_COUNT);
    val old = cg_atomic_once(g, LLVMAtomicRMWBinOpAdd, room, count);
    cg_if_begin(g, &full, cg_icmp(g, LLVMIntUGT, cg_add(g, old, count), cg_i32(g, ET_DIE_SLOTS)));
    cg_atomic_tell(g, LLVMAtomicRMWBinOpSub, room, count);
    cg_if_end(g, &full);
    val inner = cg_if_value(g, &full, device_ring(g), die);
    cg_if_end(g, &few);
    return cg_if_value(g, &few, inner, device_ring(g));
}

/* A slot of a die's ring may still hold the task of the round before, whose consumer has its ticket
 * and is about to come. Once the launch is aborted no task is popped. The loop is uniform, ACTIVE
 * says which lanes have a task: loops that lanes leave one by one cost LLVM's structurizer the
 * scalars of all that is around them. */
static void fill_die_slots(cg *g, val active, val slot, val task) {
    block before = cg_here(g), head = cg_block(g, "fill"), nap = cg_block(g, "nap"),
          done = cg_block(g, "filled");
    val zero = cg_i32(g, 0);
    cg_br(g, head);
    cg_at(g, head);
    val left = LLVMBuildPhi(g->b, g->i1, "");
    cg_if mine;
    cg_if_begin(g, &mine, left);
    val full = LLVMBuildNot(g->b, cg_atomic_swap(g, slot, zero, task), "");
    cg_if_end(g, &mine);
    val still = LLVMBuildPhi(g->b, g->i1, ""), no = LLVMConstInt(g->i1, 0, false);
    LLVMAddIncoming(still, (val[]){full, no}, (block[]){mine.then, mine.otherwise}, 2);
    cg_cond(g, cg_none(g, cg_ballot(g, still)), done, nap);
    cg_at(g, nap);
    g->family->nap(g, CG_NAP);
    val aborted = cg_uniform(g, cg_atomic_load(g, g->control));
    cg_cond(g, cg_quits(g, aborted), done, head);
    LLVMAddIncoming(left, (val[]){active, still}, (block[]){before, nap}, 2);
    cg_at(g, done);
}

/* Slots of the device's ring are each used once. */
static void fill_device_slots(cg *g, val active, val slot, val task) {
    cg_if mine;
    cg_if_begin(g, &mine, active);
    cg_atomic_store(g, slot, task);
    cg_if_end(g, &mine);
}

/* COUNT tasks on their way into a queue's ring. */
struct put {
    const et_region *r;
    val count, ring, on_device, mask, ticket;
};

static struct put put_begin(cg *g, int region, val count) {
    struct put p = {.r = region_of(g, region), .count = count};
    p.ring = cg_uniform(g, reserve(g, p.r, count));
    p.on_device = cg_icmp(g, LLVMIntEQ, p.ring, device_ring(g));
    p.mask = cg_select(g, p.on_device, cg_i32(g, p.r->slots - 1), cg_i32(g, ET_DIE_SLOTS - 1));
    p.ticket =
        cg_atomic_once(g, LLVMAtomicRMWBinOpAdd, ring_word(g, p.r, p.ring, ET_RING_TAIL), count);
    return p;
}

/* In every active lane its task, number I of the COUNT. */
static void put_lanes(cg *g, const struct put *p, val active, val i, val task) {
    val at = LLVMBuildAnd(g->b, cg_add(g, p->ticket, i), p->mask, "");
    val slots = cg_addi(g, cg_muli(g, p->ring, ET_DIE_RING), p->r->rings + ET_RING_SLOTS);
    val slot = cg_word(g, cg_add(g, slots, at));
    if (has_dies(g)) {
        block device = cg_block(g, "device"), die = cg_block(g, "die"), put = cg_block(g, "put");
        cg_cond(g, p->on_device, device, die);
        cg_at(g, device);
        fill_device_slots(g, active, slot, task);
        cg_br(g, put);
        cg_at(g, die);
        fill_die_slots(g, active, slot, task);
        cg_br(g, put);
        cg_at(g, put);
    } else {
        fill_device_slots(g, active, slot, task);
    }
}

/* Who takes by ticket looks at slots alone. */
static void put_end(cg *g, const struct put *p) {
    if (!has_dies(g)) return;
    cg_atomic_tell(g, LLVMAtomicRMWBinOpAdd, ring_word(g, p->r, p->ring, ET_RING_PUBLISHED),
                   p->count);
}

void cg_put(cg *g, int region, val count, cg_task_fn fn, void *ctx) {
    struct put p = put_begin(g, region, count);
    val none = NULL;
    cg_for f;
    val first = cg_for_begin(g, &f, cg_i32(g, 0), count, cg_i32(g, g->t->wave), false, 0, &none);
    val i = cg_add(g, first, g->lane), active = cg_icmp(g, LLVMIntULT, i, count);
    put_lanes(g, &p, active, i, fn(g, ctx, i));
    cg_for_end(g, &f, &none);
    put_end(g, &p);
}

void cg_put_each(cg *g, int region, val active, val each, cg_task_fn fn, void *ctx) {
    val lanes = cg_ballot(g, active), none = NULL;
    val first = cg_mul(g, g->family->lanes_before(g, lanes), each);
    struct put p = put_begin(g, region, cg_mul(g, cg_count_lanes(g, lanes), each));
    cg_for f;
    val i = cg_for_begin(g, &f, cg_i32(g, 0), each, cg_i32(g, 1), false, 0, &none);
    put_lanes(g, &p, active, cg_add(g, first, i), fn(g, ctx, i));
    cg_for_end(g, &f, &none);
    put_end(g, &p);
}

/* ---- pop ---- */

/* The ring to pop from, by the mask of those with tasks: this die's, the device's, the next die's.
 */
static val choose(cg *g, val mask) {
    if (!has_dies(g)) return device_ring(g);
    if (LLVMTypeOf(mask) == g->i64) mask = LLVMBuildTrunc(g->b, mask, g->i32, "");
    val die = cg_die(g), zero = cg_i32(g, 0);
    val own = LLVMBuildAnd(g->b, mask, LLVMBuildShl(g->b, cg_i32(g, 1), die, ""), "");
    val shared = LLVMBuildAnd(g->b, mask, cg_i32(g, 1 << ET_QUEUE_DIES), "");
    val above = LLVMBuildAnd(g->b, mask, LLVMBuildShl(g->b, cg_i32(g, -1), die, ""), "");
    val other = cg_select(g, cg_icmp(g, LLVMIntNE, above, zero), above, mask);
    val from = cg_select(g, cg_icmp(g, LLVMIntNE, shared, zero), shared, other);
    return cg_first_lane(g, cg_select(g, cg_icmp(g, LLVMIntNE, own, zero), own, from));
}

/* Rings with tasks, by lane. */
static val look(cg *g, const et_region *r) {
    val ring = device_ring(g), valid = NULL;
    if (has_dies(g)) {
        valid = cg_icmp(g, LLVMIntULE, g->lane, ring);
        ring = cg_select(g, valid, g->lane, ring);
    }
    val n = cg_atomic_load(g, ring_word(g, r, ring, ET_RING_PUBLISHED));
    val some = cg_icmp(g, LLVMIntSGT, n, cg_i32(g, 0));
    if (valid) some = LLVMBuildAnd(g->b, some, valid, "");
    return cg_ballot(g, some);
}

/* The word in the slot of a ticket, whose task may not have been written yet. */
static val look_into(cg *g, val slot, val on_device) {
    if (!has_dies(g)) return cg_uniform(g, cg_atomic_load(g, slot));
    block device = cg_block(g, "device"), die = cg_block(g, "die"), seen = cg_block(g, "seen");
    cg_cond(g, on_device, device, die);
    cg_at(g, device);
    val a = cg_uniform(g, cg_atomic_load(g, slot));
    cg_br(g, seen);
    cg_at(g, die);
    val b = cg_atomic_once(g, LLVMAtomicRMWBinOpXchg, slot, cg_i32(g, 0));
    block from = cg_here(g);
    cg_br(g, seen);
    cg_at(g, seen);
    val phi = LLVMBuildPhi(g->b, g->i32, "");
    LLVMAddIncoming(phi, (val[]){a, b}, (block[]){device, from}, 2);
    return phi;
}

/* The ways out of cg_pop. */
struct exits {
    block out;
    val task[6];
    block from[6];
    int n;
};

static void leave(cg *g, struct exits *e, val task) {
    e->task[e->n] = task;
    e->from[e->n++] = cg_here(g);
    cg_br(g, e->out);
}

static void give_up(cg *g, struct exits *e, const cg_spin *s, const cg_none_left *what, val taken) {
    cg_at(g, s->aborted);
    LLVMBuildStore(g->b, cg_i32(g, CG_ABORTED), cg_flag(g, CG_QUIT));
    leave(g, e, cg_i32(g, CG_TAKE_FAILED));
    cg_at(g, s->expired);
    val say[] = {
        [CG_QUIT] = cg_i32(g, CG_EXPIRED), [CG_TASK] = cg_i32(g, g->first_task + what->grid),
        [CG_TILE] = cg_i32(g, 0),          [CG_EVENT] = cg_i32(g, 0),
        [CG_INDEX] = what->instance,       [CG_COUNT] = taken,
        [CG_NEED] = what->tasks,           [CG_STATUS] = cg_i32(g, ETRT_REPORT_IDLE)};
    for (int i = 0; i <= CG_STATUS; i++)
        LLVMBuildStore(g->b, say[i], cg_flag(g, i));
    leave(g, e, cg_i32(g, CG_TAKE_FAILED));
}

/* Goes on at AGAIN unless all tasks of the region's instance have been popped, which POPPED counts.
 * Returns how many have. */
static val leave_at_end(cg *g, struct exits *e, val popped, const cg_none_left *what, block again) {
    block over = cg_block(g, "over");
    val taken = cg_uniform(g, cg_atomic_load(g, popped));
    cg_cond(g, cg_icmp(g, LLVMIntUGE, taken, what->tasks), over, again);
    cg_at(g, over);
    leave(g, e, cg_i32(g, 0));
    return taken;
}

/* Where all ways out meet. */
static val task_of(cg *g, struct exits *e) {
    LLVMMoveBasicBlockAfter(e->out, LLVMGetLastBasicBlock(g->fn));
    cg_at(g, e->out);
    val phi = LLVMBuildPhi(g->b, g->i32, "");
    LLVMAddIncoming(phi, e->task, e->from, (unsigned)e->n);
    return phi;
}

/* The task of a ticket of this ring, once it is in its slot. */
static void take_from(cg *g, const et_region *r, val ring, struct exits *e,
                      const cg_none_left *what) {
    val on_device = cg_icmp(g, LLVMIntEQ, ring, device_ring(g));
    val mask = cg_select(g, on_device, cg_i32(g, r->slots - 1), cg_i32(g, ET_DIE_SLOTS - 1));
    val ticket =
        cg_atomic_once(g, LLVMAtomicRMWBinOpAdd, ring_word(g, r, ring, ET_RING_HEAD), cg_i32(g, 1));
    val slot =
        cg_word(g, cg_add(g, cg_addi(g, cg_muli(g, ring, ET_DIE_RING), r->rings + ET_RING_SLOTS),
                          LLVMBuildAnd(g->b, ticket, mask, "")));
    block got = cg_block(g, "got"), empty = cg_block(g, "empty");
    cg_spin s;
    cg_spin_begin(g, &s);
    val task = look_into(g, slot, on_device);
    cg_cond(g, cg_icmp(g, LLVMIntNE, task, cg_i32(g, 0)), got, empty);
    cg_at(g, empty);
    cg_spin_again(g, &s);
    give_up(g, e, &s, what, cg_i32(g, 0));
    cg_at(g, got);
    if (has_dies(g)) {
        cg_if die;
        cg_if_begin(g, &die, LLVMBuildNot(g->b, on_device, ""));
        cg_atomic_tell(g, LLVMAtomicRMWBinOpSub, ring_word(g, r, ring, ET_RING_COUNT),
                       cg_i32(g, 1));
        cg_if_end(g, &die);
    }
    leave(g, e, task);
}

/* ---- popping, where there is one ring ----
 *
 * A workgroup has a ticket, which is the number of the slot that its next task will be in: it looks
 * there, and nobody else does. Slots are filled in order, so no task waits while a workgroup looks
 * for one. Where all tasks of the region's instance have been popped the ticket is for a later one,
 * or for none. */

val cg_ticket_place(cg *g) {
    if (has_dies(g)) return NULL;
    block here = cg_here(g);
    LLVMPositionBuilderBefore(g->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(g->fn)));
    val place = LLVMBuildAlloca(g->b, g->i32, "");
    LLVMBuildStore(g->b, cg_i32(g, NO_TICKET), place);
    if (g->in_step) {
        LLVMPositionBuilderBefore(g->b, LLVMGetFirstInstruction(g->step_begin));
        LLVMBuildStore(g->b, cg_i32(g, NO_TICKET), place);
    }
    cg_at(g, here);
    return place;
}

static void take_ticket(cg *g, int region, val place) {
    val head = ring_word(g, region_of(g, region), device_ring(g), ET_RING_HEAD);
    val ticket = LLVMBuildLoad2(g->b, g->i32, place, "");
    cg_if none;
    cg_if_begin(g, &none, cg_icmp(g, LLVMIntEQ, cg_uniform(g, ticket), cg_i32(g, NO_TICKET)));
    LLVMBuildStore(g->b, cg_atomic_once(g, LLVMAtomicRMWBinOpAdd, head, cg_i32(g, 1)), place);
    cg_if_end(g, &none);
}

void cg_take_next_ticket(cg *g, int grid) {
    cg_if me;
    if (!g->ticket || g->in_body) return;
    cg_if_begin(g, &me, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, 0)));
    take_ticket(g, g->queues.grid[grid].region, g->ticket);
    cg_if_end(g, &me);
}

static val pop_by_ticket(cg *g, int region, const cg_none_left *what) {
    const et_region *r = region_of(g, region);
    struct exits e = {.out = cg_block(g, "taken")};
    block got = cg_block(g, "got"), none = cg_block(g, "none"), again = cg_block(g, "again");
    val zero = cg_i32(g, 0);
    val popped = cg_word(g, cg_addi(g, cg_muli(g, what->instance, ET_LINE_WORDS), r->popped));
    take_ticket(g, region, what->ticket);
    val ticket = cg_uniform(g, LLVMBuildLoad2(g->b, g->i32, what->ticket, ""));
    val is = cg_icmp(g, LLVMIntULT, ticket, cg_i32(g, r->slots)); /* else there is no such slot */
    val at = cg_addi(g, cg_muli(g, device_ring(g), ET_DIE_RING), r->rings + ET_RING_SLOTS);
    val slot = cg_word(g, cg_add(g, at, cg_select(g, is, ticket, zero)));
    cg_spin s;
    cg_spin_begin(g, &s);
    cg_trace_look(g);
    val task = cg_select(g, is, cg_uniform(g, cg_atomic_load(g, slot)), zero);
    cg_cond(g, cg_icmp(g, LLVMIntNE, task, zero), got, none);

    cg_at(g, got);
    LLVMBuildStore(g->b, cg_i32(g, NO_TICKET), what->ticket);
    leave(g, &e, task);

    cg_at(g, none);
    val taken = leave_at_end(g, &e, popped, what, again);
    cg_at(g, again);
    cg_spin_again(g, &s);
    give_up(g, &e, &s, what, taken);

    return task_of(g, &e);
}

val cg_pop(cg *g, int region, const cg_none_left *what) {
    if (what->ticket) return pop_by_ticket(g, region, what);
    const et_region *r = region_of(g, region);
    struct exits e = {.out = cg_block(g, "taken")};
    block some = cg_block(g, "some"), mine = cg_block(g, "mine"), late = cg_block(g, "late"),
          idle = cg_block(g, "idle"), again = cg_block(g, "again");
    val one = cg_i32(g, 1), zero = cg_i32(g, 0);
    val popped = cg_word(g, cg_addi(g, cg_muli(g, what->instance, ET_LINE_WORDS), r->popped));
    cg_spin s;
    cg_spin_begin(g, &s);
    cg_trace_look(g);
    val mask = look(g, r);
    cg_cond(g, cg_none(g, mask), idle, some);

    cg_at(g, some);
    val ring = choose(g, mask), published = ring_word(g, r, ring, ET_RING_PUBLISHED);
    val left = cg_atomic_once(g, LLVMAtomicRMWBinOpSub, published, one);
    cg_cond(g, cg_icmp(g, LLVMIntSGT, left, zero), mine, late);
    cg_at(g, late); /* another took it */
    cg_atomic_tell(g, LLVMAtomicRMWBinOpAdd, published, one);
    block undone = cg_here(g);
    cg_br(g, again);
    cg_at(g, mine);
    take_from(g, r, ring, &e, what);

    cg_at(g, idle);
    val taken = leave_at_end(g, &e, popped, what, again);

    cg_at(g, again);
    val seen = LLVMBuildPhi(g->b, g->i32, "");
    LLVMAddIncoming(seen, (val[]){zero, taken}, (block[]){undone, idle}, 2);
    cg_spin_again(g, &s);
    give_up(g, &e, &s, what, seen);

    return task_of(g, &e);
}

void cg_received(cg *g, int region, val instance) {
    const et_region *r = region_of(g, region);
    val word = cg_addi(g, cg_muli(g, instance, ET_LINE_WORDS), r->popped);
    cg_atomic_tell(g, LLVMAtomicRMWBinOpAdd, cg_word(g, word), cg_i32(g, 1));
}
