#!/bin/sh
# Weights through a ring (ir/weights/stream.h) in a kernel of several models: of those whose products have few rows, while the others
# bring their operands themselves; the wave that brings waits until a model begins.
. "$(dirname "$0")/lib.sh"
"$bin/etimport" "$src/bench/models/llama-3.2-1b" --config-only --slots 4 --max-tokens 4 --context 640 -o decode.etg
"$bin/etcc" decode.etg "$src/bench/models/mixer/mixer.etg" --target=sm_90 --machine=H200 --variants=1 --to=scheduled -o mix.eti
grep -q '^ring ' mix.eti || die 'the program has no ring'
[ "$(grep -c 'task @llama.*streamed' mix.eti)" -ge 4 ] || die "the decoder does not stream: $(grep task mix.eti)"
! grep -q 'task @mixer.*streamed' mix.eti || die "products of many rows stream: $(grep task mix.eti)"
# Boxes have barriers of their own; a text whose plans have boxes is refused without them.
"$bin/etcc" decode.etg "$src/bench/models/mixer/mixer.etg" --target=sm_90 --machine=H200 --variants=1 --without=boxes -o mix.ptx
! "$bin/etcc" mix.eti --target=sm_90 --machine=H200 --without=boxes -o none.ptx 2> said || die 'boxes that are planned are left out'
grep -q 'cannot have the plan' said || die "$(cat said)"
"$bin/etcc" mix.eti --target=sm_90 --machine=H200 --to=scheduled -o again.eti
cmp mix.eti again.eti
# Barriers: two for each slot, and the one that tells that a model begins.
slots=$(sed -n 's/^ring \([0-9]*\) .*/\1/p' mix.eti)
[ "$(grep -c 'mbarrier.init' mix.ptx)" = $((2 * slots + 1)) ] || die "$(grep -c mbarrier.init mix.ptx) barriers for $slots slots"
