#!/bin/sh
# company.sh BIN SRC WORK TOOLS: a row of logits has the same bits however many rows its launch has, alone, in chunks of every variant and with
# other texts, where every variant adds up the terms of each product in the same order, which the text of the scheduled program says;
# and only there; and everywhere with --same-sums. Of dense decoders, mixtures, quantised ones, those of GGUF files, of scans and of
# latent attention. TOOLS holds make_gguf.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 tools=$4
fresh "$work"
bits() { # FILE: its tensors, without the header
    tail -c +$((9 + $(od -An -t u8 -N 8 "$1"))) "$1"
}
# The products of which variants divide k otherwise among waves or into chunks.
orders() { # FILE.eti
    awk '
        /^variant / { variant++ }
        /^func / { name = $2 }
        /^ *contract / { for (i = 1; i < NF; i++) if ($i == "waves") order = $(i + 3) }
        /^ *plan rows / {
            for (i = 1; i < NF; i++) if ($i == "chunk") order = order " " $(i + 1)
            if (name in first && first[name] != order) print name
            else first[name] = order
        }' "$1" | sort -u | paste -sd ' ' -
}
same=0 others=0
try() { # NAME.etg, FOLDER with golden.safetensors, TARGET, VARIANTS, most tokens of each of three texts in a launch [--same-sums]
    k=$(kernel "$bin/etcc" "$1" "$3" static --variants="$4" ${6:+"$6"})
    "$bin/etcc" "$1" --target="$3" --variants="$4" ${6:+"$6"} --to scheduled -o scheduled.eti
    [ "$4" = 1 ] || [ "$(grep -c '^variant ' scheduled.eti)" -gt 1 ] || die "$1 has one variant"
    orders=${6:-$(orders scheduled.eti)}
    differ=0
    for way in '64 1' '1 1' '5 1' ${ETCC_LONG:+'4 1' '9 1' '20 1' '1 3'} "$5 3"; do
        chunk=${way% *} batch=${way#* }
        "$bin/etllm" score --kernel "$k" --device "emu:$3" --model "$2" --tokens "$2/golden.safetensors" --out out.st --chunk "$chunk" \
            --batch "$batch" 2> said || die "$(cat said)"
        bits out.st > bits
        [ "$way" != '64 1' ] || cp bits whole
        cmp -s whole bits && continue
        differ=$((differ + 1))
        echo "$1 for $3, $4 variants, chunks of $chunk, $batch texts: $(cmp -l whole bits | wc -l) bytes of $(wc -c < whole) differ"
    done
    echo "$1 for $3, $4 variants: several orders of: ${orders:-none}"
    if [ "$orders" = --same-sums ]; then
        [ $differ = 0 ] || die "$1: rows hang on how many there are with $orders"
    elif [ -z "$orders" ]; then
        [ $differ = 0 ] || die "$1: rows hang on how many there are"
        same=$((same + 1))
    else
        [ $differ -gt 0 ] || die "$1: rows do not hang on how many there are, though orders of $orders do"
        others=$((others + 1))
    fi
}
# The golden checkpoint llama as a GGUF file of FORMAT, whose blocks stay so.
gguf() { # FORMAT TARGET VARIANTS [--same-sums]
    "$tools/make_gguf" "$bin/../checkpoints/llama" m.gguf "$1"
    rm -rf "$1"
    "$bin/etgguf" m.gguf -o "$1" 2> said || die "$1: $(cat said)"
    cp "$bin/../checkpoints/llama/golden.safetensors" "$1"
    "$bin/etimport" "$1" --max-tokens 256 --name llama -o "$1.etg"
    grep -q '_codes : ' "$1.etg" || die "$1: nothing is quantised"
    try "$work/$1.etg" "$1" "$2" "$3" 40 ${4:+"$4"}
}
golden() { # NAME TARGET VARIANTS [--same-sums]
    try "$src/tests/targets/models/$1.etg" "$bin/../checkpoints/$1" "$2" "$3" 20 ${4:+"$4"}
}
# Without $ETCC_LONG one of each kind.
for model in llama ${ETCC_LONG:+qwen3}; do # dense: these have variants where a launch may have more rows
    "$bin/etimport" "$bin/../checkpoints/$model" --max-tokens 256 -o $model.256.etg
    try "$work/$model.256.etg" "$bin/../checkpoints/$model" gfx1100 3 40
    try "$work/$model.256.etg" "$bin/../checkpoints/$model" gfx1100 3 40 --same-sums
done
golden qwen2_moe gfx942 1
[ -z "${ETCC_LONG-}" ] || try "$src/tests/unit/import/qwen3_moe.etg" "$bin/../checkpoints/qwen3_moe" gfx942 3 20
for model in ${ETCC_LONG:+olmoe deepseek_v2 gpt_oss mxfp4} qwen2_moe; do
    golden $model gfx942 3
done
for model in ${ETCC_LONG:+gpt_oss mxfp4 deepseek_v2 qwen3_next qwen3_5_moe granitemoehybrid} qwen2_moe; do
    golden $model gfx942 3 --same-sums
done
for variants in ${ETCC_LONG:+3 1}; do # quantised
    golden fp8_channel gfx1100 $variants
done
for format in q4_k+q6_k ${ETCC_LONG:+q4_0 q4_1 q5_0 q5_1 q8_0 q4_k q5_k q6_k iq4_nl iq4_xs mxfp4 nvfp4}; do
    gguf "$format" gfx1100 3 --same-sums
    [ -z "${ETCC_LONG-}" ] || gguf "$format" gfx942 1
done
# Scans, alone and beside attention, and latents; most have one variant.
for model in lfm2 ${ETCC_LONG:+mamba mamba2 falcon_h1 jamba bamba nemotron_h qwen3_5 minimax bailing_hybrid kimi_linear gemma3n deepseek_v3}; do
    golden "$model" gfx942 1
    [ -z "${ETCC_LONG-}" ] || golden "$model" gfx1100 1
done
for model in ${ETCC_LONG:+deepseek_v3 kimi_linear jamba nemotron_h minimax bailing_hybrid}; do
    golden "$model" gfx942 3 --same-sums
done
least=${ETCC_LONG:+3}
[ $same -ge "${least:-1}" ] && [ $others -ge "${least:-1}" ] || die "$same with one order, $others with several: this test sees too little"
