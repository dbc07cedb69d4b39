#!/bin/sh
# deep.sh BIN WORK: golden checkpoints whose layers are of several kinds, five times as deep: kinds that come again and again become loops
# inside of a loop, whose variable no template may use for something else.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$(cd "$1" && pwd)
fresh "$2"

for m in lfm2 lfm2_moe kimi_linear bailing_hybrid qwen3_next qwen3_5 qwen3_5_moe granitemoehybrid granite4_dense minimax nemotron_h llama4_text olmo3 exaone4 cohere2 \
    gemma2 gemma3 gpt_oss smollm3 qwen2_moe; do
    mkdir $m
    # Lists with an item for each layer are repeated, the last item with a comma.
    awk '
        /^  "(layer_types|layers_block_type|mlp_layer_types|no_rope_layers|moe_layers)": \[/ { print; on = 1; n = 0; next }
        on && /\]/ {
            for (k = 0; k < 5; k++) for (i = 0; i < n; i++) print item[i] (k == 4 && i == n - 1 ? "" : ",")
            on = 0
        }
        on { sub(/,$/, ""); item[n++] = $0; next }
        /^  "num_hidden_layers":/ { match($0, /[0-9]+/); $0 = "  \"num_hidden_layers\": " 5 * substr($0, RSTART, RLENGTH) "," }
        { print }' "$bin/../checkpoints/$m/config.json" > $m/config.json
    "$bin/etimport" $m --config-only -o $m.etg 2> said || die "$m: $(cat said)"
    case $m in
    lfm2 | kimi_linear | qwen3_next) grep -q '^for block in' $m.etg || die "$m: no loop over blocks" ;;
    esac
done
