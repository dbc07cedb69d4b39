#!/bin/sh
# reference.sh ETCC ETI.md: every program in the reference (the indented blocks that begin with
# "eti 1") is proved right and becomes a kernel, and what it prints reads back.
set -eu
etcc=$1 md=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
awk -v dir="$dir" '
    /^    eti 1 / && !open { n++; open = 1 }
    !/^    / && !/^$/ { open = 0 }
    open { sub(/^    /, ""); print > (dir "/" sprintf("%02d", n) ".eti") }
' "$md"
ran=0
for f in "$dir"/*.eti; do
    stage=$(sed -n '1s/eti 1 //p' "$f")
    "$etcc" "$f" --to "$stage" -o "$dir/a" || { cat "$f"; exit 1; }
    "$etcc" "$dir/a" --to "$stage" -o "$dir/b"
    cmp "$dir/a" "$dir/b"
    "$etcc" "$f" -o "$dir/c" || { cat "$f"; exit 1; }
    ran=$((ran + 1))
done
echo "$ran programs of the reference"
[ $ran -gt 5 ]
