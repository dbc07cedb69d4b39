#!/bin/sh
# gfx942.sh BIN [TARGET...]: what the machine code for AMD's large GPUs (gfx942 gfx950) asks of memory, task by task, for the
# dimensions of Llama-3.2-1B: as bench/results/gfx942.md keeps it. Two of the sixteen layers run on the emulator; what a tile
# does depends on no other layer. Needs 8 GB of memory and some minutes.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- gfx942 gfx950
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
config=$src/bench/models/llama-3.2-1b/config.json
mkdir two
sed 's/"num_hidden_layers": *[0-9]*/"num_hidden_layers": 2/' "$config" > two/config.json

model() { # FOLDER CONTEXT TOKENS OUT
    "$bin/etimport" "$1" --config-only --slots 4 --context "$2" --max-tokens "$3" -o "$4"
}

# One table of a target: TITLE CONTEXT POSITION TOKENS CUS
tasks() {
    title=$1 context=$2 position=$3 tokens=$4 cus=$5
    model "$(dirname "$config")" "$context" "$tokens" whole.etg
    model two "$context" "$tokens" two.etg
    "$bin/etcc" whole.etg --target="$target" --variants=1 -v --explain -o whole.hsaco > explain 2> said
    printf '\n## %s, %s\n\n' "$target" "$title"
    sed -n "s/^ *N = $tokens: \([0-9.]* [mu]s predicted\).*/All sixteen layers: \1 for a launch by the simulator; /p" explain | tr -d '\n'
    sed -n 's/.*\.text \([0-9]*\); \([0-9]* VGPRs, [0-9]* AGPRs\).*/\1 bytes of code, \2./p' said
    "$bin/etbench" two.etg --device "emu:$target:cus=$cus:xcds=8:count=tasks" --variants 1 --set "N=$tokens" \
        --range "positions=$position..$position" --range tokens=0..1000 --states zero --no-predictions --no-tasks \
        --repeat 1 --quiet --markdown table > log
    sed -n '/^| task/,$p' table | sed '/^$/,$d'
}

for target; do
    cus=304
    [ "$target" = gfx942 ] || cus=256
    tasks 'a token at position 255' 640 255 1 $cus
    tasks 'a token at position 4095' 4224 4095 1 $cus
    tasks 'eight tokens at position 255' 640 255 8 $cus
done
