#!/bin/sh
# Golden tests of etcc: run.sh ETCC [--bless] [FILE.etg ...], in this folder.
# The first line of x.etg may be "# etcc: FLAGS" (default: -d graph). What etcc prints is compared
# with x.graph.eti, and its exit status with 0; or, where x.err exists, its errors with that and the
# status with 1. --bless writes what came out instead.
set -u
here=$(cd "$(dirname "$0")" && pwd)
etcc=$1
shift
bless=
[ "${1-}" = --bless ] && bless=1 && shift
cd "$here" || exit 2
[ $# -gt 0 ] || set -- *.etg
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
ran=0 failed=0

fail() {
    echo "FAIL $1: $2"
    failed=$((failed + 1))
}

compare() { # FILE.etg GOLDEN ACTUAL
    if [ -n "$bless" ]; then
        cp "$3" "$2"
    elif [ ! -f "$2" ]; then
        fail "$1" "neither a .graph.eti nor an .err: bless it"
    elif ! diff -u "$2" "$3" >"$tmp/diff"; then
        fail "$1" "differs from $2"
        head -40 "$tmp/diff"
    fi
}

for f in "$@"; do
    base=${f%.etg}
    flags=$(sed -n '1s/^# etcc: //p' "$f")
    # shellcheck disable=SC2086 # flags are words
    "$etcc" ${flags:--d graph} "$f" >"$tmp/out" 2>"$tmp/err"
    status=$?
    ran=$((ran + 1))
    if [ $status -gt 1 ]; then
        fail "$f" "exit status $status"
        head -20 "$tmp/err"
    elif [ $status -eq 1 ]; then
        [ -f "$base.graph.eti" ] && [ -z "$bless" ] && { fail "$f" "errors"; cat "$tmp/err"; continue; }
        [ -s "$tmp/out" ] && fail "$f" "errors, and output all the same"
        [ -n "$bless" ] && rm -f "$base.graph.eti"
        compare "$f" "$base.err" "$tmp/err"
    else
        [ -f "$base.err" ] && [ -z "$bless" ] && { fail "$f" "compiled, but $base.err expects errors"; continue; }
        [ -s "$tmp/err" ] && fail "$f" "compiled, but said something" && cat "$tmp/err"
        [ -n "$bless" ] && rm -f "$base.err"
        compare "$f" "$base.graph.eti" "$tmp/out"
    fi
done
echo "$ran golden tests, $failed failed"
[ $failed -eq 0 ] && [ $ran -gt 0 ]
