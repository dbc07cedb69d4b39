#!/bin/sh
# random.sh BIN FOLDER: random programs of integers mean the same to the interpreters and on the device.
set -eu
bin=$1 dir=$2
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
seeds=2
[ -z "${ETCC_LONG:-}" ] || seeds=60
fail() {
    echo "seed $seed, $stage, $1: $2"
    cat err
    exit 1
}
for seed in $(seq "$seeds"); do
    for stage in graph tiled; do
        "$bin/etints" "$seed" "$stage" >p.eti
        for target in gfx942 gfx1100; do
            "$bin/etcc" p.eti --target=$target -o $target.hsaco 2>err || fail $target "does not compile"
        done
        for dims in "N=1 M=3" "N=2147483647 M=65536" "N=99991 M=70000"; do
            set -- --set "${dims% *}" --set "${dims#* }"
            "$bin/etinterp" p.eti "$@" --out tasks.st 2>err || fail "$dims" "the task interpreter"
            "$bin/etinterp" p.eti --stage "$([ $stage = graph ] && echo graph || echo tasks)" "$@" --out graph.st \
                2>err || fail "$dims" "the graph interpreter"
            "$bin/etsame" graph.st tasks.st 0 >err 2>&1 || fail "$dims" "the interpreters differ"
            for target in gfx942 gfx1100; do
                "$bin/etrun" $target.hsaco "$@" --device emu:$target:cus=4 --out device.st >err 2>&1 ||
                    fail "$dims" "$target"
                "$bin/etsame" tasks.st device.st 0 >err 2>&1 || fail "$dims" "$target differs"
            done
        done
    done
done
echo "$seeds programs of each stage"
