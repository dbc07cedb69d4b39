#!/bin/sh
# Of a short and a long model in one kernel, the short one's outputs are read while the long one runs:
# parts of their own and all workgroups for both, with the schedule $4, caches modelled.
. "$(dirname "$0")/lib.sh"
for placement in fixed all; do
    "$bin/etcc" "$src/tests/targets/mix/short.etg" "$src/tests/targets/mix/long.etg" --placement=$placement \
        --schedule="$4" -o $placement.hsaco
    "$bin/check_done" emu:gfx942:cus=8:xcds=2:coherence=model $placement.hsaco
done
