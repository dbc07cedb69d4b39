#!/bin/sh
# Golden errors: run.sh ETCC [--bless] [FILE.eti...], in errors/. What etcc says of x.eti is compared
# with x.err; --bless writes what came out instead.
set -u
here=$(cd "$(dirname "$0")" && pwd)
etcc=$1
shift
bless=
[ "${1-}" = --bless ] && bless=1 && shift
cd "$here/errors" || exit 2
[ $# -gt 0 ] || set -- *.eti
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
ran=0 failed=0
for f in "$@"; do
    "$etcc" "$f" --to scheduled -o "$tmp/out" 2>"$tmp/err"
    status=$?
    ran=$((ran + 1))
    [ -n "$bless" ] && cp "$tmp/err" "${f%.eti}.err"
    if [ $status -ne 1 ] || [ -e "$tmp/out" ] || ! diff -u "${f%.eti}.err" "$tmp/err" >"$tmp/diff"; then
        echo "FAIL $f: status $status"
        head -40 "$tmp/diff"
        failed=$((failed + 1))
    fi
    rm -f "$tmp/out"
done
echo "$ran error tests, $failed failed"
[ $failed -eq 0 ] && [ $ran -gt 0 ]
