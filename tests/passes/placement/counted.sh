#!/bin/sh
# counted.sh BIN FOLDER: what --explain counts of the machine code of quantised products is most of what the emulator sees their tiles
# run (waves * KB * wave instructions a KB), and never more; the kernel is the same, counted or not. The loops that are written
# for llvm-mca are those of both products, and it reads them.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
mca=$(command -v llvm-mca-22 || command -v llvm-mca)
cd "$folder"
cat > codes.etg << 'END'
model codes
dim N in 1..16
const F = 128, H = 4096
input x : bf16[N, H]
weight c, d : u4[F, H]
weight g, e : f16[F, H / 128]
weight q : e4m3[F, H]
weight s : f32[1, (H + 127) / 128]
def int4(c, g) = bf16((c - 8) * gather(g.T, idiv(iota(H), 128)).T)
output y = silu(x @ int4(c, g).T) * (x @ int4(d, e).T)
rows = gather(s, idiv(iota(F), 128))
output z = x @ bf16(q * gather(rows.T, idiv(iota(H), 128)).T).T
END
for target in gfx942 gfx950 gfx1100; do
    "$bin/etcc" codes.etg --target=$target --variants=1 --explain=$target.txt --emit-loops=$target.loops -o $target.hsaco
    "$bin/etcc" codes.etg --target=$target --variants=1 -o plain.hsaco
    cmp $target.hsaco plain.hsaco
    tr -s ' \n' '  ' < $target.txt | grep -q 'in the machine code: all instructions' || die "no word of machine code"
    for task in y z; do
        grep -q "^# LLVM-MCA-BEGIN $task\$" $target.loops || die "no loop of $task on $target"
    done
    [ "$(grep -c '^# LLVM-MCA-BEGIN' $target.loops)" = "$(grep -c '^# LLVM-MCA-END' $target.loops)" ] || die "regions of $target"
    "$mca" -mtriple=amdgcn-amd-amdhsa -mcpu=$target $target.loops > mca 2> log || { cat log; die "llvm-mca"; }
    [ "$(grep -c 'Code Region - [yz]$' mca)" = "$(grep -c '^# LLVM-MCA-BEGIN' $target.loops)" ] || die "llvm-mca read other regions"
    "$bin/etbench" codes.etg --device emu:$target:cus=16:count=tasks --variants 1 --set N=1 --no-predictions --no-tasks --repeat 1 \
        --quiet --markdown $target.md > log
    for task in y z; do
        # The line of machine code that follows the task's own.
        said=$(awk -v task=$task: '/^QUANTISED/ { values = 1 } values && $1 == task { on = 1 } on && /machine code: [0-9]/ {
            match($0, /machine code: [0-9]+/); n = substr($0, RSTART + 14, RLENGTH - 14)
            match($0, /each of [0-9]+/); print n, substr($0, RSTART + 8, RLENGTH - 8); exit }' $target.txt)
        [ -n "$said" ] || { cat $target.txt; die "nothing is counted of $task on $target"; }
        awk -F'[|]' -v task=" $task " -v said="$said" '
            $2 == task { split(said, s, " "); part = s[1] * s[2] / ($4 * $5); found = 1 }
            END { print task, said, part; exit !found || part < 0.6 || part > 1.001 }' $target.md ||
            die "what --explain counts of $task is not what $target runs"
    done
done
# Without machine code that LLVM's text tells of, nothing is said of it.
"$bin/etcc" codes.etg --target=sm_90 --variants=1 --explain=sm_90.txt -o sm_90.bin
! grep -q 'machine code' sm_90.txt || die "machine code of sm_90"
! "$bin/etcc" codes.etg --target=sm_90 --variants=1 --emit-loops=no.loops -o sm_90.bin 2> log || die "loops of sm_90"
grep -q 'machine code' log || { cat log; die "another error"; }
