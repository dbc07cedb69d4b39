/* The graph's way to a code object. */
#include "codegen.h"
#include "driver.h"
#include "passes.h"

bool et_compile(et_graph *g, const et_options *o, et_diags *d) {
    const et_target *target = et_target_find(o->target);
    if (!target) {
        et_diag(d, ET_ERROR, (et_loc){0}, "unknown target '%s'", o->target);
        for (int i = 0; et_target_name(i); i++)
            et_diag(d, ET_NOTE, (et_loc){0}, "there is %s", et_target_name(i));
        return false;
    }
    et_pass_options passes = {
        .machine = {.waves = 4, .wave_size = 64, .lds_bytes = 65536, .cus = 304},
        .dump = o->dump,
        .dump_to = stdout,
        .time_passes = o->time_passes,
        .verbose = o->verbose};
    et_program *p;
    if (!et_passes_run(g, &passes, &p)) return false;
    if (!o->output && !o->emit_llvm) return true;
    et_codegen_options codegen = {.target = target,
                                  .output = o->output,
                                  .emit_llvm = o->emit_llvm,
                                  .opt_level = 3,
                                  .break_event = -1,
                                  .time_passes = o->time_passes};
    et_codegen_info info;
    if (!et_codegen(p, &codegen, &info)) return false;
    if (o->verbose)
        fprintf(stderr,
                "%s: %lld bytes, .text %lld; %d VGPRs, %d AGPRs, %d SGPRs, LDS %d, scratch %d\n",
                o->output ? o->output : o->emit_llvm, (long long)info.file_bytes,
                (long long)info.text_bytes, info.vgprs, info.agprs, info.sgprs, info.lds_bytes,
                info.scratch_bytes);
    return true;
}
