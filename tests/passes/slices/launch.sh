#!/bin/sh
# launch.sh BIN SRC FOLDER: what cannot be in slices is refused; a workgroup that waits for all to start does not wait
# for ever; any number of workgroups does; a captured launch runs again.
set -eu
bin=$1 src=$2 folder=$3
layers=$src/tests/passes/slices/layers.etg
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
fail() {
    echo "launch.sh: $*" >&2
    exit 1
}
refuses() { # WORDS COMMAND...
    words=$1
    shift
    ! "$@" > said 2>&1 || fail "no error from: $*"
    grep -q -- "$words" said || fail "no \"$words\" in: $(cat said)"
}
for count in 0 17 all '' rows rows: rows:0 rows:17 rows:2x; do
    refuses 'write none|auto|1..16|rows:1..16' "$bin/etcc" "$layers" --slices=$count -o x.hsaco
done
for schedule in dynamic hybrid; do
    refuses 'tasks in slices are static' "$bin/etcc" "$layers" --slices=4 --schedule=$schedule -o x.hsaco
    "$bin/etcc" "$layers" --variants=1 --slices=4 --to=fused -o fused.eti
    refuses 'use --schedule=static' "$bin/etcc" fused.eti --schedule=$schedule -o x.hsaco
done
for placed in '@range(0, 0.5)' @dynamic; do # by the user, and in no slices then
    sed "s/^y = /$placed y = /" "$layers" > placed.etg
    "$bin/etcc" placed.etg --variants=1 --slices=4 --to=scheduled -o placed.eti
    ! grep -q '@y .*slice' placed.eti || fail "$placed in slices"
    "$bin/etcc" placed.eti --to=scheduled -o again.eti
    cmp placed.eti again.eti
done

"$bin/etcc" "$layers" --slices=4 --explain=k.txt -o k.hsaco
tr '\n' ' ' < k.txt | tr -s ' ' | grep -q '[1-9] of the die' || fail "no events of the die in the explanation"
"$bin/etfill" w.st --seed 1 'w1:bf16[128,64]:-0.3:0.3' 'w2:bf16[64,128]:-0.5:0.5' 'w3:bf16[128,64]:0.5:1.5' \
    'w4:bf16[64,128]:-0.5:0.5'
"$bin/etfill" in.st --seed 2 'x:f32[3,64]:-2:2'
run() { # [OPTIONS]
    "$bin/etrun" k.hsaco --weights w.st --in in.st --set N=3 "$@"
}
device=emu:gfx942:cus=16:xcds=4:coherence=model
refuses 'for all workgroups to start: [0-9]* of 16 have' run --device $device:slow=1:seed=1 --wait-limit 1e-6
run --device $device --out one.st > /dev/null
for workgroups in 1 3 4 7 15; do
    run --device $device:map=shuffle-$workgroups --workgroups $workgroups --out other.st > /dev/null
    cmp one.st other.st || fail "other results from $workgroups workgroups"
done
run --device $device --capture captured > /dev/null
"$bin/etrun" --replay captured --device $device:seed=3 > said 2>&1 || fail "$(cat said)"
