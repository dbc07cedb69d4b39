#!/bin/sh
# scopes.sh ETCC ETINTERP CHECK_KERNEL FILE.etg FOLDER: two events of the device are left in a layer; the text reads back;
# an event that is said to be of the die though slices meet there is told by the verifier, and by the interpreter; what
# is of the die has no fence too many.
set -eu
etcc=$1 interp=$2 check=$3 etg=$4 folder=$5
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
fail() {
    echo "scopes.sh: $*" >&2
    exit 1
}
"$etcc" "$etg" --slices=8 -d place | grep -q '^# events in an iteration of l: 2 of the device, 8 of the die$' ||
    fail "other scopes"
"$etcc" "$etg" -d place | grep -q '^# events in an iteration of l: 8 of the device$' || fail "scopes without slices"
for stage in fused tiled evented placed scheduled; do
    "$etcc" "$etg" --slices=8 --variants=1 --to=$stage -o "$stage.eti"
    "$etcc" "$stage.eti" --to=$stage -o again.eti
    cmp "$stage.eti" again.eti
    "$etcc" "$stage.eti" --to=scheduled -o again.eti
    "$interp" again.eti --check-races --seed 1 --orders 3 --set N=2 --out out.safetensors
done
cmp scheduled.eti again.eti

# What is dealt by slice is static, and in no range.
sed 's/slice s0 of 8/slice s0 of 8 dynamic/' scheduled.eti > m.eti
"$etcc" m.eti --to=scheduled -o x.eti 2>&1 | grep -q 'sliced has no range and is not dynamic' || fail "dynamic slices"
sed 's/slice s0 of 8/slice other of 8/' scheduled.eti > m.eti
"$etcc" m.eti --to=scheduled -o x.eti 2>&1 | grep -q 'there is no other here to slice' || fail "unknown slices"
sed 's/slice s0 of 8/slice s0 of 0/' scheduled.eti > m.eti
! "$etcc" m.eti --to=scheduled -o x.eti 2> /dev/null || fail "0 slices"

told=0
for event in $(sed -n 's/^event %\([a-z_0-9]*\).* scope device .*/\1/p' scheduled.eti); do
    sed "/^event %$event\[/s/scope device/scope die/" scheduled.eti > m.eti
    ! "$etcc" m.eti --to=scheduled -o x.eti 2> said || fail "the verifier takes $event for one of the die"
    grep -q "waits for event %$event.* of scope die, but task .* may run on another die" said || fail "of $event: $(cat said)"
    # By more than one order, as tasks that are in no slice run on some die that the seed chooses.
    for seed in 1 2 3 4 5 6 7 8; do
        if ! "$interp" m.eti --no-verify --check-races --seed $seed --set N=2 --out out.safetensors > said 2>&1; then
            grep -q 'no event orders the two' said || fail "of $event: $(cat said)"
            told=$((told + 1))
            break
        fi
    done
done
[ $told -ge 4 ] || fail "the interpreter told of $told events"

# Tasks of other slices: the same event, its waiters dealt another way.
sed '/task @map /s/slice s0 of 8/slice s0 of 4/' scheduled.eti > m.eti
! "$etcc" m.eti --to=scheduled -o x.eti 2> said || fail "slices of another number"
grep -q 'may run on another die' said || fail "$(cat said)"

# With the fences of one event left out, or of one that should be of the device, caches show it.
wrong() { # HSACO
    ! "$check" "$etg" "$1" --device emu:gfx942:cus=16:xcds=8:coherence=model:seed=1 > said 2>&1 || fail "$1: right all the same"
    grep -qi 'differ\|error' said || fail "$1: $(cat said)"
}
for event in map x_2 a; do
    "$etcc" "$etg" --slices=8 --variants=1 --weaken=acquire:$event -o "weak_$event.hsaco"
    wrong "weak_$event.hsaco"
done
sed '/^event %x_2\[/s/scope device/scope die/' scheduled.eti > m.eti
"$etcc" m.eti --no-verify -o narrow.hsaco
wrong narrow.hsaco
