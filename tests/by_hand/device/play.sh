#!/bin/sh
# play.sh BIN WORK: random programs recorded and played on an emulated GPU, of the event level and of the language, these also as
# one kernel; one whose results are said to be others is told of, and the next has its turn.
set -eu
bin=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
cd "$work"
"$bin/stress" --record . --programs 1 --first 7
set --
for k in 7.*.code; do set -- "$@" "$k" 7.safetensors; done
"$bin/device_play" --device emu:gfx942:cus=6:xcds=2 --rounds 2 "$@"
tr '\003' '\004' < 7.safetensors > lie.safetensors
cmp -s 7.safetensors lie.safetensors && exit 1
status=0
"$bin/device_play" --device emu:gfx942:cus=6:xcds=2 7.0.code lie.safetensors "$@" > out.txt || status=$?
cat out.txt
test $status = 1
grep -q ' 1 kernels bad' out.txt
status=0
"$bin/device_play" --device emu:gfx942:cus=6:xcds=2 absent 7.safetensors > out.txt || status=$?
test $status = 1

# Of the language: one is not exact, one has states, one weights.
"$bin/programs" --record . --target gfx942 --first 5 --programs 3
for seed in 5 6 7; do "$bin/programs" --show $seed > $seed.etg; done
"$bin/etcc" 5.etg 6.etg 7.etg --target=gfx942 -o mix.code
all=near=5.safetensors,exact=6.safetensors,exact_2=7.safetensors
set -- 5.code 5.safetensors 6.code 6.safetensors 7.code 7.safetensors mix.code $all
"$bin/device_play" --device emu:gfx942:cus=6:xcds=2 --rounds 2 "$@"
{ head -c -16 6.safetensors && echo 'what is not left'; } | head -c -1 > lie.safetensors
status=0
"$bin/device_play" --device emu:gfx942:cus=6:xcds=2 6.code lie.safetensors mix.code $all > out.txt || status=$?
cat out.txt
test $status = 1
grep -q ' 1 wrong, 1 kernels bad' out.txt
