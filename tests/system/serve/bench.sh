#!/bin/sh
# bench.sh BIN SRC WORK: bench/serve on an emulated GPU: a row for every load, whose figures fit together; what fails says so and the others go
# on; no time, no bundle and no GPU are told.
set -eu
bin=$1 src=$2 work=$3/bench here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$work"
mkdir -p "$work"
cd "$work"
fail() { echo "bench.sh: $*" >&2; cat prepared.txt said.txt results/logs.txt >&2 || true; exit 1; }
prepare() { sh "$src/bench/serve/prepare.sh" "$bin" "$1" "$2" "$here/bench_rows.txt" > prepared.txt 2>&1; }
prepare bundle MI300X || fail 'not prepared'
if prepare bundle MI300X; then fail 'into a folder that was there'; fi
if prepare other M1; then fail 'for a machine that is none'; fi
grep -q "has no M1" prepared.txt || fail 'what is no machine'

run() { # STATUS WORDS [NAME=VALUE...]
    want=$1 words=$2 status=0
    shift 2
    env ETCC_TOKENS=12 "$@" sh bundle/run.sh bundle results > said.txt 2>&1 || status=$?
    [ $status -eq "$want" ] && grep -q "$words" said.txt || fail "status $status, or not: $words"
}
# value ROW FIGURE: of results/rows.txt
value() {
    awk -v row="row $1" -v figure="$2" '$1 == "row" { on = $0 == row } on && $1 == figure { print $2; exit }' results/rows.txt
}
on='ETCC_DEVICE=emu:gfx942:cus=5:xcds=2' emulator=ETRT_EMU_LIB=$bin/../lib/libetemu.so
[ -e /dev/kfd ] || run 1 'no GPU here runs gfx942' "$emulator"
run 0 '0 loads or servers failed' $on "$emulator"
n='[0-9][0-9.]*'
[ "$(grep -c "^| small.*| $n | $n | $n | $n, $n | $n, $n | $n, $n | $n | $n | $n | $n | -*$n | $n | $n | -*$n | $n | $n |\$" said.txt)" -eq 3 ] || fail 'the rows'
grep -q "^| small, .--resident. | 3 | 4 | $n | $n, $n | $n, $n | $n, $n | $n | $n | $n | - | - |" said.txt || fail 'the row of a kernel that stays'
grep -q "^| two devices | 2 | 4 | $n | $n, $n | $n, $n | $n, $n |" said.txt || fail 'the row of two devices'
row='small, 4 clients'
[ "$(value "$row" requests)" = 6 ] && [ "$(value "$row" failed)" = 0 ] || fail 'the requests'
[ "$(value "$row" tokens)" = "$(value "$row" vllm:generation_tokens_total)" ] || fail 'the tokens as clients and server count them'
[ "$(value "$row" prompt_tokens)" = "$(value "$row" vllm:prefix_cache_queries_total)" ] || fail 'the prompts as clients and server count them'
[ "$(value "$row" etllm_read_bytes_total)" = $((512 * 4 * $(value "$row" tokens))) ] || fail 'the bytes of logits'
row='small, `--sample greedy`, 3 clients'
[ "$(value "$row" etllm_read_bytes_total)" -lt $((512 * $(value "$row" tokens))) ] || fail 'the bytes of chosen tokens'
# The device's time is a part of the thread's.
awk -v d="$(value "$row" etllm_device_seconds_total)" -v w="$(value "$row" etllm_step_seconds_total_wait)" 'BEGIN { exit !(d > 0 && w > 0) }' ||
    fail 'the times'
sed -i '2s/"temperature":0/"no_such":1/' bundle/rows
run 1 '^| small, `--sample greedy` | 3 | failed: .*no_such' $on "$emulator"
sed -i '2s/"no_such":1/"temperature":0/' bundle/rows
kernel=$(sed -n '1s/^[^|]*|\([0-9]*\)|.*/\1/p' bundle/rows)
cp bundle/about "bundle/kernels/$kernel"
run 1 '^| small | failed: ' $on "$emulator"
grep -q '^| small, `--sample greedy` | 3 | 4 |' said.txt || fail 'the row after one that fails'
run 1 'failed: ' $on "$emulator" ETCC_SECONDS=0
rm bundle/about
run 2 'holds no bundle' $on "$emulator"
