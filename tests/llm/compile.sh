#!/bin/sh
# Imports and compiles the checkpoints that the other tests here run.
. "$(dirname "$0")/lib.sh"
for m in $models; do
    # Which experts a router chooses hangs on differences of any size: these references are met where
    # the frequencies are theirs and the caches precise.
    case $m in
    mixtral | qwen3_moe) options='--rope-frequencies bf16 --cache f16' ;;
    *) options= ;;
    esac
    # shellcheck disable=SC2086
    "$bin/etimport" "$(checkpoint "$m")" -o "$m.etg" $options
    "$bin/etcc" "$m.etg" -o "$m.hsaco"
done
