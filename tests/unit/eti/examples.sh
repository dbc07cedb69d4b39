#!/bin/sh
# The examples written in .eti, run on the emulator and task by task in the interpreter, against
# what the same model computes as a plain graph. $1: tools; $2: source tree; $3: scratch folder.
set -eu
bin=$1 src=$2 work=$3
mkdir -p "$work"
check() { # NAME N TOLERANCE: is what was run what the plain graph says, and the interpreter's too?
    weights=
    [ -f "$work/$1_weights.safetensors" ] && weights="--weights $work/$1_weights.safetensors"
    # shellcheck disable=SC2086 # two words or none
    "$bin/etinterp" "$src/tests/unit/eti/plain/$1.etg" --stage graph --set "N=$2" \
        --in "$work/$1_inputs.safetensors" $weights --out "$work/$1_want.safetensors"
    # shellcheck disable=SC2086
    "$bin/etinterp" "$src/examples/eti/$1.eti" --set "N=$2" --seed 3 --orders 5 --check-races \
        --in "$work/$1_inputs.safetensors" $weights --out "$work/$1_tasks.safetensors"
    "$bin/etsame" "$work/$1_want.safetensors" "$work/$1_tasks.safetensors" "$3"
    "$bin/etsame" "$work/$1_want.safetensors" "$work/$1_outputs.safetensors" "$3"
}
for n in 5 ${ETCC_LONG:+1 16 17} 64; do
    sh "$src/examples/eti/run.sh" "$bin" "$work" "$n"
    check splitk "$n" 1e-5
    check pipeline "$n" 1e-2
    check experts "$((n > 32 ? 32 : n))" 1e-4
done
# The same program through queues, on many compute units and on few.
for schedule in dynamic hybrid; do
    "$bin/etcc" "$src/examples/eti/experts.eti" --schedule $schedule -o "$work/experts.hsaco"
    for device in emu:gfx942:cus=7:xcds=2 emu:gfx942:cus=64:xcds=8:coherence=model; do
        "$bin/etrun" "$work/experts.hsaco" --device "$device" --set N=32 \
            --in "$work/experts_inputs.safetensors" --weights "$work/experts_weights.safetensors" \
            --out "$work/experts_outputs.safetensors"
        "$bin/etsame" "$work/experts_want.safetensors" "$work/experts_outputs.safetensors" 1e-4
    done
done
# Waits that a tensor decides, the second time one that the kernel itself computes: verified, and run
# in several orders.
"$bin/etfill" "$work/routed_inputs.safetensors" --seed 7 'x:f32[40,40]:-1:1' 'pick:i32[40]:0:36'
"$bin/etfill" "$work/routed_late_inputs.safetensors" --seed 7 'x:f32[40,40]:-1:1'
for name in routed routed_late; do
    "$bin/etcc" "$src/tests/unit/eti/$name.eti" -o "$work/$name.hsaco"
    "$bin/etinterp" "$src/tests/unit/eti/$name.eti" --set N=40 --seed 1 --orders 6 \
        --check-races --in "$work/${name}_inputs.safetensors" --out "$work/want.safetensors"
    for device in emu:gfx942:cus=7:xcds=2 emu:gfx942:cus=64:xcds=8:coherence=model; do
        "$bin/etrun" "$work/$name.hsaco" --device "$device" --set N=40 \
            --in "$work/${name}_inputs.safetensors" --out "$work/got.safetensors"
        "$bin/etsame" "$work/want.safetensors" "$work/got.safetensors" 1e-5
    done
done
