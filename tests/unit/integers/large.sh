#!/bin/sh
# large.sh BIN FOLDER: the interpreters and emulated GPUs agree on a state that 32 bits can index neither by element nor
# by byte. Rows and columns begin where the first half of it ends.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$1 dir=$2
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
"$bin/etfill" in.st --seed=4 'row:i32[8]:23000:46498' 'col:i32[8]:0:723' 'x:f32[8,64]:-2:2'
"$bin/etinterp" "$here/large.etg" --stage graph --set N=8 --in in.st --out graph.st
"$bin/etinterp" "$here/large.etg" --set N=8 --in in.st --out tasks.st
"$bin/etsame" graph.st tasks.st 1e-5 >same || { cat same; exit 1; }
for target in gfx942 gfx1100; do
    "$bin/etcc" "$here/large.etg" --target=$target -o $target.hsaco
    "$bin/etrun" $target.hsaco --set N=8 --in in.st --device emu:$target:cus=16 --out device.st
    "$bin/etsame" graph.st device.st 1e-5 >same || { cat same; exit 1; }
done
