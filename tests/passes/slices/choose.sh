#!/bin/sh
# choose.sh BIN SRC FOLDER GLPK(ON|OFF): --slices=auto cuts the products whose version is predicted to take least, a per cent forgiven for
# the device's events it does without; where events cost nothing none, where they cost a lot as many as can be; and the
# kernel gives what the graph does.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 folder=$3 glpk=$4
etg=$src/tests/passes/slices/decoder.etg
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
machine() { # NAME COUNTER FENCE: an MI300X whose dies hear of one another after COUNTER us, and fence in FENCE us
    sed -e "s/^name .*/name $1/" -e "s/^\(event_us\) .*/\1 $2/" -e "s/^\(counter_us\) .*/\1 $2/" \
        -e "s/^\(counter_die_us\) .*/\1 0.04/" -e "s/^\(fence_die_us\) .*/\1 0.001/" \
        -e "s/^\(release_us\|acquire_us\) .*/\1 $3/" "$src/passes/machines/mi300x.machine" > $1.machine
}
to_schedule() { # MACHINE OPTIONS: to o.eti, what is told to said
    machine=$1
    shift
    "$bin/etcc" "$etg" --variants=1 --machine="$machine" --to=scheduled -o o.eti -v "$@" 2> said
}
# Is the version that was chosen the best of those that were told, by the rule, up to what was rounded?
check_rule() {
    awk '
        function check() { if (versions && taken > least + 0.2) { print taken " chosen, least " least; bad = 1 } }
        /, predicted: / { check(); us = $7; events = $(NF - 4); least = taken = us }
        /^#   .* slices: / {
            versions++
            mine = $2 * (1 - ($5 < events ? 0.01 * (events - $5) / events : 0))
            if (/ \(chosen\)$/) taken = mine
            if (mine < least) least = mine
        }
        END { check(); exit bad || !versions }' said || die "not the best: $(cat said)"
}
machine near 0.05 0.001
machine far 10 5
to_schedule MI300X --slices=8
grep -q '^# events in an iteration of l: 8 of the device$' said || die "no events without slices: $(cat said)"
grep -q '^# events in an iteration of l: 2 of the device, 8 of the die$' said || die "no events in slices: $(cat said)"
for machine in MI300X ./near.machine ./far.machine; do
    to_schedule $machine --slices=auto
    [ "$glpk" = OFF ] || grep -q '^# slices; program: objective .*, gap 0\.00 %' said || die "no program: $(cat said)"
    check_rule
done
cp o.eti chosen.eti
grep -c '(chosen)$' said | grep -qx 1 || die "nothing chosen where events are dear"
to_schedule ./far.machine --slices=8
cmp o.eti chosen.eti || die "not all products cut where events are dear"
to_schedule ./near.machine --slices=auto
awk '/ us as it is, / { whole = $7 } /^#   .* \(chosen\)$/ { taken = $2 } END { exit taken > whole }' said ||
    die "products cut where events cost nothing: $(cat said)"

# By rows, where that is best.
to_schedule MI300X --slices=auto
grep -q 'rows for o (chosen)$' said || die "rows of a decoder's heads are not cut: $(cat said)"
cp o.eti chosen.eti
to_schedule MI300X --slices=rows:8
cmp o.eti chosen.eti || die "rows of other products are cut"

# As many slices as the machine has dies; with one, none.
sed -e 's/^dies .*/dies 4/' -e 's/^name .*/name four/' far.machine > four.machine
"$bin/etcc" "$etg" --machine=./four.machine --slices=auto -o four.hsaco --explain=four.txt
grep -q 'is in 4 slices, one for each die in turn: cut are o, down' four.txt || die "$(grep -i slices four.txt)"
"$bin/check_kernel" "$etg" four.hsaco --device emu:gfx942:cus=16:xcds=4:coherence=model:seed=1 --set N=3
sed -e 's/^dies .*/dies 1/' -e 's/^name .*/name one/' far.machine > one.machine
to_schedule ./one.machine --slices=auto
! grep -q 'slice' o.eti || die "slices on one die"

# Beside another model each is chosen for: the decoder in slices, what is faster without them as it is.
layers=$src/tests/passes/slices/layers.etg
"$bin/etcc" "$etg" "$layers" --machine=./four.machine --slices=auto --variants=1 -o mix.hsaco --explain=mix.txt -v 2> said
check_rule
grep -q '^  decoder is in 4 slices' mix.txt || die "$(grep slices mix.txt)"
grep -q '^  layers is not in 4 slices' mix.txt || die "$(grep slices mix.txt)"
"$bin/etcc" "$etg" --machine=./four.machine --slices=4 --variants=1 -o decoder.hsaco
"$bin/etcc" "$layers" --machine=./four.machine --slices=none --variants=1 -o layers.hsaco
"$bin/check_mix" emu:gfx942:cus=16:xcds=4:coherence=model:seed=2 mix.hsaco 8 1 decoder decoder.hsaco layers layers.hsaco
