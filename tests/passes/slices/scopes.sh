#!/bin/sh
# scopes.sh ETCC CHECK_PROGRAM CHECK_KERNEL FILE.etg FOLDER: two events of the device are left in a layer, by rows
# six; the text reads back;
# an event that is said to be of the die though slices meet there is told by the verifier, and by the interpreter; what
# is of the die has no fence too many.
set -eu
etcc=$1 program=$2 check=$3 etg=$4 folder=$5
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
fail() {
    echo "scopes.sh: $*" >&2
    exit 1
}
"$etcc" "$etg" --slices=8 -d place | grep -q '^# events in an iteration of l: 2 of the device, 8 of the die$' ||
    fail "other scopes"
"$etcc" "$etg" --slices=rows:8 -d place | grep -q '^# events in an iteration of l: 6 of the device, 2 of the die$' ||
    fail "other scopes by rows"
"$etcc" "$etg" -d place | grep -q '^# events in an iteration of l: 8 of the device$' || fail "scopes without slices"
"$etcc" "$etg" --slices=8 --variants=1 --to=scheduled -o scheduled.eti
for stage in fused tiled evented placed scheduled; do
    "$etcc" "$etg" --slices=8 --variants=1 --to=$stage -o "$stage.eti"
    "$etcc" "$stage.eti" --to=$stage -o again.eti
    cmp "$stage.eti" again.eti
    "$etcc" "$stage.eti" --to=scheduled -o again.eti
    cmp scheduled.eti again.eti
done

# What is dealt by slice is static, and in no range.
sed 's/slice s0 of 8/slice s0 of 8 dynamic/' scheduled.eti > m.eti
"$etcc" m.eti --to=scheduled -o x.eti 2>&1 | grep -q 'sliced has no range and is not dynamic' || fail "dynamic slices"
sed 's/slice s0 of 8/slice other of 8/' scheduled.eti > m.eti
"$etcc" m.eti --to=scheduled -o x.eti 2>&1 | grep -q 'there is no other here to slice' || fail "unknown slices"
sed 's/slice s0 of 8/slice s0 of 0/' scheduled.eti > m.eti
! "$etcc" m.eti --to=scheduled -o x.eti 2> /dev/null || fail "0 slices"

# Within a die there is a fence of its own, where a GPU has several caches.
"$etcc" "$etg" --slices=8 --variants=1 --emit-llvm=k.ll
grep -q 'buffer_inv sc0' k.ll || fail "no fence of the die"
"$etcc" "$etg" --variants=1 --emit-llvm=k.ll
! grep -q 'buffer_inv sc0' k.ll || fail "a fence of the die without slices"
for target in gfx90a gfx1100 gfx1201; do
    "$etcc" "$etg" --slices=4 --target=$target -o $target.hsaco
    "$check" "$etg" $target.hsaco --device emu:$target:cus=6:coherence=model:seed=1 --device emu:$target:cus=2
done
"$etcc" "$etg" --slices=4 --target=gfx950 -o gfx950.hsaco
"$check" "$etg" gfx950.hsaco --device emu:gfx950:cus=6:xcds=3:coherence=model:seed=1 --device emu:gfx950:cus=2:xcds=1

told=0
for event in $(sed -n 's/^event %\([a-z_0-9.]*\).* scope device .*/\1/p' scheduled.eti); do
    sed "/^event %$event\[/s/scope device/scope die/" scheduled.eti > m.eti
    ! "$etcc" m.eti --to=scheduled -o x.eti 2> said || fail "the verifier takes $event for one of the die"
    grep -q "waits for event %$event.* of scope die, but task .* may run on another die" said || fail "of $event: $(cat said)"
    if ! "$program" "$etg" --slices 8 --dies 8 --narrow $event --seeds 8 > said 2>&1; then
        grep -q 'no event orders the two' said || fail "of $event: $(cat said)"
        told=$((told + 1))
    fi
done
[ $told -ge 4 ] || fail "the interpreter told of $told events"

# A task that is no longer dealt by slice may be anywhere.
for task in $(sed -n 's/^ *task @\([a-z_0-9.]*\) .* slice .*/\1/p' scheduled.eti); do
    sed "/task @$task /s/ slice [a-z0-9]* of 8//" scheduled.eti > m.eti
    ! cmp -s m.eti scheduled.eti || fail "task $task is as it was"
    ! "$etcc" m.eti --to=scheduled -o x.eti 2> said || fail "the verifier takes $task, which is not sliced, for one of a die"
    grep -q 'may run on another die' said || fail "of $task: $(cat said)"
done

# Tasks of other slices: the same event, its waiters dealt another way.
sed '/task @a /s/ of 8/ of 4/' scheduled.eti > m.eti
! "$etcc" m.eti --to=scheduled -o x.eti 2> said || fail "slices of another number"
grep -q 'may run on another die' said || fail "$(cat said)"

# With the fences of one event left out, or of one that should be of the device, caches show it.
wrong() { # HSACO
    ! "$check" "$etg" "$1" --device emu:gfx942:cus=16:xcds=8:coherence=model:seed=1 > said 2>&1 || fail "$1: right all the same"
    grep -qi 'differ\|error' said || fail "$1: $(cat said)"
}
for event in a o o_sum; do
    "$etcc" "$etg" --slices=8 --variants=1 --weaken=acquire:$event -o "weak_$event.hsaco"
    wrong "weak_$event.hsaco"
done
sed '/^event %o\[/s/scope device/scope die/' scheduled.eti > m.eti
"$etcc" m.eti --unverified -o narrow.hsaco
wrong narrow.hsaco
