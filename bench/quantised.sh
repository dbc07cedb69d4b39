#!/bin/sh
# quantised.sh [--gguf] BIN [TARGET...]: instructions and bytes per byte of quantised weights, from the machine code of AMD's GPUs (gfx942 and
# gfx950), for each format of weights, in Llama-3.2-1B's dimensions and the down projection of a launch of one token and of sixteen: as
# bench/results/quantised.md keeps it; --gguf: for GGUF's formats beside bf16. Compiles only; some minutes.
set -eu
gguf=0
[ "$1" != --gguf ] || { gguf=1 && shift; }
src=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- gfx942 gfx950
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
config=$src/bench/models/llama-3.2-1b/config.json

# A folder NAME whose config.json says FIELDS of quantisation.
format() {
    mkdir "$1"
    sed "1s/{/{\"quantization_config\": {$2},/" "$config" > "$1/config.json"
}
groups() { # LAYOUT WEIGHTS [MORE]
    printf '"quant_method": "compressed-tensors", "format": "%s", "config_groups": {"group_0": {"weights": {%s}%s}}' "$1" "$2" "${3:-}"
}
token=', "input_activations": {"type": "float", "num_bits": 8, "strategy": "token", "dynamic": true}'
format fp8_block '"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]'
format fp8_channel "$(groups float-quantized '"type": "float", "num_bits": 8, "strategy": "channel"' "$token")"
format int8_channel "$(groups int-quantized '"type": "int", "num_bits": 8, "strategy": "channel"')"
format int4_128 "$(groups pack-quantized '"type": "int", "num_bits": 4, "strategy": "group", "group_size": 128')"
format int4_32 "$(groups pack-quantized '"type": "int", "num_bits": 4, "strategy": "group", "group_size": 32')"
format gptq '"quant_method": "gptq", "bits": 4, "group_size": 128'
format awq '"quant_method": "awq", "bits": 4, "group_size": 128'

row() { # NAME FOLDER TOKENS [OPTION...]
    name=$1 folder=$2 tokens=$3
    shift 3
    "$bin/etimport" "$folder" --config-only --max-tokens "$tokens" --context 512 --slots 1 -o model.etg "$@"
    "$bin/etcc" model.etg --target="$target" --variants=1 -o model.hsaco --explain > explained
    awk -v name="$name" -v tokens="$tokens" -v f16="$(grep -c '^  wd = f16(' model.etg || true)" '
        function done() {
            gsub(/ +/, " ", line)
            if (line ~ /^ (mlp\.down|down\.[a-z0-9_]*): / && line ~ /machine code/ && !told++) {
                bytes = line; sub(/.*; /, "", bytes); sub(/ bytes and.*/, "", bytes)
                ops = line; sub(/.* operations a weight: /, "", ops); sub(/ a byte.*/, "", ops)
                code = line; sub(/.*machine code: /, "", code)
                each = code; sub(/ a byte.*/, "", each); sub(/.*: /, "", each)
                how = code ~ /fp8 x fp8/ ? "fp8 x fp8" : "bf16"
                if (how == "bf16" && f16) how = "f16"
                if (code ~ /not known/) each = how = "not known"
                printf "| %s | %s | %s | %s | %s | %s |\n", name, tokens, bytes, ops, each, how
            }
        }
        /^QUANTISED/ { on = 1 }
        /^$/ { if (on) done(); on = 0 }
        on && /^  [a-z]/ { done(); line = "" }
        on { line = line $0 }' explained
}

for target; do
    printf '\n## %s\n\n| weights | tokens | bytes a weight | operations a byte, as written | instructions a byte, machine code | multiplied as |\n' "$target"
    echo '| --- | --- | --- | --- | --- | --- |'
    for tokens in 1 16; do
        for f in q4_0 q4_1 q5_0 q5_1 q8_0 q4_k q5_k q6_k iq4_nl iq4_xs mxfp4 nvfp4; do
            [ $gguf = 1 ] || break
            [ -d $f ] || format $f '"quant_method": "gguf", "format": "'$f'"'
            row "$(echo $f | tr a-z A-Z)" $f $tokens
        done
        [ $gguf = 0 ] || continue
        row 'e4m3, blocks of 128 x 128' fp8_block $tokens
        row 'e4m3, blocks, rows e4m3 by 128' fp8_block $tokens --activations fp8
        row 'e4m3, channels' fp8_channel $tokens
        row 'e4m3, channels, rows e4m3 by token' fp8_channel $tokens --activations fp8
        row 'i8, channels' int8_channel $tokens
        row 'u4, groups of 128' int4_128 $tokens
        row 'u4, groups of 32' int4_32 $tokens
        row 'u4, GPTQ, groups of 128' gptq $tokens
        row 'u4, AWQ, groups of 128' awq $tokens
        row 'e4m3, blocks of 128 x 128' fp8_block $tokens --products f16
        row 'e4m3, channels' fp8_channel $tokens --products f16
        row 'i8, channels' int8_channel $tokens --products f16
        row 'u4, groups of 128' int4_128 $tokens --products f16
        row 'u4, GPTQ, groups of 128' gptq $tokens --products f16
        row 'u4, AWQ, groups of 128' awq $tokens --products f16
    done
done
