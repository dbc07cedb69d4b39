#!/bin/sh
# variants.sh ETCC FOLDER FILE.etg...: programs of several variants read back at every stage, and what follows
# from each stage's text is what follows without it, also where data carries its own events.
set -eu
etcc=$1 dir=$2
shift 2
mkdir -p "$dir"
failed=0 several=0
for f in "$@"; do
    for options in --carried=auto --carried=all; do
        "$etcc" "$f" $options --to scheduled -o "$dir/want.eti"
        ! grep -q '^variant' "$dir/want.eti" || several=$((several + 1))
        for stage in fused tiled evented placed scheduled; do
            "$etcc" "$f" $options --to $stage -o "$dir/x.eti"
            if ! "$etcc" "$dir/x.eti" $options --to $stage -o "$dir/again.eti" || ! cmp "$dir/x.eti" "$dir/again.eti"; then
                echo "FAIL $f $options: $stage does not read back"
                failed=1
                continue
            fi
            "$etcc" "$dir/x.eti" $options --to scheduled -o "$dir/last.eti"
            cmp "$dir/want.eti" "$dir/last.eti" || { echo "FAIL $f $options: what follows $stage"; failed=1; }
        done
    done
done
echo "$several programs with variants"
[ $several -gt 0 ] && exit $failed
