#!/bin/sh
# sh share.sh BIN SOURCE: etshare on the emulator. Every answer is the one that the model gives alone, in every way of sharing;
# every request is answered; wrong options say what is wrong. Its times mean nothing here.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
for m in mlp encoder; do
    "$bin/etcc" "$src/examples/$m/$m.etg" --target=gfx942 --variants=1 -o "$m.hsaco"
done
"$bin/etcc" "$src/examples/mlp/mlp.etg" "$src/examples/encoder/encoder.etg" --target=gfx942 -o mix.hsaco

share() { "$bin/etshare" --device emu:gfx942:cus=8:xcds=2 --seconds 0.2 "$@"; }
share -p turns=turns:mlp.hsaco,encoder.hsaco -p one=one:mix.hsaco -p side=streams:mlp.hsaco@4,encoder.hsaco@3 \
    -p lent=lent:mlp.hsaco@4,encoder.hsaco@4 -p plans=plans:mlp.hsaco,encoder.hsaco \
    --set N=5 --set mlp.N=3 --check --load 0.2,0.5 --markdown table.md --json table.json > printed
cmp printed table.md
grep -q '^| turns | turns | 8 / 8 |' table.md || die "no row of turns: $(cat table.md)"
grep -q '^| one | one | 8 / 8 |' table.md || die "no row of one kernel: $(cat table.md)"
grep -q '^| side | streams | 4 / 3 |' table.md || die "no row of streams: $(cat table.md)"
grep -q '^| lent | lent | 4 / 4 |' table.md || die "no row of kernels that get more CUs: $(cat table.md)"
[ "$(grep -c '"load"' table.json)" = 10 ] || die "a load is missing: $(cat table.json)"
! grep -q '"answers": 0' table.json || die "somebody was not answered: $(cat table.json)"

refused() { # what is said, options
    said=$1
    shift
    ! share "$@" > out 2>&1 || die "$* passed"
    grep -q "$said" out || die "$*: $(cat out), not $said"
}
refused 'only NVIDIA' -p p=parts:mlp.hsaco,encoder.hsaco
refused 'none of one, turns' -p p=half:mlp.hsaco
refused 'is not KIND:FILE' -p p=turns
refused 'a file for each model' -p p=turns:mlp.hsaco
refused 'one file, of all models' -p p=one:mlp.hsaco,mix.hsaco
refused 'no number of CUs' -p p=turns:mlp.hsaco@3,encoder.hsaco
refused 'no number of CUs' -p p=streams:mlp.hsaco@x,encoder.hsaco
refused 'files with commas' -p p=turns:mlp.hsaco,,encoder.hsaco
refused 'is of several models' -p p=turns:mix.hsaco,mlp.hsaco
refused 'has 1 models' -p a=turns:mlp.hsaco,encoder.hsaco -p b=one:mlp.hsaco
refused 'absent.hsaco' -p p=turns:mlp.hsaco,absent.hsaco
refused 'a part is more than 0' -p p=one:mix.hsaco --load 0
refused 'write LO..HI' -p p=one:mix.hsaco --range tokens=4
refused 'resident\|more than' -p p=streams:mlp.hsaco@9,encoder.hsaco@3
