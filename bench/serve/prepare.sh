#!/bin/sh
# prepare.sh BIN OUT [MACHINE [ROWS]]
# Everything that run.sh needs on a machine with a GPU, into the new folder OUT: kernels for the rows of ROWS (rows.txt beside this
# script) made for MACHINE (H200, or another of 'etcc --list-machines'), what their weights are to be filled with, a awk -v n=of
# -f "$here/tokenizer.awk" as many tokens as the model has, etllm and the client, and what they link beyond libc. Under 35 MB. Needs ptxas for an sm_ machine.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$1" && pwd) src=$(cd "$here/../.." && pwd) machine=${3:-H200} rows=$(realpath "${4:-$here/rows.txt}")
. "$here/../bundle.sh"
target=$(bundle_target "$machine")
case $target in sm_*) PATH=$PATH:/usr/local/cuda/bin ;; esac
out=$(bundle_folder "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$out"
mkdir bin lib kernels models

# ---- the tools, without what only debuggers read
bundle_tools etllm etfill etrun etload
cp "$here/run.sh" "$here/../bundle.sh" .

# ---- models
field() { sed -n "s/.*\"$2\": *\([a-z0-9]*\).*/\1/p" "$1"; }

# The weights of a kernel as etfill takes them, by what `etrun --list` says of them. Norms are around 1, but for the last one, which makes the logits
# as far apart as a trained model has them.
weights() { # KERNEL
    "$bin/etrun" "$1" --list | awk '
        function put(name, type, dims) {
            range = ":-0.035:0.035"
            if (dims !~ /,/) range = name ~ /layers/ ? ":0.8:1.2" : ":6:10"
            print name ":" type "[" dims "]" range
        }
        $1 == "weight" {
            line = $0
            type = line; sub(/^[^:]*: */, "", type); sub(/\[.*/, "", type)
            dims = line; sub(/^[^[]*\[/, "", dims); sub(/\].*/, "", dims); gsub(/ /, "", dims)
            name = line; sub(/^[^"]*"/, "", name); sub(/".*/, "", name)
            if (line !~ / in [0-9]+\.\.[0-9]+$/) { put(name, type, dims); next }
            n = line; sub(/.*\.\./, "", n)
            sub(/^[0-9]+,/, "", dims)
            for (i = 0; i < n + 0; i++) { each = name; sub(/\{[a-z]+\}/, i, each); put(each, type, dims) }
        }'
}

# ---- rows: name|kernel|model|more of each request|clients:requests ...|--resident or nothing|devices
sed 's/^#.*//; s/ *| */|/g; /^ *$/d' "$rows" > "$work/rows"
: > rows
while IFS='|' read -r name folder options fields loads; do
    stay='' devices=1 n=
    case " $options " in *' --resident '*) stay=--resident options=$(printf '%s' "$options" | sed 's/ *--resident//') ;; esac
    case " $options " in *' --devices='*)
        devices=$(printf '%s' "$options" | sed 's/.*--devices=\([0-9]*\).*/\1/') n=--devices=$devices
        options=$(printf '%s' "$options" | sed 's/ *--devices=[0-9]*//') ;;
    esac
    [ -d "$src/$folder" ] && folder=$src/$folder || folder=$bin/../checkpoints/$folder
    model=$(basename "$folder") kernel=$(printf '%s' "$folder $options $stay $n" | cksum | cut -d' ' -f1)
    if [ ! -d "models/$model" ]; then
        mkdir "models/$model"
        cp "$folder/config.json" "models/$model/"
        awk -v n="$(field "$folder/config.json" vocab_size)" -f "$here/tokenizer.awk" > "models/$model/tokenizer.json"
        echo '{}' > "models/$model/tokenizer_config.json"
    fi
    if [ ! -e "kernels/$kernel" ]; then
        # shellcheck disable=SC2086
        "$bin/etimport" "$folder" --config-only --name=m $options -o "$work/m.etg"
        "$bin/etcc" "$work/m.etg" --machine="$machine" --variants=8 $stay $n -v -o "kernels/$kernel" 2> "$work/said" || { cat "$work/said" >&2; exit 1; }
    fi
    if [ ! -e "models/$model.weights" ]; then
        # Of all devices together: a kernel of one alone says how much that is.
        if [ -n "$n" ]; then
            "$bin/etcc" "$work/m.etg" --machine="$machine" --variants=1 --unverified -o "$work/whole" 2> "$work/said"
            weights "$work/whole" > "models/$model.weights"
        else
            weights "kernels/$kernel" > "models/$model.weights"
        fi
    fi
    echo "$name|$kernel|$model|$fields|$loads|$stay|$devices" >> rows
done < "$work/rows"
bundle_about "$target" "$machine" > about
bundle_done 35 "$machine ($target)"
