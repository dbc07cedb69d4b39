#!/bin/sh
# Kernels of one, two and three models for target $4 with schedule $5 that stay, on devices $6...: the
# bits of launches of each model alone; and the same of kernels of their own under one residence, of models with states, too.
. "$(dirname "$0")/lib.sh"
target=$4 schedule=$5
shift 5
compile() { # NAME FILES: one tiling each, so that sums are the same
    name=$1
    shift
    "$bin/etcc" "$@" --variants=1 --target="$target" --schedule="$schedule" -o "$name.hsaco"
}
cat > sums.etg << 'END'
model sums
dim N in 1..16
input x : f32[N, 64]
state s : f32[64]
s[iota(64)] = gather(s, iota(64)) + sum(x, axis=0)
output y = s * 2
END
compile mlp "$mlp"
compile moe "$moe"
compile sums sums.etg
compile one "$moe" --resident
compile two "$mlp" "$moe" --resident --placement=fixed
compile three "$mlp" "$moe" "$mlp" --resident --weight=moe=2
n=${ETCC_STEPS:-12}
for device; do
    "$bin/check_resident" "emu:$target:$device" one.hsaco "$n" 1 moe moe.hsaco
    "$bin/check_resident" "emu:$target:$device" two.hsaco "$n" 2 mlp mlp.hsaco moe moe.hsaco
    "$bin/check_resident" "emu:$target:$device" each "$n" 4 mlp mlp.hsaco moe moe.hsaco sums sums.hsaco
    "$bin/check_resident" "emu:$target:$device" both 100 5 sums sums.hsaco mlp mlp.hsaco
    "$bin/check_resident" "emu:$target:$device" three.hsaco "$n" 3 mlp mlp.hsaco moe moe.hsaco mlp_2 mlp.hsaco
done
