#!/bin/sh
# sh bench/mixes/mixes.sh BIN [FOLDER]: the tables of mixes_mi300x.md and mixes_mi210.md, predicted on machine models, from the line
# "## Tables" of the files in FOLDER (../results beside this) on. BIN is the build's folder of programs. A minute or two.
set -eu
bin=$1
here=$(dirname "$0")
to=${2:-$here/../results}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

import() { # model's name, folder
    "$bin/etimport" "$2" --config-only --max-tokens 16 --name "$1" -o "$tmp/$1.etg"
}
import stories_llama "$bin/../checkpoints/stories-llama"
import stories_moe "$bin/../checkpoints/stories-moe"
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
mi300x() {
    table "A small dense model and a small mixture of experts" stories_llama.etg stories_moe.etg
    table "Llama 1B and Qwen3 0.6B" llama_1b.etg qwen3_06b.etg
    table "A stack of multilayer perceptrons for images, and a decoder" mixer.etg qwen3_06b.etg
    table "Three: two decoders and images" llama_1b.etg qwen3_06b.etg mixer.etg
    table "Three: two small and one large" stories_llama.etg stories_moe.etg mixer.etg
}
mi210() {
    table "One die: a small dense model and a small mixture of experts" \
        stories_llama.etg stories_moe.etg --machine MI210
    table "One die: Llama 1B and Qwen3 0.6B" llama_1b.etg qwen3_06b.etg --machine MI210
    table "What a change of CUs costs: a small model" --changes stories_llama.etg
    table "What a change of CUs costs: Qwen3 0.6B" --changes qwen3_06b.etg
}
case $bin in /*) ;; *) bin=$PWD/$bin ;; esac

write() { # page, what prints its tables
    page=$to/$1
    {
        [ ! -f "$page" ] || sed '/^## Tables$/,$d' "$page"
        echo "## Tables"
        echo
        "$2"
    } > "$tmp/page"
    sed '$d' "$tmp/page" > "$page.new" # ends with one line end
    mv "$page.new" "$page"
}
write mixes_mi300x.md mi300x
write mixes_mi210.md mi210
