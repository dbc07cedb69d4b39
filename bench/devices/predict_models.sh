#!/bin/sh
# predict_models.sh BIN MACHINE N...: what the simulator says that a launch takes on N devices of that kind, for each N: models of
# bench/models, prompts (parts as bf16) and products around an exchange (pairs.sh; N times the columns of a device's part, beside one device with that
# part and no exchange). A table in ms; "-": etcc says no.
set -eu
bin=$1 machine=$2 work=$(mktemp -d)
shift 2
here=$(cd "$(dirname "$0")" && pwd) src=$(cd "$(dirname "$0")/../.." && pwd)
. "$here/pairs.sh"
trap 'rm -rf "$work"' EXIT
predicted() { # ROWS FILE OPTION...: ms of a launch of so many
    rows=$1
    shift
    "$bin/etcc" "$@" --machine="$machine" --to=scheduled --explain="$work/said" -o "$work/k" 2> "$work/errors" || { echo -; return; }
    sed -n 's/.*N = '"$rows"': \([0-9.]*\) \([mu]*s\) predicted.*/\1 \2/p' "$work/said" |
        awk 'NR == 1 { printf "%.3g\n", $1 / ($2 == "us" ? 1000 : $2 == "s" ? 0.001 : 1) }'
}
row() { # NAME TOKENS OPTION...
    line="| $1 |" tokens=$2
    shift 2
    for n in $counts; do
        case $n in 1) line="$line $(predicted "$tokens" "$work/model.etg" "$@") |" ;; *) line="$line $(predicted "$tokens" "$work/model.etg" --devices="$n" "$@") |" ;; esac
    done
    echo "$line"
}
counts=$*
echo "| $machine, ms | $(echo "$counts" | sed 's/ / | /g') |"
echo "| --- |$(for n in $counts; do printf ' --- |'; done)"
while read -r model tokens how name; do
    source_of "$model" "$tokens" "$how" 2> "$work/errors"
    case $how in
    prompt) row "$name" "$tokens" --parts=bf16 ;;
    *) row "$name" "$tokens" ;;
    esac
done << END
llama-3.2-1b 1 512 Llama-3.2-1B, 1 token
qwen3-8b 1 512 Qwen3-8B, 1 token
qwen3-8b 16 512 Qwen3-8B, 16 tokens
qwen3-8b 512 prompt Qwen3-8B, prompt of 512
qwen3-8b 2048 prompt Qwen3-8B, prompt of 2,048
qwen3-32b 1 512 Qwen3-32B, 1 token
qwen3-32b 16 512 Qwen3-32B, 16 tokens
llama-3.3-70b-fp8 1 512 Llama-3.3-70B, FP8, 1 token
llama-3.3-70b-fp8 16 512 Llama-3.3-70B, FP8, 16 tokens
qwen3-30b-a3b 1 512 Qwen3-30B-A3B, 1 token
qwen3-30b-a3b 8 512 Qwen3-30B-A3B, 8 tokens
gpt-oss-120b 1 512 gpt-oss-120b, 1 token
gpt-oss-120b 8 512 gpt-oss-120b, 8 tokens
END
pair_widths | while read -r name hidden width; do
    for rows in 512 2048 8192; do
        line="| product, reduce-scatter, all-gather, product: $name, $rows rows |"
        for n in $counts; do
            pair "$hidden" $((width * n)) $((2 * width * n)) $rows > "$work/pair.etg"
            case $n in 1) options= ;; *) options="--devices=$n --parts=bf16" ;; esac
            # shellcheck disable=SC2086
            line="$line $(predicted $rows "$work/pair.etg" --variants=1 $options) |"
        done
        echo "$line"
    done
done
