/* NVIDIA's GPUs: LLVM's target NVPTX; the file is PTX, or what ptxas makes of it. */
#include "codegen/targets/nvptx/nvptx.h"
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>

/* Makes addresses in shared memory 32 bits wide, which halves their registers. In LLVM that is an
 * option of the whole process, to be set once. */
static void short_addresses(void) {
    static bool given;
    const char *const argv[] = {"etcc", "-nvptx-short-ptr"};
    if (!given) LLVMParseCommandLineOptions(2, argv, NULL);
    given = true;
}

static void initialize(void) {
    short_addresses();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
}

static const char *features(const cg *g) {
    return nvptx_of(g)->features;
}

const char *nvptx_processor(const cg *g) {
    return nvptx_of(g)->processor ? nvptx_of(g)->processor : g->t->name;
}

static void begin_module(cg *g) {
    (void)g;
}

const et_family et_nvptx = {
    .triple = "nvptx64-nvidia-cuda",
    .global = 1,
    .local = 3,
    .scope = {[ET_SCOPE_WORKGROUP] = "block",
              [ET_SCOPE_DIE] = "device",
              [ET_SCOPE_DEVICE] = "device",
              [ET_SCOPE_SYSTEM] = ""},
    .processor = nvptx_processor,
    .features = features,
    .initialize = initialize,
    .begin_module = begin_module,
    .declare_kernel = nvptx_declare_kernel,
    .declare_body = nvptx_declare_body,
    .call_body = nvptx_call_body,
    .declare_local = nvptx_declare_local,
    .keep_local = nvptx_keep_local,
    .hide = nvptx_hide,
    .opaque = nvptx_opaque,
    .anew = nvptx_anew,
    .same = nvptx_same,
    .workgroup = nvptx_workgroup,
    .workitem = nvptx_workitem,
    .die = nvptx_die,
    .hardware_id = nvptx_hardware_id,
    .first_active = nvptx_first_active,
    .read_lane = nvptx_read_lane,
    .shuffle_xor = nvptx_shuffle_xor,
    .ballot = nvptx_ballot,
    .lanes_before = nvptx_lanes_before,
    .cumulative = true,
    .wave_meets = nvptx_wave_meets,
    .barrier = nvptx_barrier,
    .die_acquire = nvptx_die_acquire,
    .clock = nvptx_clock,
    .nap = nvptx_nap,
    .looks = 64,
    .sets = 4,
    .load_words = nvptx_load_words,
    .mark = nvptx_mark,
    .stream = &nvptx_stream,
    .variants = true,
    .order_loads = nvptx_order_loads,
    .copy = nvptx_copy,
    .copy_few = nvptx_copy_few,
    .copy_group = nvptx_copy_group,
    .copied = nvptx_copied,
    .prefetch = nvptx_prefetch,
    .multiply = nvptx_multiply,
    .multiply_packed = nvptx_multiply_packed,
    .load_blocks = nvptx_load_blocks,
    .multiply8 = nvptx_multiply8,
    .warpgroup = &nvptx_wgmma,
    .boxes = &nvptx_bulk,
    .pairs = &nvptx_pairs,
    .divide = nvptx_divide,
    .root = nvptx_root,
    .exp2 = nvptx_exp2,
    .math = nvptx_math,
    .link_math = nvptx_link_math,
    .embed = nvptx_embed,
    .package = nvptx_package,
    .inspect = nvptx_inspect,
};

const struct nvptx *nvptx_of(const cg *g) {
    return g->t->own;
}
