#!/bin/sh
# tune.sh BIN MODEL - etbench --tune: before and after, and nothing more to do the second time.
set -eu
bin=$1 model=$2 out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

fail() {
    cat "$out/log" >&2
    echo "tune.sh: $*" >&2
    exit 1
}
says() { grep -qE -- "$1" "$out/log" || fail "does not say '$1'"; }
tune() {
    "$bin/etbench" --tune "$model" -o "$out/m.hsaco" --device emu:gfx942:cus=4:xcds=2 --sweep N=1,24 \
        --schedule hybrid --repeat 1 --no-tasks "$@" > "$out/log" 2>&1 || fail "failed: $*"
}

tune
says 'm.hsaco: written, compiled with(out)? the profile'
cp "$out/m.hsaco" "$out/first.hsaco"
cp "$out/m.prof" "$out/first.prof"

tune
says 'm.prof is of this model, machine and device: used again'
says 'm.hsaco: not changed'
cmp "$out/m.hsaco" "$out/first.hsaco" || fail "tuning again changes the code"
cmp "$out/m.prof" "$out/first.prof" || fail "tuning again changes the profile"

# From the start it comes to the same.
rm "$out/m.hsaco" "$out/m.prof"
tune -q
[ ! -s "$out/log" ] || fail "not quiet"
cmp "$out/m.hsaco" "$out/first.hsaco" || fail "tuning from the start gives other code"
cmp "$out/m.prof" "$out/first.prof" || fail "tuning from the start gives another profile"

# What is kept is what etcc makes.
kept() {
    case $1 in
    with) "$bin/etcc" "$model" -o "$out/etcc.hsaco" --schedule=hybrid --profile="$out/m.prof" ;;
    without) "$bin/etcc" "$model" -o "$out/etcc.hsaco" --schedule=hybrid ;;
    esac
    cmp "$out/m.hsaco" "$out/etcc.hsaco" || fail "etcc $1 the profile makes something else"
}
which() { sed -n 's/^.*m.hsaco: .* compiled \(with[a-z]*\) the profile$/\1/p' "$out/log"; }
tune
kept "$(which)"

# A profile that says otherwise changes the plan, and what changed is said.
awk '/^ +at/ { $0 = "  at " $2 " " $3 * 1000 } { print }' "$out/first.prof" > "$out/m.prof"
tune
says 'used again'
says 'task z: dynamic, was static'
says '^predicted for the machine model MI300X, us$'
says '^ *before +after$'
says '^N=24 +[0-9.]+ +[0-9.]+ [0-9.]+x$'
says 'Bodies are predicted by the times of the profile'
kept "$(which)"

# One that does not fit is made again.
sed 's/^tool .*/tool 0.0.1/' "$out/first.prof" > "$out/m.prof"
tune
says 'is not of this model, machine and device: made again'
cmp "$out/m.prof" "$out/first.prof" || fail "a stale profile is not made again"
cmp "$out/m.hsaco" "$out/first.hsaco" || fail "the code is not what it was"
set -- "$out"/*
[ $# = 6 ] || fail "files are left: $*"
