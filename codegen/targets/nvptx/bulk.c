/* TMA: boxes of a matrix are copied to shared memory by cp.async.bulk.tensor, which one thread
 * issues. The matrix is described by a tensor map of 128 bytes in memory, which the kernel makes
 * itself (tensormap.replace), so that neither the file nor the runtime needs to know of it. PTX
 * ISA, "Tensor-map" and "Data Movement and Conversion". */
#include "codegen/targets/nvptx/nvptx.h"
#include <string.h>

enum { MAP = 128, WORD = 4, MOST_ROWS = 256, ROW = 64 };

static void assemble(cg *g, const char *text, const char *constraints, int n, val *args) {
    nvptx_together(g, g->none, text, constraints, n, args);
}

/* Sets FIELD of the map at SCRATCH: 32 bits, or 64 where VALUE is an address or an i64. Without
 * VALUE the number is part of the text. */
static void put(cg *g, val scratch, const char *field, const char *number, val value) {
    char text[128];
    bool wide = value && LLVMTypeOf(value) != g->i32;
    snprintf(text, sizeof text, "tensormap.replace.tile.%s.shared::cta.b1024.b%d [$0], %s%s;",
             field, wide ? 64 : 32, number, value ? "$1" : "");
    val of[] = {scratch, value};
    assemble(g, text,
             !value ? "r,~{memory}"
             : wide ? "r,l,~{memory}"
                    : "r,r,~{memory}",
             value ? 2 : 1, of);
}

/* Sets all fields of a zeroed map but the L2 policy. Elements are 16 bits of any type: they are
 * only copied. */
static void fields(cg *g, const et_tensor_map *m, val matrix, val scratch) {
    static const char *const numbers[][2] = {
        {"rank", "1"}, {"elemtype", "1"}, {"interleave_layout", "0"}, {"fill_mode", "0"}};
    put(g, scratch, "global_address", "", matrix);
    put(g, scratch, "global_dim", "0, ", cg_i32(g, m->pitch / 2));
    put(g, scratch, "global_dim", "1, ", cg_i32(g, m->rows));
    put(g, scratch, "global_stride", "0, ", cg_i64(g, m->pitch));
    put(g, scratch, "box_dim", "0, ", cg_i32(g, m->box_bytes / 2));
    put(g, scratch, "box_dim", "1, ", cg_i32(g, m->box_rows));
    put(g, scratch, "element_stride", "0, ", cg_i32(g, 1));
    put(g, scratch, "element_stride", "1, ", cg_i32(g, 1));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        put(g, scratch, numbers[i][0], numbers[i][1], NULL);
    put(g, scratch, "swizzle_mode", m->box_bytes == ROW ? "2" : "3", NULL);
}

static void make(cg *g, const et_tensor_map *m, val matrix, val map, val scratch) {
    cg_if one;
    LLVMBuildStore(g->b, cg_i32(g, 0), cg_gep(g, scratch, cg_muli(g, g->lane, WORD)));
    nvptx_wave_meets(g);
    cg_if_begin(g, &one, cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0)));
    fields(g, m, matrix, scratch);
    cg_if_end(g, &one);
    nvptx_wave_meets(g);
    assemble(g,
             "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync."
             "aligned [$0], [$1], 128; "
             "fence.proxy.tensormap::generic.acquire.gpu [$0], 128;",
             "l,r,~{memory}", 2, (val[]){map, scratch});
}

static void init(cg *g, val barrier) {
    assemble(g, "mbarrier.init.shared.b64 [$0], 1;", "r,~{memory}", 1, &barrier);
}

/* One fence per state space: for both at once ptxas 13.0 emits a fence of device scope as well. */
static void order(cg *g) {
    assemble(g, "fence.proxy.async.shared::cta; fence.proxy.async.global;", "~{memory}", 0, NULL);
}

static void expect(cg *g, val barrier, int bytes, bool last) {
    static const char all[] = "mbarrier.arrive.expect_tx.shared.b64 _, [$0], $1;",
                      some[] = "mbarrier.expect_tx.relaxed.cta.shared.b64 [$0], $1;";
    assemble(g, last ? all : some, "r,r,~{memory}", 2, (val[]){barrier, cg_i32(g, bytes)});
}

static void copy(cg *g, val to, val map, val column, val row, val barrier, bool once) {
#define COPY "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    static const char plain[] = COPY " [$0], [$1, {$2, $3}], [$4];",
                      hinted[] = COPY ".L2::cache_hint [$0], [$1, {$2, $3}], [$4], $5;";
#undef COPY
    val args[] = {to, map, column, row, barrier, once ? nvptx_once(g) : NULL};
    const char *constraints = once ? "r,l,r,r,r,l,~{memory}" : "r,l,r,r,r,~{memory}";
    assemble(g, once ? hinted : plain, constraints, once ? 6 : 5, args);
}

/* A single instruction to LLVM, since asynchronous products are in flight. */
static void await(cg *g, val barrier, val parity) {
    assemble(g,
             "{ .reg .pred p; look: mbarrier.try_wait.parity.shared.b64 p, [$0], $1; @!p bra look; "
             "}",
             "r,r,~{memory}", 2, (val[]){barrier, parity});
}

const et_box_shape nvptx_boxes = {.map_bytes = MAP, .most_rows = MOST_ROWS};

const et_box_family nvptx_bulk = {
    .make = make,
    .init = init,
    .order = order,
    .expect = expect,
    .copy = copy,
    .await = await,
};
