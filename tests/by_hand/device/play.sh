#!/bin/sh
# play.sh BIN WORK: a random program recorded and played on an emulated GPU; one whose results are said to be others is told of,
# and the next has its turn.
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
