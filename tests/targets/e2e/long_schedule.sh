#!/bin/sh
# long_schedule.sh BIN SRC WORK: schedules of so many calls that they are cut into functions (codegen/kernel/body.c) compute what the
# graph means: one of loops side by side, and one of them all inside another loop. Without $ETCC_LONG each for one GPU.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$(cd "$1" && pwd) src=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
cd "$work"

sh "$src/bench/compile_curve.sh" --program loop 130 > apart.etg
sed -e '/^a = x/a for k in 0..2 {' -e 's/+ l/+ k * 0.25 + l/' -e '/^output y/i }' apart.etg > inside.etg
for name in apart inside; do
    case ${ETCC_LONG-}$name in
    apart) targets=gfx942 ;;
    inside) targets=gfx1100 ;;
    *) targets='gfx942 gfx1100 sm_90' ;;
    esac
    for target in $targets; do
        case $target in sm_*) kind=ptx ;; *) kind=hsaco ;; esac
        ETCC_VERIFY=1 "$bin/etcc" $name.etg --target=$target -o $name.$kind --emit-llvm=$name.ll || die "$name $target"
        # Four kinds of loops and what is between them, and the parts.
        n=$(grep -c '^define' $name.ll)
        [ "$n" -ge 8 ] && [ "$n" -le 24 ] || die "$name $target: $n functions"
        [ $kind = ptx ] || "$bin/check_kernel" $name.etg $name.hsaco --device emu:$target:cus=2
    done
done
