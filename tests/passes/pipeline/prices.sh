#!/bin/sh
# prices.sh BIN SRC FOLDER: what tiles were priced by is how their products and attention are done in the end (check_prices), of
# every golden model and of published ones, plain, quantised, sparse, with weights that stream and without.
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
"$bin/check_prices" sm_90 - "$src"/tests/targets/models/*.etg ./*.etg
"$bin/check_prices" gfx942 - "$src"/tests/targets/models/[a-g]*.etg ./*.etg
"$bin/check_prices" gfx1100 - "$src"/tests/targets/models/[h-z]*.etg llama.64.etg llama.awq.etg
"$bin/check_prices" gfx942 s llama.64.etg llama.fp8.etg
for options in s d u c; do "$bin/check_prices" sm_90 $options llama.64.etg llama.fp8.etg llama.awq.etg gpt-oss-20b.etg; done
