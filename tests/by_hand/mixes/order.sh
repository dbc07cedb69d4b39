#!/bin/sh
# sh order.sh BIN SOURCE: what placement says of its own choices (etcc -v), mix by mix: the integer
# program's is no worse than a part for each model, or every task on all CUs, model after model. And etmixes prints a table
# of every policy, the same each time.
set -eu
bin=$1 src=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

"$bin/etimport" "$src/bench/models/qwen3-0.6b" --config-only --max-tokens 16 --name qwen3_06b -o "$tmp/qwen.etg"
mlp=$src/examples/mlp/mlp.etg encoder=$src/examples/encoder/encoder.etg moe=$src/examples/moe/moe.etg

predicted() { # placement, files: the microseconds that placement predicts
    how=$1
    shift
    "$bin/etcc" "$@" --placement="$how" -v --unverified --to=placed -o "$tmp/placed.eti" 2>&1 |
        sed -n 's/^placement: .*, \([0-9.]*\) us predicted.*/\1/p'
}
check() {
    ilp=$(predicted ilp "$@") fixed=$(predicted fixed "$@") all=$(predicted all "$@")
    echo "$*: $ilp us, a part for each $fixed us, on all CUs $all us"
    awk "BEGIN { exit !($ilp > 0 && $ilp <= $fixed && $ilp <= $all) }" </dev/null
}
check "$mlp" "$encoder"
check "$moe" "$encoder" "$mlp"
check "$tmp/qwen.etg" "$src/bench/models/mixer/mixer.etg"

"$bin/etmixes" "$mlp" "$encoder" "$moe" --requests 5000 >"$tmp/one"
"$bin/etmixes" "$mlp" "$encoder" "$moe" --requests 5000 >"$tmp/two"
cmp "$tmp/one" "$tmp/two"
test "$(grep -c '^| [a-zE]' "$tmp/one")" -eq 12
if grep -e nan -e inf "$tmp/one"; then exit 1; fi
"$bin/etmixes" --changes "$mlp" | grep -q '^| 2 |'
if "$bin/etmixes" "$mlp" 2>"$tmp/err"; then exit 1; fi
grep -q "two or three" "$tmp/err"
if "$bin/etmixes" "$mlp" "$tmp/none.etg" 2>"$tmp/err"; then exit 1; fi
grep -q 'cannot read' "$tmp/err"
