#!/bin/sh
# structure.sh BIN SRC WORK TARGET LLVM_BIN: the machine code for TARGET has its matrix instruction,
# its clock and its fences, no scratch, and LDS that keeps a second workgroup off the CU.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 target=$4 llvm=$5
rm -rf "$work"
mkdir -p "$work"
cd "$work"

die() {
    echo "structure.sh: $target: $*" >&2
    exit 1
}

mode=
case $target in
gfx90a) matrix=v_mfma_f32_16x16x16bf16_1k clock=s_memrealtime acquire=buffer_wbinvl1_vol lds=65536 wave=64 ;;
gfx942) matrix=v_mfma_f32_16x16x16_bf16 clock=s_memrealtime acquire='buffer_inv sc1' lds=65536 wave=64 ;;
gfx950) matrix=v_mfma_f32_16x16x32_bf16 clock=s_memrealtime acquire='buffer_inv sc1' lds=163840 wave=64 ;;
gfx1100) matrix=v_wmma_f32_16x16x16_bf16 clock=s_sendmsg_rtn_b64 acquire=buffer_gl1_inv lds=65536 wave=32 mode=0 ;;
gfx1201) matrix=v_wmma_f32_16x16x16_bf16 clock=s_sendmsg_rtn_b64 acquire='global_inv scope:SCOPE_DEV' lds=65536 wave=32 mode=0 ;;
*) die "not known to this test" ;;
esac

set -- "$src/tests/unit/import/stories-llama" "$src/examples/mlp/mlp"
if [ $wave = 32 ] && [ -n "${ETCC_LONG-}" ]; then # 256 registers and no more: real sizes are where they could run out
    for big in llama-3.2-1b qwen3-8b; do
        "$bin/etimport" "$src/bench/models/$big" --config-only -o "$big.etg"
        set -- "$@" "$big"
    done
fi
for model; do
    k=$(kernel "$bin/etcc" "$model.etg" "$target" static)
    "$llvm/llvm-readelf" --notes --dyn-syms --wide "$k" > notes.txt
    "$llvm/llvm-objdump" -d --no-show-raw-insn "$k" > code.txt
    grep -q 'private_segment_fixed_size: 0$' notes.txt || die "$model: the kernel uses scratch"
    grep -q 'vgpr_spill_count: *0$' notes.txt || die "$model: registers are spilled"
    grep -q "wavefront_size: *$wave\$" notes.txt || die "$model: waves are not of $wave"
    grep -q "amdgcn-amd-amdhsa--$target" notes.txt || die "$model: not for $target"
    used=$(sed -n 's/.*group_segment_fixed_size: *//p' notes.txt)
    [ "$used" -gt $((lds / 2)) ] || die "$model: two workgroups fit on a CU: $used bytes of LDS"
    [ "$used" -le $lds ] || die "$model: $used bytes of LDS"
    [ -z "$mode" ] || grep -q "workgroup_processor_mode: *$mode\$" notes.txt || die "$model: not CU mode"
    ! grep -q 'hidden_' notes.txt || die "$model: hidden arguments"
    grep -q "$clock" code.txt || die "$model: no $clock"
    grep -q "$acquire" code.txt || die "$model: no $acquire"
    ! grep -qE 'scratch_|s_swappc|s_call' code.txt || die "$model: scratch accesses or calls"
    case $model in
    */mlp) ;; # f32
    *) grep -q "$matrix" code.txt || die "$model: no $matrix" ;;
    esac
done
