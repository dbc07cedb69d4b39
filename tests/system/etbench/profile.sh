#!/bin/sh
# profile.sh BIN MODEL - etbench --profile, and what etcc makes of it. MODEL has dim N in 1..24 and
# a task z whose tiles differ.
set -eu
bin=$1 model=$2 out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
device=emu:gfx942:cus=4:xcds=2

fail() {
    cat "$out/log" >&2
    echo "profile.sh: $*" >&2
    exit 1
}
refuses() { # MESSAGE STATUS COMMAND...
    message=$1 status=$2 got=0
    shift 2
    "$@" > "$out/log" 2>&1 || got=$?
    [ $got = "$status" ] || fail "status $got, not $status: $*"
    grep -qF -- "$message" "$out/log" || fail "does not say '$message': $*"
}

# Counted twice is the same twice, and says what it is.
"$bin/etbench" --profile "$out/a" "$model" --device $device > "$out/log" 2>&1 || fail "no profile"
grep -q 'predicted from instructions counted by emulated gfx942.* for the machine model MI300X' "$out/log" ||
    fail "does not say where the times are from"
"$bin/etbench" --profile "$out/b" "$model" --device $device -q > "$out/log" 2>&1
[ ! -s "$out/log" ] || fail "not quiet"
cmp "$out/a" "$out/b" > "$out/log" || fail "the profile differs from run to run"
grep -qx 'times predicted' "$out/a" || fail "does not say that it is predicted"
for n in 1 4 24; do
    grep -q "^task z [0-9a-f]\{16\} N=$n\$" "$out/a" || fail "z at N=$n is missing"
done
# More workgroups are never slower than fewer, where counts are dealt out.
awk '/^task/ { last = 1e9 } /^ +at/ { if ($3 > last) exit 1; last = $3 }' "$out/a" || fail "wider is slower"

# Of this model: taken. Tasks whose tiles differ are queued if they take long, and not if not.
scheduled() { "$bin/etcc" "$model" --schedule=hybrid --to=scheduled -o "$out/$1" "--profile=$out/$2" > "$out/log" 2>&1 || fail "no $1"; }
scale() { awk -v by="$1" '/^ +at/ { $0 = "  at " $2 " " $3 * by } { print }' "$out/a" > "$out/times"; }
scale 0.01
scheduled fast.eti times
scale 1000
scheduled slow.eti times
grep -q 'task @z = @z \[\]$' "$out/fast.eti" || fail "fast tasks are queued"
grep -q 'task @z.* dynamic' "$out/slow.eti" || fail "slow tasks are not queued"

# Several models are one kernel.
"$bin/etbench" --profile "$out/mix" "$model" "$model" --device $device -q --set rows.N=2,rows_2.N=24
grep -q '^task rows_2.z [0-9a-f]* rows.N=2 rows_2.N=24$' "$out/mix" || fail "a mix has no times"
"$bin/etcc" "$model" "$model" --to=scheduled -o "$out/mix.eti" "--profile=$out/mix" > "$out/log" 2>&1 ||
    fail "the mix does not take its profile"

# One size only, and not of a model that changed.
"$bin/etbench" --profile "$out/one" "$model" --device $device --set N=2 -q
[ "$(grep -c '^task z' "$out/one")" = 1 ] || fail "--set asks for one size"
sed 's/48/64/g' "$model" > "$out/changed.etg"
refuses "stale time of task" 1 "$bin/etcc" "$out/changed.etg" -o "$out/no.hsaco" --profile="$out/a"
grep -q 'have changed since' "$out/log" || fail "does not say why"
refuses 'make it again: etbench --profile' 1 "$bin/etcc" "$model" -o "$out/no.hsaco" --profile="$out/a" \
    --machine=mi300a
[ ! -e "$out/no.hsaco" ] || fail "made something with a stale profile"

refuses 'use clock=instructions' 1 "$bin/etbench" --profile "$out/no" "$model" --device $device:clock=host
refuses 'no/such/folder/x: ' 1 "$bin/etbench" --profile "$out/no/such/folder/x" "$model" --device $device --set N=1
refuses '--profile takes one schedule' 2 "$bin/etbench" --profile "$out/no" "$model" --schedule static,hybrid
refuses '--profile needs a device' 2 "$bin/etbench" --profile "$out/no" "$model" --device none
refuses '--tune MODEL goes with -o FILE' 2 "$bin/etbench" --tune "$model"
refuses '--tune MODEL goes with -o FILE' 2 "$bin/etbench" "$model" -o "$out/no"
[ ! -e "$out/no" ] || fail "a profile that failed is there"
