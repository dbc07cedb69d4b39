#!/bin/sh
# idle_waves.sh BIN WORK: products of which some waves have no part, as where k has no whole units for all of them: what they
# compute is the graph's, by tiles whose other waves have parts of k, of columns, or of both.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$(cd "$1" && pwd)
fresh "$2"

cat > idle.etg << EOF
model idle
dim N in 1..5
input x : f32[N, 288]
weight w, v : bf16[96, 288]
@tile(16, 32)
output y : f32[N, 96] = silu(x @ w.T) * (x @ v.T)
EOF
for target in gfx942 gfx1100 sm_90; do
    "$bin/etcc" idle.etg --target=$target --to=tiled --unstreamed -o all.eti
    for waves in '1 \* 3' '2 \* 1' '1 \* 1'; do
        n=${waves##* }
        sed "s/by [0-9]* waves [0-9 *]* stage/by $((96 * n)) waves $waves stage/; s/ lds [0-9]*//; s/ pitch [0-9]*//; s/ at [0-9]*\$//
             s/\(acc[01] : f32\[\)[0-9]*/\1$n/; s/\(\$a : bf16\[[0-9]*, \)[0-9]*/\1$((96 * n))/" all.eti > some.eti
        grep -q "waves $waves " some.eti || die "$target: no product of $waves waves"
        kind=hsaco
        [ $target != sm_90 ] || kind=ptx
        ETCC_VERIFY=1 "$bin/etcc" some.eti --target=$target -o some.$kind || die "$target $waves"
        [ $kind = ptx ] || "$bin/check_kernel" idle.etg some.hsaco --device emu:$target:cus=2 > said || die "$target $waves: $(cat said)"
    done
done
sed 's/waves 1 \* 1/waves 3 * 3/' some.eti > many.eti
! "$bin/etcc" many.eti --target=sm_90 -o many.ptx 2> said || die "nine waves of eight"
grep -q '3 \* 3 waves' said || die "$(cat said)"
