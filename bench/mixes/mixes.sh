#!/bin/sh
# sh bench/mixes/mixes.sh BIN [FILE]: the tables of mixes.md, predicted on machine models, from the line "## Tables"
# of FILE (mixes.md beside this) on. BIN is the build's folder of programs. A minute or two.
set -eu
bin=$1
here=$(dirname "$0")
to=${2:-$here/../results/mixes.md}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

import() { # model's name, folder
    "$bin/etimport" "$2" --config-only --max-tokens 16 --name "$1" -o "$tmp/$1.etg"
}
import stories_llama "$here/../../examples/models/stories-llama"
import stories_moe "$here/../../examples/models/stories-moe"
import llama_1b "$here/../models/llama-3.2-1b"
import qwen3_06b "$here/../models/qwen3-0.6b"
cp "$here/../models/mixer/mixer.etg" "$tmp"

table() { # title, arguments of etmixes; models by name
    echo "### $1"
    echo
    shift
    (cd "$tmp" && "$bin/etmixes" "$@")
    echo
}
tables() {
    table "A small dense model and a small mixture of experts" stories_llama.etg stories_moe.etg
    table "Llama 1B and Qwen3 0.6B" llama_1b.etg qwen3_06b.etg
    table "A stack of multilayer perceptrons for images, and a decoder" mixer.etg qwen3_06b.etg
    table "Three: two decoders and images" llama_1b.etg qwen3_06b.etg mixer.etg
    table "Three: two small and one large" stories_llama.etg stories_moe.etg mixer.etg
    table "One die: a small dense model and a small mixture of experts" \
        stories_llama.etg stories_moe.etg --machine MI210
    table "One die: Llama 1B and Qwen3 0.6B" llama_1b.etg qwen3_06b.etg --machine MI210
    table "What a change of CUs costs: a small model" --changes stories_llama.etg
    table "What a change of CUs costs: Qwen3 0.6B" --changes qwen3_06b.etg
}
case $bin in /*) ;; *) bin=$PWD/$bin ;; esac

test -f "$to" && sed '/^## Tables$/,$d' "$to" >"$tmp/page" || : >"$tmp/page"
{
    echo "## Tables"
    echo
    tables
} >"$tmp/tables"
sed '$d' "$tmp/tables" >>"$tmp/page" # ends with one line end
cp "$tmp/page" "$to.new"
mv "$to.new" "$to"
