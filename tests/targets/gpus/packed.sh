#!/bin/sh
# packed.sh BIN SRC WORK TARGET: the PTX of kernels of --sparse=2:4 multiplies by sparse matrix instructions, of both halves of what
# lanes have of indices, under every schedule, and as it is where a matrix is not 2:4.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 target=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"

name='mma\.sp::ordered_metadata'
[ "$target" != sm_80 ] || name='mma\.sp' # as its PTX is older
sed 's/bf16/f16/g' "$src/tests/passes/sparse/mlp.etg" > halves.etg
cp "$src/tests/passes/sparse/mlp.etg" .
sed 's/H = 256, F = 128/H = 512, F = 512/' "$src/tests/passes/sparse/experts.etg" > experts.etg # each of eight warps has 64 k's at once
for model in mlp halves experts; do
    type=bf16
    [ $model != halves ] || type=f16
    for schedule in static dynamic hybrid; do
        ptx=$model.$schedule.ptx
        "$bin/etcc" $model.etg --target="$target" --schedule=$schedule --sparse=2:4 -o $ptx 2> said
        ! grep -q 'changes nothing' said || die "$(cat said)"
        for half in 0 1; do
            grep -A 6 -E "$name\.sync\.aligned\.m16n8k32\.row\.col\.f32\.$type\.$type\.f32" $ptx | grep -qE "^[[:space:]]+$half;\$" ||
                die "$ptx: no $name of half $half"
        done
        grep -q "mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.$type\.$type\.f32" $ptx || die "$ptx: nothing multiplies as it is"
        "$bin/etrun" $ptx --list > list
        grep -q 'packed where it is 2:4' list || die "nothing packed in $(cat list)"
    done
    "$bin/etcc" $model.etg --target="$target" -o dense.ptx
    ! grep -q 'mma\.sp' dense.ptx || die "$model: packed though nobody asked"
done

# All of them, with rows that are no multiple of sixteen.
[ "$("$bin/etrun" mlp.static.ptx --list | grep -c 'packed where it is')" -eq 4 ] || die 'weights of mlp are left out'
