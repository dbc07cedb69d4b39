#!/bin/sh
# endless.sh ETCC ETRUN ETFILL: a kernel that does not get anywhere is ended by the emulator, which names task and
# tile; with no bound it ends by itself.
set -eu
etcc=$1 etrun=$2 etfill=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat > turns.etg << END
model turns
input x : f32[64]
state s : f32[64]
for l in 0..1000000 {
  s[:] = s * 0.5 + x
}
output y : f32[64] = s
END
"$etcc" turns.etg -o turns.hsaco
"$etfill" x.safetensors 'x:f32[64]:0:1'
run() {
    "$etrun" turns.hsaco --in x.safetensors --device "emu:gfx942:cus=1:xcds=1:$1" > said 2>&1
}
if run budget=1; then
    echo 'FAIL it got to its end' >&2
    exit 1
fi
for words in 'the device reported a fault' 'seems to loop for ever' 'budget=MILLIONS' 'at pc 0x' 'in task ' 'tile'; do
    grep -q "$words" said || { echo "FAIL no '$words':" >&2; cat said >&2; exit 1; }
done
run budget=0 || { cat said >&2; exit 1; }
