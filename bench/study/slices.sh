#!/bin/sh
# slices.sh BIN: the table of slices.md, predicted; BIN is a build's bin folder.
set -eu
bin=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '| model | N | machine | as it is, us | with products in slices, us | chosen | events of a layer as it is | in slices |'
echo '| --- | --- | --- | --- | --- | --- | --- | --- |'
for model in llama-3.2-1b qwen3-8b qwen3-32b; do
    for n in 1 8 32; do
        "$bin/etimport" "$source/../models/$model" --config-only --max-tokens $n -o some.etg
        sed "s/^dim N in 1\.\.$n /dim N in $n..$n /" some.etg > m.etg
        for machine in MI300X MI355X; do
            target=gfx942
            [ $machine = MI355X ] && target=gfx950
            "$bin/etcc" m.etg --variants=1 --target=$target --machine=$machine --slices=auto --unverified \
                --to=scheduled -o m.eti -v 2>&1 |
                awk -v row="| $model | $n | $machine" '
                    /, predicted: / { row = row " | " $7; chosen = "none" }
                    /^#   .* slices: / { us = $2; name = $0; sub(/.* slices: /, "", name); sub(/ \(chosen\)/, "", name) }
                    /^#   .* slices: / { cut = cut (cut ? "; " : " | ") name ": " us }
                    / \(chosen\)$/ { sub(/.* slices: /, ""); sub(/ \(chosen\)/, ""); chosen = $0 }
                    /iteration of/ { sub(/.*: /, ""); events = events " | " $0 }
                    END { print row cut " | " chosen events " |" }'
        done
    done
done
