#!/bin/sh
# Hours of steps and pauses by an emulator's fast clock: the same answers, and nothing grows. ETCC_HOURS=24: a day, by hand.
. "$(dirname "$0")/lib.sh"
"$bin/etcc" "$mlp" --variants=1 -o mlp.hsaco
"$bin/etcc" "$moe" --variants=1 -o moe.hsaco
"$bin/etcc" "$mlp" "$moe" --resident -o two.hsaco
"$bin/check_hours" emu:gfx942:cus=6:clock=1000 1000 "${ETCC_HOURS:-0.5}" "${ETCC_SEED:-1}" two.hsaco mlp mlp.hsaco moe moe.hsaco
