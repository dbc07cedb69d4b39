#!/bin/sh
# prices.sh BIN SRC FOLDER: what tiles were priced by is how their products and attention are done in the end (check_prices), of
# every golden model and of published ones, plain, quantised, sparse, with weights that stream and without. Without $ETCC_LONG some of
# the golden models for each GPU, and of the published ones those whose plans are decided in the most ways.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2
fresh "$3"

llama=$src/bench/models/llama-3.2-1b
import() { # FOLDER TOKENS OUT [OPTION...]
    folder=$1 tokens=$2 out=$3
    shift 3
    "$bin/etimport" "$folder" --config-only --name=m --context 640 --slots 4 --max-tokens "$tokens" "$@" -o "$out.etg" > said 2>&1 ||
        die "$out is not imported: $(cat said)"
}
quantised() { # NAME FIELDS [OPTION...]
    name=$1
    mkdir "$name"
    sed "1s/{/{\"quantization_config\": {$2},/" "$llama/config.json" > "$name/config.json"
    shift 2
    import "$name" 32 "llama.$name" "$@"
}
for tokens in 1 64; do import "$llama" $tokens llama.$tokens; done
import "$src/bench/models/qwen3-0.6b" 256 qwen3-0.6b
import "$src/bench/models/gpt-oss-20b" 8 gpt-oss-20b
fp8='"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]'
quantised fp8 "$fp8"
quantised fp8_rows "$fp8" --activations fp8
quantised gptq '"quant_method": "gptq", "bits": 4, "group_size": 128'
quantised awq '"quant_method": "awq", "bits": 4, "group_size": 128' --products f16
if [ -z "${ETCC_LONG-}" ]; then
    every() { # N: of every 24 golden models the N-th
        printf '%s\n' "$src"/tests/targets/models/*.etg | awk -v n="$1" 'NR % 24 == n'
    }
    # shellcheck disable=SC2046
    "$bin/check_prices" sm_90 - $(every 1) llama.64.etg llama.awq.etg llama.fp8_rows.etg
    # shellcheck disable=SC2046
    "$bin/check_prices" gfx942 - $(every 9) llama.1.etg llama.fp8.etg
    # shellcheck disable=SC2046
    "$bin/check_prices" gfx1100 - $(every 17) llama.gptq.etg
    "$bin/check_prices" gfx942 s llama.64.etg
    for options in s d u c; do "$bin/check_prices" sm_90 $options llama.64.etg; done
    exit
fi
"$bin/check_prices" sm_90 - "$src"/tests/targets/models/*.etg ./*.etg
"$bin/check_prices" gfx942 - "$src"/tests/targets/models/[a-g]*.etg ./*.etg
"$bin/check_prices" gfx1100 - "$src"/tests/targets/models/[h-z]*.etg llama.64.etg llama.awq.etg
"$bin/check_prices" gfx942 s llama.64.etg llama.fp8.etg
for options in s d u c; do "$bin/check_prices" sm_90 $options llama.64.etg llama.fp8.etg llama.awq.etg gpt-oss-20b.etg; done
