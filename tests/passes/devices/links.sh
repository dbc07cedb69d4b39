#!/bin/sh
# links.sh BIN SRC WORK TARGET: exchanges where what devices store to each other arrives late and in any order (links=SEED of an emulator).
# Kernels are right at all seeds; without the waits for stores, of which fences of a release are made, what is exchanged with flags and by rows
# is not, and what has its tags is: its words tell by themselves that they have come. Nothing but a link shows that.
set -eu
bin=$1 here=$2 out=$3 target=$4
mkdir -p "$out" && cd "$out"
check() { # KERNEL AGENTS OPTIONS
    "$bin/check_kernel" "$here/mlp.etg" "$1" --device "emu:$target:cus=4:agents=$2:$3" > said 2>&1
}
# s_nop in place of s_waitcnt vmcnt(0), of s_waitcnt_vscnt null, 0.
case $target in
gfx9*) cut='s/\x70\x0f\x8c\xbf/\x00\x00\x80\xbf/g' ;;
*) cut='s/\x00\x00\x7c\xbc/\x00\x00\x80\xbf/g' ;;
esac
for how in tags flags rows; do
    for n in 2 4; do
        "$bin/etcc" "$here/mlp.etg" --devices=$n --exchange=$how --target="$target" -o k.$n
        for seed in 1 2 3 ${ETCC_LONG:+4 5 6 7 8 9 10}; do
            check k.$n $n "seed=$seed:links=$seed:coherence=model" || { cat said && exit 1; }
        done
    done
    LC_ALL=C sed "$cut" k.2 > cut
    ! cmp -s k.2 cut || { echo 'no wait is taken out' && exit 1; }
    check cut 2 threads=1:seed=1:xcds=1 || { cat said && exit 1; }
    wrong=0
    for seed in 1 2 3; do
        check cut 2 threads=1:seed=$seed:xcds=1:links=$seed || wrong=$((wrong + 1))
    done
    case $how in
    tags) [ $wrong = 0 ] || { cat said && exit 1; } ;;
    *) [ $wrong -gt 0 ] || { echo "$how are right without a wait for stores" && exit 1; } ;;
    esac
    echo "$how: right; without waits for stores $wrong of 3 wrong"
done
