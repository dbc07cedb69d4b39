#!/bin/sh
# Three models in one kernel, one of them twice, with the schedule $4: the bits of each alone, whoever
# takes part, whatever the dims, on few and on many CUs.
. "$(dirname "$0")/lib.sh"
for m in mlp moe; do
    "$bin/etcc" "$src/examples/$m/$m.etg" --variants=1 --schedule="$4" -o $m.hsaco
done
"$bin/etcc" "$src/examples/mlp/mlp.etg" "$src/examples/moe/moe.etg" "$src/examples/mlp/mlp.etg" \
    --variants=1 --weight=moe=2 --schedule="$4" -o mix.hsaco
for device in cus=16:xcds=4:coherence=model:seed=1 cus=13:xcds=2:seed=2 cus=2 cus=1; do
    "$bin/check_mix" emu:gfx942:$device mix.hsaco 9 7 mlp mlp.hsaco moe moe.hsaco mlp_2 mlp.hsaco
done
