#!/bin/sh
# halves.sh BIN WORK: a weight that is f16 in the model and bf16 in the checkpoint is, on a device, each number rounded to f16, and refused
# where f16 has no such number; etimport writes that for mixtures, unless told otherwise.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 work=$2/halves golden=$bin/../checkpoints
rm -rf "$work"
mkdir -p "$work"
cd "$work"
printf 'model m\nweight w : f16[96, 200]\noutput y = f32(w)\n' >f16.etg
printf 'model m\nweight w : bf16[96, 200]\noutput y = f32(f16(f32(w)))\n' >bf16.etg
"$bin/etcc" f16.etg -o f16.hsaco
for range in -65280:65280 -1:1 -1e-4:1e-4 -1e-6:1e-6; do
    "$bin/etfill" w.safetensors "w:bf16[96,200]:$range"
    "$bin/etinterp" bf16.etg --stage graph --weights w.safetensors --out want.safetensors
    "$bin/etrun" f16.hsaco --device emu:gfx942:cus=4 --weights w.safetensors --out got.safetensors >out
    cmp want.safetensors got.safetensors || die "$range: other numbers"
done
for range in 65536:65536 70000:80000 -3e38:-3e37; do
    "$bin/etfill" w.safetensors "w:bf16[96,200]:$range"
    ! "$bin/etrun" f16.hsaco --device emu:gfx942:cus=4 --weights w.safetensors --out got.safetensors >out 2>&1 || die "$range was taken"
    grep -q 'weight w holds numbers beyond those of f16' out || die "$range: $(cat out)"
done
"$bin/etfill" w.safetensors 'w:bf16[200,96]:-1:1'
! "$bin/etrun" f16.hsaco --device emu:gfx942:cus=4 --weights w.safetensors --out got.safetensors >out 2>&1 || die "another shape was taken"
grep -q 'BF16 \[200, 96\], weight w must be F16 \[96, 200\]' out || die "$(cat out)"

types() { "$bin/etimport" "$golden/qwen3_moe" -o m.etg "$@" && sed -n 's/.* \(w[qd]\|kc, vc\) : \([a-z0-9]*\)\[.*/\1 \2/p' m.etg | tr '\n' ' '; }
[ "$(types)" = 'kc, vc f16 wq f16 wd bf16 ' ] || die "$(types)"
[ "$(types --cache bf16)" = 'kc, vc bf16 wq f16 wd bf16 ' ] || die "$(types --cache bf16)"
[ "$(types --wide)" = 'kc, vc f32 wq f32 wd f32 ' ] || die "$(types --wide)"
