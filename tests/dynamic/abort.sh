#!/bin/sh
# abort.sh BIN SRC WORK: launches that run out of time, dynamic and hybrid, and the next ones.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$1 model=$2/tests/dynamic/chain.etg
mkdir -p "$3" && cd "$3"
for how in dynamic hybrid; do
    "$bin/etcc" "$model" --schedule=$how -o $how.hsaco
    "$bin/test_dynamic_abort" $how.hsaco N=33
done
# A counter that is never complete: nothing queues what waits for it, or it is waited for in vain.
"$bin/etfill" in.safetensors 'x:f32[5,64]:-1:1' 'y:f32[5,64]:-1:1' 'w:f32[64,64]:-1:1'
for how in dynamic hybrid; do
    "$bin/etcc" "$model" --schedule=$how --break-event=h_2 -o broken.hsaco
    status=0
    "$bin/etrun" broken.hsaco --set N=5 --in in.safetensors --out out.safetensors \
        --device emu:gfx942:cus=4:xcds=2 --wait-limit 0.3 2> err || status=$?
    test "$status" = 1
    test ! -e out.safetensors
    grep -q 'found nothing to do for longer than 0.3 s\|for event h_2' err
done
