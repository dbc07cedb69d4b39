#!/bin/sh
# hopper.sh BIN SRC WORK: bench/hopper on an emulated GPU: a figure in each column that there is; a kernel that is none fails by itself; no
# time, no bundle and no GPU are told. Where there is ptxas, the same for a Hopper card is made.
set -eu
bin=$1 src=$2 work=$3 here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$work"
mkdir -p "$work"
cd "$work"
prepare() { sh "$src/bench/hopper/prepare.sh" "$bin" "$1" "$2" "$here/${3:-hopper_rows.txt}" > prepared.txt 2>&1; }
fail() { echo "hopper.sh: $*" >&2; cat prepared.txt rows.txt results/logs.txt >&2 || true; exit 1; }
prepare bundle MI300X || fail 'not prepared'
if prepare bundle MI300X; then fail 'into a folder that was there'; fi
if prepare other M1; then fail 'for a machine that is none'; fi
grep -q "has no M1" prepared.txt || fail 'what is no machine'
if command -v ptxas > /dev/null || [ -x /usr/local/cuda/bin/ptxas ]; then
    prepare card H200 || fail 'not prepared for a card'
    "$bin/etrun" card/kernels/read.small --list | grep -q 'plain_read for sm_90' || fail 'no plain read'
    "$bin/etrun" card/kernels/llama.4.etcc --list | grep -q 'for sm_90' || fail 'no kernel for the card'
else
    if prepare card H200; then fail 'for a card without ptxas'; fi
    grep -q 'there is no ptxas' prepared.txt || fail 'what is missing'
fi
# The tools start with LLVM's names alone.
LD_LIBRARY_PATH=$work/bundle/lib bundle/bin/etbench --version | grep -q etbench || fail 'etbench does not start'

run() { # STATUS WORDS [NAME=VALUE...]
    want=$1 words=$2 status=0
    shift 2
    env ETCC_TORCH=no "$@" sh bundle/run.sh bundle results > rows.txt 2>&1 || status=$?
    [ $status -eq "$want" ] && grep -q "$words" rows.txt || fail "status $status, or not: $words"
}
on='ETCC_DEVICE=emu:gfx942:cus=5:xcds=2' emulator=ETRT_EMU_LIB=$bin/../lib/libetemu.so
[ -e /dev/kfd ] || run 1 'no GPU here runs gfx942' "$emulator"
rm bundle/lib/libLLVM* # which the emulator does need
run 0 '2 of 2 rows measured' $on "$emulator"
grep -q '^| Small, 2 | 4 | [0-9]* | 1.5x | [0-9]* | [0-9.]* | [0-9.]* | [0-9]* |  | [0-9]* |  |  |  |$' results/table.md || fail 'the first row'
grep -q '^| Small, prompt of 8 | 32 | [0-9]* | 0.1 | [0-9]* | [0-9.]* | [0-9.]* | [0-9]* |  |  |  |  |  |$' results/table.md || fail 'the second row'

# What each feature is worth: those that change the code have a figure, and the others none.
mv bundle rows
prepare bundle MI300X hopper_features.txt || fail 'features are not prepared'
rm bundle/lib/libLLVM*
run 0 '1 of 1 columns measured' $on "$emulator"
grep -q '^| nothing | [0-9]* |$' results/table.md || fail 'all features'
grep -q '^| `order`: .* | [0-9]*, \*\*[0-9.]*\*\* |$' results/table.md || fail 'a feature'
grep -q '^| `prefetch`: .* |  |$' results/table.md || fail 'a feature that these kernels have not'
rm -r bundle
mv rows bundle

cp bundle/about bundle/kernels/llama.4.kernels
run 0 '^| Small, 2 .* | [0-9.]* | FAIL |.*failed: kernels ' $on "$emulator"
cp bundle/about bundle/kernels/llama.32.prompt.etcc
run 1 '1 of 2 rows measured' $on "$emulator"
run 1 'failed: etcc the time was over' $on "$emulator" ETCC_SECONDS=0
rm bundle/about
run 2 'holds no bundle' $on "$emulator"
