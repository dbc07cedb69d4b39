/* AMD's GPUs: LLVM's target AMDGPU, code objects for HSA. */
#include "codegen/targets/amdgpu/amdgpu.h"
#include <llvm-c/Target.h>

static void initialize(void) {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
}

static const char *features(const cg *g) {
    return amdgpu_of(g)->features;
}

/* Version 5 loads on every ROCm since 5.6; nothing of version 6 is used here. */
static void begin_module(cg *g) {
    LLVMAddModuleFlag(g->mod, LLVMModuleFlagBehaviorError, "amdhsa_code_object_version", 26,
                      LLVMValueAsMetadata(cg_i32(g, 500)));
}

const et_family et_amdgpu = {
    .triple = "amdgcn-amd-amdhsa",
    .global = 1,
    .local = 3,
    .opaque = amdgpu_opaque,
    .rounds_products = true,
    .scope = {[ET_SCOPE_WORKGROUP] = "workgroup",
              [ET_SCOPE_DIE] =
                  "agent", /* LLVM has no scope of a die; die_acquire is emitted by hand */
              [ET_SCOPE_DEVICE] = "agent",
              [ET_SCOPE_SYSTEM] = ""},
    .features = features,
    .initialize = initialize,
    .begin_module = begin_module,
    .declare_kernel = amdgpu_declare_kernel,
    .declare_body = amdgpu_declare_body,
    .call_body = amdgpu_call_body,
    .declare_local = amdgpu_declare_local,
    .keep_local = amdgpu_keep_local,
    .hide = amdgpu_hide,
    .workgroup = amdgpu_workgroup,
    .workitem = amdgpu_workitem,
    .die = amdgpu_die,
    .hardware_id = amdgpu_hardware_id,
    .first_active = amdgpu_first_active,
    .read_lane = amdgpu_read_lane,
    .shuffle_xor = amdgpu_shuffle_xor,
    .ballot = amdgpu_ballot,
    .lanes_before = amdgpu_lanes_before,
    .barrier = amdgpu_barrier,
    .die_acquire = amdgpu_die_acquire,
    .clock = amdgpu_clock,
    .nap = amdgpu_nap,
    .looks = 1,
    .sets = 1,
    .mark = amdgpu_mark,
    .order_loads = amdgpu_order_loads,
    .mix = amdgpu_mix,
    .load_if = amdgpu_load_if,
    .multiply = amdgpu_multiply,
    .multiply_packed = amdgpu_multiply_packed,
    .to_e4m3 = amdgpu_codes,
    .unscaled = &amdgpu_bare,
    .divide = amdgpu_divide,
    .root = amdgpu_root,
    .exp2 = amdgpu_exp2,
    .math = amdgpu_math,
    .link_math = amdgpu_link_math,
    .mend = amdgpu_mend,
    .embed = amdgpu_embed,
    .count = amdgpu_count,
    .package = amdgpu_package,
    .inspect = amdgpu_inspect,
};

const struct amdgpu *amdgpu_of(const cg *g) {
    return g->t->own;
}
