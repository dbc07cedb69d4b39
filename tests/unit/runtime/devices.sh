#!/bin/sh
# devices.sh ETRUN ETFILL FAKE_CUDA PROBE.HSACO PROBE.PTX
# etrun on a machine with two GPUs of NVIDIA's, which a fake of their library is: what it lists and chooses, and that
# what was captured on one is replayed.
set -eu
etrun=$1 etfill=$2 fake=$3 amd=$4 nvidia=$5
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
unset ETEMU_DEVICE || true
export ETRT_CUDA_LIB="$fake"
fail() { echo "devices.sh: $*" >&2; cat out.txt >&2; exit 1; }

"$etrun" --devices > out.txt 2>&1 || fail 'it does not list'
grep -q '^cuda:0  *sm_90  *4  *1.0  Fake GPU 0' out.txt && grep -q '^cuda:1  *sm_90  *5 ' out.txt || fail 'a GPU is missing'
grep -q '^emu  *any  *-  *-  emulator' out.txt || fail 'the emulator is missing'
FAKE_CUDA_GPUS=0 "$etrun" --devices > out.txt 2>&1 || fail 'it does not list'
grep -q cuda out.txt && fail 'GPUs that are not there'
"$etrun" --devices "$amd" > out.txt 2>&1 && fail 'a model beside --devices'

"$etfill" in.safetensors 'x:f32[70]:0:1'
"$etfill" w.safetensors 'model.5.w:f32[3]:1:2' 'model.6.w:f32[3]:1:2'
set -- --set N=70,B=0,F=0 --in in.safetensors --weights w.safetensors
for device in auto cuda cuda:1; do
    "$etrun" "$nvidia" --device $device "$@" --out $device.safetensors --stats > out.txt 2>&1 || fail "$device"
    grep -q 'device: Fake GPU' out.txt || fail "$device is no GPU"
    grep -q '^weights: 24 bytes in ' out.txt || fail 'how long the weights took'
done
"$etrun" "$amd" --device auto "$@" --out emulated.safetensors --stats > out.txt 2>&1 || fail 'auto with code for AMD'
grep -q 'emulated gfx942' out.txt || fail 'auto is not the emulator'
for device in cuda cuda:1 emulated; do
    cmp -s auto.safetensors $device.safetensors || fail "$device computes something else"
done

"$etrun" "$nvidia" --device cuda:0 "$@" --capture launch.d > out.txt 2>&1 || fail capture
grep -q '"isa": "sm_90"' launch.d/launch.json || fail 'the capture says nothing of its device'
"$etrun" --replay launch.d --device cuda:1 --repeat 3 > out.txt 2>&1 || fail replay
grep -q '9 regions compared, 0 differ' out.txt || fail 'nothing is compared'
"$etrun" --replay launch.d > out.txt 2>&1 || fail 'replay on auto'
"$etrun" --replay launch.d --device emu > out.txt 2>&1 && fail 'an emulator replays it'
"$etrun" "$nvidia" --device cuda:0 --set N=70,B=1,F=0 --in in.safetensors --weights w.safetensors --capture wait.d > out.txt 2>&1 &&
    fail 'no wait'
grep -q '4 arrivals of 5 needed; on die 0, CU 0' out.txt || fail 'the report'
"$etrun" --replay wait.d --device cuda:0 > out.txt 2>&1 || fail 'replay of a wait'
grep -q 'ended as the captured launch did' out.txt || fail 'how it ended'
