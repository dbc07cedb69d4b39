#!/bin/sh
# gfx942.sh BIN [TARGET...]: what the machine code for AMD's large GPUs (gfx942 gfx950) asks of memory, task by task, and what
# part of a product's loop its matrix instructions are, for the dimensions of Llama-3.2-1B and one token of two mixtures of
# experts: as bench/results/gfx942.md keeps it. Two of the layers run on the emulator; what a tile does depends on no other layer.
# Of gpt-oss-120b only the time is predicted. Needs llvm-mca, 8 GB of memory and twenty minutes. ONE=WORD counts only the tables
# whose titles have WORD, and MCA=only only what needs no emulator.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- gfx942 gfx950
mca=$(command -v llvm-mca-22 || command -v llvm-mca)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir two

# The model of the tables that follow; of the two layers that run, the head has few columns where that is asked for (COLUMNS).
model() { # NAME [COLUMNS]
    config=$src/bench/models/$1/config.json
    layers=$(sed -n 's/.*"num_hidden_layers": *\([0-9]*\).*/\1/p' "$config")
    awk '/"layer_types"/ { print; list = 1; next } list && /\]/ { list = 0 } list > 2 { next }
        list { if (list++ == 2) sub(/,$/, "") } { print }' "$config" | sed 's/"num_hidden_layers": *[0-9]*/"num_hidden_layers": 2/' > two/config.json
    [ -z "${2:-}" ] || sed -i 's/"vocab_size": *[0-9]*/"vocab_size": '"$2"'/' two/config.json
}

# Of what llvm-mca says of each region: cycles of an iteration, and of them those of the matrix unit.
shares() {
    printf '\n| loop of | instructions | cycles | of the matrix unit | share |\n| --- | --- | --- | --- | --- |\n'
    awk '/Code Region - / { sub(/.*Code Region - /, ""); task = $0 }
        /^Iterations:/ { n = $2 } /^Total Cycles:/ { cycles = $3 / n } /^Instructions:/ { count = $2 / n }
        /- HWXDL/ { split($1, a, /[][]/); unit = a[2] + 1 }
        after { printf "| %s | %d | %.0f | %d | %.0f %% |\n", task, count, cycles, $unit, 100 * $unit / cycles; after = 0 }
        pressure { after = 1; pressure = 0 } /^Resource pressure per iteration/ { pressure = 1 }'
}

# One table of a target: TITLE CONTEXT POSITIONS TOKENS CUS. A prompt has logits for its last token, and code for its length alone.
tasks() {
    title=$1 context=$2 positions=$3 tokens=$4 cus=$5 logits=all asked=
    case $title in *"${ONE:-}"*) ;; *) return 0 ;; esac
    case $title in *prompt*) logits=asked asked="--set ROWS=1 --range slots=0..0 --range asked=$(($4 - 1))..$(($4 - 1))" ;; esac
    for from in "$(dirname "$config")" two; do
        "$bin/etimport" "$from" --config-only --slots 4 --context "$context" --max-tokens "$tokens" --logits $logits -o made.etg
        to=$([ "$from" = two ] && echo two.etg || echo whole.etg)
        if [ $logits = all ]; then mv made.etg $to; else
            sed "s/^dim N in 1\.\.$tokens /dim N in $tokens..$tokens /; s/^dim ROWS in 1\.\.[0-9]*/dim ROWS in 1..1/" made.etg > $to
        fi
    done
    "$bin/etcc" whole.etg --target="$target" --variants=1 -v --emit-loops=loops -o whole.hsaco 2> said
    launch="--variants 1 --set N=$tokens --range positions=$positions --range tokens=0..1000 --states zero --quiet $asked"
    "$bin/etbench" whole.etg --device none --target "$target" $launch --no-unfused --markdown predicted > log 2>&1 ||
        { cat log >&2; exit 1; }
    printf '\n## %s, %s\n\n' "$target" "$title"
    us=$(awk -F' *[|] *' '/^[|] N=/ { print $3; exit }' predicted)
    # Where a router decides what runs, with experts that are guessed.
    : "${us:=$("$bin/etcc" whole.etg --target="$target" --variants=1 --explain -o whole.hsaco | sed -n 's/^  N = [0-9]*: \([0-9.]*\) us predicted.*/\1/p')}"
    printf 'All %d layers: %s us predicted for a launch by the simulator; ' "$layers" "$us"
    sed -n 's/.*\.text \([0-9]*\); \([0-9]* VGPRs, [0-9]* AGPRs\).*/\1 bytes of code, \2./p' said
    [ $logits = all ] || "$mca" -mtriple=amdgcn-amd-amdhsa -mcpu="$target" -iterations=100 loops 2> /dev/null | shares
    [ "${MCA:-}" != only ] && [ "${RUN:-}" != no ] || return 0
    "$bin/etbench" two.etg --device "emu:$target:cus=$cus:xcds=8:count=tasks" $launch --no-predictions --no-tasks --repeat 1 \
        --markdown table > log 2>&1 || { cat log >&2; exit 1; }
    printf '\n'
    sed -n '/^| task/,$p' table | sed '/^$/,$d'
    awk -F' *[|] *' '$10 > 1 { code += $12 } END { printf "\nThe layer loop has %.1f KB of code.\n", code }' table
}

for target; do
    cus=304
    [ "$target" = gfx942 ] || cus=256
    model llama-3.2-1b
    tasks 'a token at position 255' 640 255..255 1 $cus
    tasks 'a token at position 4095' 4224 4095..4095 1 $cus
    tasks 'eight tokens at position 255' 640 255..255 8 $cus
    tasks 'a prompt of 512 tokens' 640 0..511 512 $cus
    model qwen3-30b-a3b 4096
    tasks 'a token of Qwen3-30B-A3B at position 255' 640 255..255 1 $cus
    model gpt-oss-20b 4096
    tasks 'a token of gpt-oss-20b at position 255' 640 255..255 1 $cus
    model gpt-oss-120b
    RUN=no tasks 'a token of gpt-oss-120b at position 255' 640 255..255 1 $cus
done
