#!/bin/sh
# calibrate.sh BIN MODEL - etbench --calibrate: a machine file that etcc takes, from programs compiled at once and
# from programs compiled before; what it refuses.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 model=$2 out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
device=emu:gfx942:cus=4:xcds=2

fail() {
    cat "$out/log" >&2
    die "$*"
}

"$bin/etbench" --calibrate --device $device --workgroups 4 -o "$out/my.machine" > "$out/log" 2>&1 ||
    fail "no machine"
grep -q '^| 4 | [0-9.e+-]* |$' "$out/log" || fail "does not tell how bandwidth grows"
grep -q '^source .*an emulator, which says nothing of a GPU' "$out/my.machine" || fail "hides that it is emulated"
for key in hbm_gbs cache_gbs_cu matrix_tflops f32_matrix_tflops vector_tflops latency_us event_us launch_us \
    pop_us pop_gap_us graph_us; do
    # On a busy machine a slope of times of the host may come out below zero.
    grep -q "^$key .* # \(measured: \|as in mi300x.machine: came out as \)" "$out/my.machine" || fail "$key is not measured"
done
for key in cus load_kb mask_us die_gbs; do
    grep -q "^$key .* # as in mi300x.machine$" "$out/my.machine" || fail "$key does not say where it is from"
done
"$bin/etcc" "$model" --machine="$out/my.machine" -o "$out/model.hsaco" > "$out/log" 2>&1 ||
    fail "the machine is not taken"

mkdir "$out/kernels" "$out/gpu"
"$bin/etbench" --calibrate --device none --target sm_90 --kernels "$out/gpu" > "$out/log" 2>&1 ||
    fail "the programs are not compiled"
[ "$(find "$out/gpu" -name '*.code' | wc -l)" = 15 ] || fail "not all programs are there"
for run in 1 2; do
    "$bin/etbench" --calibrate --device $device --workgroups 4 --kernels "$out/kernels" -q -o - > "$out/$run" 2> "$out/log" ||
        fail "run $run"
    [ "$(sed 's/ .*//' "$out/$run" | tr '\n' ' ')" = "$(sed 's/ .*//' "$out/my.machine" | tr '\n' ' ')" ] ||
        fail "other keys than before"
    find "$out/kernels" -name '*.code' -exec chmod a-w {} + # what is there is used, not made again
done
rm -f "$out/kernels/vector.code"
echo 'no code' > "$out/kernels/vector.code"
refuses 1 'vector.code' "$bin/etbench" --calibrate --device $device --workgroups 4 --kernels "$out/kernels" -o "$out/none"
[ ! -e "$out/none" ] || fail "a machine that was not measured to the end"

refuses 2 '--calibrate goes with -o FILE' "$bin/etbench" --calibrate --device $device
refuses 2 'takes no model' "$bin/etbench" --calibrate "$model" -o "$out/none"
refuses 2 '--kernels goes with --calibrate' "$bin/etbench" "$model" --kernels "$out"
refuses 2 'compiles into --kernels DIR' "$bin/etbench" --calibrate --device none -o "$out/none"
refuses 1 'at least three workgroups' "$bin/etbench" --calibrate --device $device --workgroups 2 -o "$out/none"
