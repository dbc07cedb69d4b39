#!/bin/sh
# stages.sh ETCC FOLDER FILE.etg...: the code object is the same, byte for byte, whichever stage's
# text it is compiled from.
set -eu
etcc=$1 dir=$2
shift 2
mkdir -p "$dir"
failed=0
for f in "$@"; do
    "$etcc" "$f" -o "$dir/want.hsaco"
    for stage in graph fused tiled evented placed scheduled; do
        "$etcc" "$f" --to "$stage" -o "$dir/x.eti"
        "$etcc" "$dir/x.eti" -o "$dir/x.hsaco"
        cmp "$dir/want.hsaco" "$dir/x.hsaco" || { echo "FAIL $f from $stage"; failed=1; }
    done
done
exit $failed
