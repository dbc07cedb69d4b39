#!/bin/sh
# memory.sh BIN MODEL - what etbench tells of tasks and memory on an emulator that counts by task: the same twice, in the table
# and in JSON, and nothing where the emulator was not asked. MODEL has dim N.
set -eu
bin=$1 model=$2 out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
device=emu:gfx942:cus=4:xcds=2

fail() {
    cat "$out/log" >&2
    echo "memory.sh: $*" >&2
    exit 1
}
bench() { # DEVICE FILE
    "$bin/etbench" "$model" --device "$1" --set N=9 --schedule static,dynamic --no-predictions --quiet --repeat 1 \
        --json "$2.json" --markdown "$2" > "$out/log" 2>&1 || fail "etbench"
}
table() { # FILE: the rows
    sed -n '/^| task | tiles/,/^$/p' "$1"
}
bench $device:count=tasks "$out/a"
bench $device:count=tasks "$out/b"
table "$out/a" > "$out/rows"
[ "$(grep -c '^| task ' "$out/rows")" = 2 ] || fail "not a table for each schedule"
table "$out/b" | cmp - "$out/rows" > "$out/log" || fail "the counts differ from run to run"
# Every task reads something and waits for it; none waits more often than it has instructions.
awk -F' *[|] *' '/^[|] (task|---)/ { next } NF > 6 { n++; if ($3 < 1 || $4 <= 0 || $6 < 1) bad = 1 } END { exit bad || n < 4 }' \
    "$out/rows" || { cp "$out/rows" "$out/log"; fail "a row makes no sense"; }
[ "$(grep -c '"round_trips"' "$out/a.json")" = "$(grep -c '^| [a-z]* | [0-9]' "$out/rows")" ] || fail "JSON has other rows"
bench $device "$out/c"
! grep -q '^| task ' "$out/c" || fail "a table nobody asked for"
"$bin/etbench" "$model" --device emu:gfx942:count=bytes > "$out/log" 2>&1 && fail "count=bytes is taken"
grep -q 'count=bytes: expected launches or tasks' "$out/log" || fail "does not say what count may be"
