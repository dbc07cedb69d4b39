#!/bin/sh
# auto.sh ETCC ETRUN ETFILL ETBENCH
# Without a GPU, "auto" and "emu" are the GPU that the kernel was compiled for; a GPU named in full is that one.
# The device that computes nothing takes them all.
set -eu
etcc=$1 etrun=$2 etfill=$3 etbench=$4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
unset ETEMU_DEVICE || true
fail() { echo "auto.sh: $*" >&2; cat out.txt >&2; exit 1; }

cat > saxpy.etg <<'ETG'
model saxpy
dim N in 1..100
input x, y : f32[N]
output z : f32[N] = 3 * x + y
ETG
"$etfill" in.safetensors 'x:f32[7]:0:1' 'y:f32[7]:0:1'
for target in gfx90a gfx942 gfx1201; do
    "$etcc" saxpy.etg --target $target -o $target.hsaco
    for device in auto emu; do
        [ -e /dev/kfd ] && [ $device = auto ] && continue
        "$etrun" $target.hsaco --device $device --dim N=7 --in in.safetensors --out $target.$device --stats > out.txt 2>&1 ||
            fail "$target on $device"
        grep -q "emulated $target" out.txt || fail "$device is not $target"
        cmp -s $target.$device gfx90a.emu || [ $target = gfx90a ] || fail "$target on $device computes something else"
    done
    "$etrun" $target.hsaco --device null --dim N=7 --in in.safetensors > out.txt 2>&1 || fail "$target on null"
    grep -q 'z: f32\[7\] = -\?nan' out.txt || fail 'null computes something'
    "$etbench" $target.hsaco --device emu --set N=7 --repeat 1 --no-tasks > out.txt 2>&1 || fail "etbench of $target"
    grep -q "$target" out.txt || fail "etbench does not say $target"
done
"$etrun" gfx90a.hsaco --device emu:gfx942 --dim N=7 --in in.safetensors > out.txt 2>&1 && fail 'emu:gfx942 takes gfx90a'
grep -q 'compiled for gfx90a, but the device is gfx942' out.txt || fail 'why not?'
ETEMU_DEVICE=gfx942 "$etrun" gfx90a.hsaco --device emu --dim N=7 --in in.safetensors > out.txt 2>&1 && fail 'ETEMU_DEVICE'

# A capture of one emulated GPU is replayed on that one, and on a device that computes nothing differs.
"$etrun" gfx90a.hsaco --device emu --dim N=7 --in in.safetensors --workgroups 4 --capture launch.d > out.txt 2>&1 || fail capture
"$etrun" --replay launch.d --device emu > out.txt 2>&1 || fail replay
"$etrun" --replay launch.d --device null > out.txt 2>&1 && fail 'null replays'
grep -q '^tensor.z: ' out.txt || fail 'what differs is not told'
