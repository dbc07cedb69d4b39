#!/bin/sh
# against.sh AGAINST BIN
set -eu
table=$(RUNS=1 sh "$1" "$2" "$2")
fail() {
    printf '%s\n' "$table" >&2
    echo "against.sh: $*" >&2
    exit 1
}
for row in 'etcc, stories model, s' 'etcc, stories model, MB' 'kernel, 16 tokens, instructions in 5 launches' \
    'emulator, million instructions a second and core'; do
    printf '%s\n' "$table" | grep -qE "^\| $row \| [0-9.]+ \| [0-9.]+ \| [0-9.]+ \|$" || fail "no row $row"
done
for row in stories.hsaco libetrt.so libetrt.a libetemu.so; do
    printf '%s\n' "$table" | grep -qE "^\| $row, bytes \| [0-9]+ \| [0-9]+ \| 1\.000 \|$" || fail "$row is not what it is"
done
