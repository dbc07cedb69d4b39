#!/bin/sh
# bundle.sh BIN SRC WORK: what is brought to a machine with a GPU, made for an emulated one: every row passes there, rows fail when
# the time is over or a kernel is no kernel, and without a GPU it says so.
set -eu
bin=$1 src=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
cd "$work"
MODELS=no RANDOM_PROGRAMS=1 sh "$src/tests/by_hand/device/prepare.sh" "$bin" bundle gfx942 few > prepared.txt 2>&1 || { cat prepared.txt; exit 1; }
run() { # STATUS WORDS [NAME=VALUE...]
    want=$1 words=$2 status=0
    shift 2
    env ETCC_SOURCE="$src" "$@" sh bundle/run.sh bundle results > rows.txt 2>&1 || status=$?
    [ $status -eq "$want" ] && grep -q "$words" rows.txt || { cat rows.txt results/logs.txt; exit 1; }
}
on='ETCC_DEVICE=emu:gfx942:cus=5:xcds=2'
emulator=ETRT_EMU_LIB=$bin/../lib/libetemu.so
run 0 ' passed, 0 failed in ' $on "$emulator" ETCC_LAUNCHES=48
! grep -q '^FAIL' results/rows.txt && grep -c '^PASS' results/rows.txt
status=0
sh bundle/run.sh bundle results > rows.txt 2>&1 || status=$?
[ $status -eq 2 ] && grep -q 'there is no checkpoint ' rows.txt
if [ ! -e /dev/kfd ]; then run 1 'no GPU here runs gfx942' "$emulator"; fi
run 1 'not run: the time was over' $on "$emulator" ETCC_SECONDS=0
cp bundle/about bundle/random/*.0.code
run 1 '^FAIL random' $on "$emulator" ETCC_LAUNCHES=48
