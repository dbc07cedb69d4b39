#!/bin/sh
# alone.sh BIN SOURCE FOLDER GLPK(ON|OFF): a model that has the chip for itself. Its tasks are on all CUs, unless a profile
# says that one is faster on fewer and at no size slower; its results are the same bits.
set -eu
bin=$1 source=$2 folder=$3 glpk=$4
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
mlp=$source/examples/mlp/mlp.etg

die() {
    cat said >&2
    echo "alone.sh: $*" >&2
    exit 1
}
place() { # OUT OPTIONS...
    out=$1
    shift
    "$bin/etcc" "$@" -v --to=placed -o "$out" > said 2>&1 || die "no $out"
}
says() { grep -qe "$1" said || die "does not say '$1'"; }
on_parts() { # FILE: names of the tasks that are
    sed -n 's/^ *task @\([a-z0-9_.]*\) .* range .*/\1/p' "$1" | tr '\n' ' '
}

# By the machine model alone, nothing is faster on fewer CUs.
for model in "$mlp" "$source/tests/unit/import/llama.etg" "$source/examples/moe/moe.etg"; do
    for machine in MI300X MI210; do
        place whole.eti "$model" --machine=$machine
        says 'placement: 0 of [0-9]* tasks on a part of the CUs'
        [ -z "$(on_parts whole.eti)" ] || die "parts without a reason"
        [ "$glpk" = OFF ] || says 'program: objective [0-9.]* us, LP bound [0-9.]* us, gap 0.00 %, .* optimal; [0-9.]* s$'
    done
done
place whole.eti "$mlp" --placement=greedy
says 'placement: 0 of 5 tasks on a part of the CUs'
place whole.eti "$mlp" --schedule=dynamic
says 'placement: one model, not all its tasks static: on all CUs, but for @range'

# One task is measured to be slower on more than one die, at all sizes: it stays on one, and those that are slower
# there at some size do not.
"$bin/etbench" --profile counted "$mlp" --device emu:gfx942:cus=4:xcds=2 -q
slower() { # SHAPE: where "scores" is
    awk -v shape="$1" '/^task/ { here = $2 == "scores" && $4 ~ shape }
        /^ +at/ && here && $2 > 38 { $0 = "  at " $2 " " $3 * 20 } { print }' counted
}
slower . > slower
place part.eti "$mlp" --profile=slower
says 'placement: .*, [0-9.]* us predicted'
on_parts part.eti | grep -q 'scores ' || die "scores is on all CUs"
on_parts part.eti | grep -qw 'map\|h' && die "on fewer CUs though that is slower at other sizes"
"$bin/etcc" "$mlp" --profile=slower --explain > said 2>&1
says 'A launch, predicted:.* every task on all CUs [0-9.]* us'
says 'of these, only scores on 0..12 %'

# Only at the size that is decided at.
middle=$(sed -n 's/^task scores [0-9a-f]* //p' counted | sed -n 2p)
slower "^$middle\$" > slower
awk -v shape="$middle" '/^task/ { last = $2 == "scores" && $4 != shape }
    /^ +at/ && last && $2 <= 38 { $0 = "  at " $2 " " $3 * 1.5 } { print }' slower > elsewhere
place whole.eti "$mlp" --profile=elsewhere
says 'placement: 0 of 5 tasks on a part of the CUs'

# The same bits.
sh "$source/examples/mlp/run.sh" "$bin" .
"$bin/etcc" part.eti -o part.hsaco 2> said || die "not compiled"
"$bin/etrun" part.hsaco --set N=5 --in mlp_inputs.safetensors --weights mlp_weights.safetensors --out part.safetensors
cmp mlp_outputs.safetensors part.safetensors || die "other results"
