#!/bin/sh
# routed_tiles.sh BIN SRC FOLDER: e4m3 in a mixture on an H100. A stage of the weight stream has whole lines of experts' rows; for one
# token the last round of tiles leaves few CUs without one; and up to eight rows that a product has as f16 multiply e4m3 as it is. In bf16
# up to eight tokens have tiles so narrow that each wave asks for its own rows, which are not priced as if memory brought them for each tile.
# A layer of experts streams where their blocks have up to sixteen rows; blocks of more have pipelines of both operands.
# Blocks that no expert owns are not stored. Rows of integers are shared by as few lanes as load all of theirs at once.
# Products that waves can share so that weights stream are shared so, whatever else a machine's figures say is as fast.
# The experts of one token are not sorted. Their second matrices are one product where they are multiplied as they are and eight waves share an
# expert's k's: a part of k comes from where its expert is, chunks of more than that are refused, and no task adds experts up.
set -eu
bin=$1 src=$2
. "$(dirname "$0")/../../support/lib.sh"
fresh "$3"
import() { # MODEL
    "$bin/etimport" "$src/bench/models/$1" --config-only --name=m --slots 1 --context 640 --max-tokens 16 -o all.etg
}
import qwen3-30b-a3b-fp8
compile() { # LEAST [MOST]: tokens
    sed "s/^dim N in [0-9.]*/dim N in $1..${2:-$1}/" all.etg > "m.etg"
    "$bin/etcc" m.etg --machine="${machine:-H100}" --variants=1 --to=scheduled -o m.eti
}
plan() { # TASK: how its product is done
    sed -n "/^func @$1 \\[/,/^}/p" m.eti | sed -n 's/^ *plan rows //p'
}
for tokens in 2 8; do
    compile $tokens
    chunk=$(plan experts.gate_up | sed -n 's/.* weights stream .* chunk \([0-9]*\).*/\1/p')
    [ "${chunk:-0}" -ge 128 ] || die "$tokens tokens: $(plan experts.gate_up)"
    plan attn.q | grep -q 'decode f16' || die "$tokens tokens: $(plan attn.q)"
done
compile 16
plan attn.q | grep -q 'decode' || die '16 tokens: no plan'
! plan attn.q | grep -q 'decode f16' || die "16 tokens: $(plan attn.q)"
compile 1
tiles=$((8 * $(sed -n 's/^func @experts.gate_up \[.*u0 < \([0-9]*\)\].*/\1/p' m.eti)))
rest=$(((132 - tiles % 132) % 132 * 132 / tiles))
[ "$rest" -le 13 ] || die "one token: $tiles tiles, a last round that leaves $rest CUs without one in the mean"
grep -q '^func @x_2' m.eti || die 'fp8, one token: experts are one product'
! grep -q 'group_place\|^func @owner' m.eti || die 'fp8, one token: experts are sorted'
import qwen3-30b-a3b
compile 1
down=$(sed -n '/^func @experts.down \[/,/^}/p' m.eti)
echo "$down" | grep -q 'over k < 6144 waves' || die "one token: $down"
echo "$down" | grep -q 'weights stream .* chunk 768 ' || die "one token: $down"
! grep -q 'group_place\|^func @owner' m.eti || die 'one token: experts are sorted'
[ "$(sed -n 's/^    task @\([^ ]*\) = .*/\1/p' m.eti | tail -n 1)" = experts.down ] || die 'one token: a task behind experts.down'
"$bin/etcc" m.eti --machine=H100 --unoptimised --emit-llvm=text.ll
"$bin/etcc" m.etg --machine=H100 --variants=1 --unoptimised --emit-llvm=source.ll
cmp text.ll source.ll || die 'one token: the text makes other code'
sed '/^func @experts.down/,/^}/s/chunk 768/chunk 1024/' m.eti > long.eti
! "$bin/etcc" long.eti --machine=H100 -o long.ptx 2> said || die 'one token: a chunk of more than one expert'
grep -q 'experts.down: its product cannot have the plan that is given.*come through the ring in such chunks' said || die "$(cat said)"
compile 3 8
plan experts.gate_up | grep -q '^own' || die "up to eight tokens in bf16: $(plan experts.gate_up)"
machine=H200 compile 3 8
plan experts.gate_up | grep -q '^own' || die "up to eight tokens in bf16 on an H200: $(plan experts.gate_up)"
layer() { # TOKENS
    sed "s/^dim N in [0-9.]*/dim N in $1..$1/" "$src/bench/models/qwen3-30b-a3b/layer.etg" > all.etg
    compile "$1"
}
layer 128
for task in h y; do plan $task | grep -q 'weights stream' || die "a layer of 128 tokens: $(plan $task)"; done
# What a block without an expert would store is left out, unless something reads all blocks; without the promise that is refused.
masked() { # TASK: how many of its stores leave blocks out
    sed -n "/^func @$1 \\[/,/^}/p" m.eti | grep -c 'where 0 <= %owner\[i0\] || i0 == 0 promised$' || :
}
for task in h y; do [ "$(masked $task)" = 1 ] || die "a layer of 128 tokens: $task stores blocks without an expert"; done
sed 's/ promised$//' m.eti > refused.eti
! "$bin/etcc" refused.eti --machine=H100 -o refused.sm_90 2> said || die 'blocks that are not stored, and no promise'
grep -q 'reads %h.*, which nothing before it is shown to have written' said || die "$(cat said)"
sed 's/^h = bf16.*/&\noutput most = max(h, axis=2)/' "$src/bench/models/qwen3-30b-a3b/layer.etg" > all.etg
compile 128
[ "$(masked h) $(masked y)" = '0 1' ] || die "h is read whole: $(masked h) and $(masked y) stores leave blocks out"
layer 1024
# Work-items that count in integers, each for a row of its own, read the same counts together; rows are searched for in whole lines.
rows=$(sed -n '/^func @xr.map \[/,/^}/p' m.eti)
echo "$rows" | grep -q 'plan lanes 1 vector 8' || die "rows of blocks: $rows"
echo "$rows" | grep -q 'group_place\[r[0-9]* + max(0, ' || die "rows of blocks: $rows"
echo "$rows" | grep -A1 'reduce max' | grep -q 'plan lanes 4 ' || die "rows of blocks: $rows"
layer 256
for task in h y; do plan $task | grep -q '^pipeline .* weights pipeline' || die "a layer of 256 tokens: $(plan $task)"; done
import gpt-oss-20b
for machine in H100 H200; do
    compile 1
    plan attn.q | grep -q 'weights stream' || die "gpt-oss on an $machine: $(plan attn.q)"
    ! grep -q 'group_place' m.eti || die "gpt-oss on an $machine: experts of one token are sorted"
    grep -q '^  *reduce sum .* over .* < 4$' m.eti || die "gpt-oss on an $machine: eight waves cannot share 2880"
done
# Four waves share 2880 in chunks of 384, the last of which is half: so experts have tiles of 96 columns. Half of o's k is as good as all of it,
# in tiles of more columns, where more CUs have one then.
for task in gate_up down; do
    sed -n "/^func @experts.${task}_proj_blocks \\[/,/^}/p" m.eti | grep -q ' n < 96 .* waves 2 \* 4 ' || die "gpt-oss: tiles of experts.$task"
    plan experts.${task}_proj_blocks | grep -q 'weights stream .* chunk 384 ' || die "gpt-oss: $(plan experts.${task}_proj_blocks)"
done
grep -q '^func @attn.o \[j0 < 60, s0 < 2\]' m.eti || die "gpt-oss: $(grep '^func @attn.o' m.eti)"
# Eight rows that a router chooses are staged once a tile, in one batch of loads, not in windows of sixteen rows' room; two windows stay two.
rows() { # TASK: the buffer of its rows
    sed -n "/^func @$1 \\[/,/^}/p" m.eti | sed -n 's/^ *local \$a : bf16\[\([0-9, ]*\)\].*/\1/p'
}
compile 8
[ "$(rows experts.gate_up_proj_blocks)" = '8, 2880' ] && plan experts.gate_up_proj_blocks | grep -q 'unroll 12 prologue staged' ||
    die "gpt-oss, eight tokens: rows in $(rows experts.gate_up_proj_blocks)"
import qwen3-30b-a3b-fp8
compile 8
[ "$(rows experts.gate_up)" = '16, 1024' ] || die "fp8, eight tokens: rows in $(rows experts.gate_up)"
# In a kernel of two models what is added to one is its own.
sed 's/^model one_token/model two/' "$src/tests/passes/pipeline/one_token.etg" > two.etg
"$bin/etcc" "$src/tests/passes/pipeline/one_token.etg" two.etg --machine=H200 --to=scheduled -o mix.eti
count() { grep -c "^func @$1\\." mix.eti; }
[ "$(count one_token)" = "$(count two)" ] || die "two models: $(count one_token) and $(count two) functions"
