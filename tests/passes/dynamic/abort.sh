#!/bin/sh
# abort.sh BIN SRC WORK: launches that run out of time, dynamic, hybrid and claimed, and the next ones.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$1 model=$2/tests/passes/dynamic/chain.etg
mkdir -p "$3" && cd "$3"
# Who runs out of time has found no queued task, or waits in one that is queued early or in one of a fixed order.
who='^launch [0-9]+: workgroup [0-9]+' event='tile [0-9]+, for event '
none="$who found nothing to do for longer than 1e-06 s among tasks from" in="$who waited longer than 1e-06 s in task"
for how in dynamic hybrid claimed; do
    case $how in
    claimed) message="$in [a-z_0-9]+, $event" ;;
    dynamic) message="$none h on: |$in (h_2|h_3|s_update|t|z), $event" ;;
    hybrid) message="$none h_3 on: |$in (h|h_2|s_update|t|z), $event" ;;
    esac
    "$bin/etcc" "$model" --schedule=$how -o $how.hsaco
    "$bin/test_dynamic_abort" $how.hsaco "$message" N=33
done
# A claimed tile that waits for ever says so, and others stop.
"$bin/etfill" in.safetensors 'x:f32[5,64]:-1:1' 'y:f32[5,64]:-1:1' 'w:f32[64,64]:-1:1'
"$bin/etcc" "$model" --schedule=claimed --break-event=h_2 -o broken.hsaco
status=0
"$bin/etrun" broken.hsaco --set N=5 --in in.safetensors --out out.safetensors --device emu:gfx942:cus=4:xcds=2 --wait-limit 0.3 2> err || status=$?
test "$status" = 1
test ! -e out.safetensors
grep -q 'waited longer than 0.3 s in task .*, for event h_2' err
# A counter that is never complete: nothing queues what waits for it.
"$bin/etfill" in.safetensors 'x:f32[5,64]:-1:1' 'y:f32[5,64]:-1:1' 'w:f32[64,64]:-1:1'
for how in dynamic hybrid; do
    "$bin/etcc" "$model" --schedule=$how --break-event=h_2 -o broken.hsaco
    status=0
    "$bin/etrun" broken.hsaco --set N=5 --in in.safetensors --out out.safetensors \
        --device emu:gfx942:cus=4:xcds=2 --wait-limit 0.3 2> err || status=$?
    test "$status" = 1
    test ! -e out.safetensors
    case $how in
    dynamic) taken='h on: 6 of 42 taken' ;;
    hybrid) taken='h_3 on: 0 of 2 taken' ;;
    esac
    grep -q "found nothing to do for longer than 0.3 s among tasks from $taken" err
done
