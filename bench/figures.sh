#!/bin/sh
# figures.sh BIN: measures what README.md tells of this build, on this machine, and prints it as a table.
# BIN: the folder with the tools, build/bin. Best of three runs each.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "$1" && pwd)
stories=$bin/../checkpoints/stories-llama
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

row() { # WHAT FIGURE
    printf '| %s | %s |\n' "$1" "$2"
}

compile() { # NAME: seconds and megabytes of etcc on NAME.etg
    for _ in 1 2 3; do
        "$bin/etmeasure" "$bin/etcc" "$1.etg" -o "$1.hsaco"
    done | sort -n | sed -n '1s/\(.*\) \(.*\)/\1 s, \2 MB/p'
}

# The largest number before WORDS in what the command says in three runs.
best() { # WORDS COMMAND...
    words=$1
    shift
    for _ in 1 2 3; do
        "$@" 2>&1
    done | sed -n "s|.*[^0-9.]\([0-9.][0-9.]*\) $words.*|\1|p" | sort -n | tail -n 1
}

"$bin/etimport" "$stories" -o stories.etg
"$bin/etimport" "$src/bench/models/llama-3.2-1b" --config-only -o llama1b.etg

echo "On $(nproc) cores of $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), with $(
    uname -s -m), $(date -u +%F), by \`sh bench/figures.sh build/bin\`:"
echo
row what figure
row --- ---
row '`etcc` on the stories model (4 layers, 3.4 M weights)' "$(compile stories)"
row "\`etcc\` on a model of Llama-3.2-1B's dimensions (16 layers)" "$(compile llama1b)"
row 'size of `stories.hsaco`' "$(wc -c < stories.hsaco) bytes"
text="$bin/etllm generate --kernel stories.hsaco --model $stories -n 96 -p"
# shellcheck disable=SC2086
row '`etllm generate`, one text, emulated' \
    "$(best 'tokens/s (emu' $text 'Once upon a time, there was a') tokens/s"
"$bin/etfill" in.safetensors 'tokens:i32[64]:0:1000' 'positions:i32[64]:0:63' 'slots:i32[64]:0:15'
launch="$bin/etrun stories.hsaco --set N=64 --in in.safetensors --weights $stories --repeat 5 --stats"
# shellcheck disable=SC2086
row 'the emulator, launches of 64 tokens of that model (matrix instructions among them)' \
    "$(best 'Minst/s per core' $launch) million wave instructions/s per core"
if [ -x "$bin/isa_speed" ]; then
    row 'the emulator, f32 vector arithmetic alone' \
        "$("$bin/isa_speed" | sed -n 's|^vector f32 *\([0-9.]*\) M.*|\1|p') million wave instructions/s per core"
fi
