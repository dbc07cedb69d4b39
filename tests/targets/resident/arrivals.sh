#!/bin/sh
# Many steps of three models at random times, from a host that sleeps now and then: none is lost, mixed or starved.
. "$(dirname "$0")/lib.sh"
"$bin/etcc" "$mlp" --variants=1 -o mlp.hsaco
"$bin/etcc" "$moe" --variants=1 -o moe.hsaco
"$bin/etcc" "$mlp" "$moe" "$mlp" --resident --weight=moe=2 --latency=mlp_2=50 -o three.hsaco
"$bin/check_resident" emu:gfx942:cus=16:xcds=2 three.hsaco "${ETCC_STEPS:-3000}" "${ETCC_SEED:-1}" mlp mlp.hsaco moe moe.hsaco mlp_2 mlp.hsaco
