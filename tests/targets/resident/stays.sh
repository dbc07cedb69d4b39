#!/bin/sh
# Idle ends, relaunches, a model that hangs, wrong use, and what etcc refuses.
. "$(dirname "$0")/lib.sh"
"$bin/etcc" "$mlp" "$moe" --resident -o kernel.hsaco
"$bin/etcc" "$mlp" "$moe" -o plain.hsaco
"$bin/etcc" "$mlp" "$moe" --to=scheduled -o mix.eti
event=$(sed -n 's/^.* wait[^%]*%\(moe\.[a-z0-9_.]*\).*/\1/p' mix.eti | head -n 1)
[ -n "$event" ] || die 'no task of moe waits'
"$bin/etcc" "$mlp" "$moe" --resident --break-event="$event" -o broken.hsaco
"$bin/etcc" "$mlp" -o mlp.hsaco
"$bin/etcc" "$moe" -o moe.hsaco
"$bin/etcc" "$moe" --break-event="${event#moe.}" -o hangs.hsaco
"$bin/check_stays" emu:gfx942:cus=6 kernel.hsaco broken.hsaco plain.hsaco mlp.hsaco moe.hsaco hangs.hsaco
# etbench times steps beside launches.
"$bin/etbench" kernel.hsaco plain.hsaco --resident --device emu:gfx942:cus=6 --repeat 3 --no-predictions --no-tasks --json bench.json --quiet
for figure in launch_us:2 step_us:1 step_p99_us:1 progress:1; do
    [ "$(grep -c "\"${figure%:*}\"" bench.json)" = "${figure#*:}" ] || die "etbench does not tell ${figure%:*} of ${figure#*:} columns"
done
refuses 1 'not a sequence of kernels' "$bin/etcc" "$mlp" --resident --schedule=kernels -o x.hsaco
refuses 1 'records no profile' "$bin/etcc" "$mlp" --resident --profile-kernel -o x.hsaco
refuses 1 'not supported' "$bin/etrun" kernel.hsaco --device null --capture dir
