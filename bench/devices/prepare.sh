#!/bin/sh
# prepare.sh BIN OUT N [MACHINE [ROWS]]
# Everything that run.sh needs on a machine with N cards, into the new folder OUT: kernels of the rows of ROWS (rows.txt beside this
# script) for MACHINE (H100), divided among N devices and for one, golden checkpoints and their kernels, static and dynamic, two
# small programs with the interpreter's check, and the tools. GOLDENS: which checkpoints. Under 40 MB. Needs ptxas for an sm_ machine.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$1" && pwd) src=$(cd "$here/../.." && pwd) n=$3 machine=${4:-H100} rows=$(realpath "${5:-$here/rows.txt}")
. "$here/../bundle.sh"
. "$here/pairs.sh"
# What no machine may lack: everything else is measured beside these.
sh "$here/../hopper/prepare.sh" "$bin" "$2" "$machine" /dev/null > /dev/null
target=$(bundle_target "$machine")
case $target in sm_*) PATH=$PATH:/usr/local/cuda/bin ;; esac
out=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$out"
rm -rf kernels inputs models run.sh rows torch_rows.py
mkdir -p kernels goldens small
bundle_tools etllm check_kernel
cp "$here/run.sh" "$here/torch_tp.py" .
echo "devices $n" >> about

compile() { # FILE.etg OBJECT OPTION...
    from=$1 to=$2
    shift 2
    "$bin/etcc" "$from" --machine="$machine" "$@" -o "$to" 2> "$work/said" || { echo "$to: $(tail -n 1 "$work/said")" >&2; return 1; }
}

# ---- goldens: NAME.SCHEDULE
for golden in ${GOLDENS-llama qwen3 gpt2 gemma2 mixtral gpt_oss awq gptq fp8_block}; do
    checkpoint=$bin/../checkpoints/$golden precise=
    mkdir "goldens/$golden"
    cp "$checkpoint"/*.json "$checkpoint"/*.safetensors "goldens/$golden/"
    case $golden in mixtral | qwen3_moe) precise='--rope-frequencies bf16 --cache f16' ;; esac
    # shellcheck disable=SC2086
    "$bin/etimport" "$checkpoint" $precise -o "$work/$golden.etg"
    for schedule in static dynamic; do
        compile "$work/$golden.etg" "kernels/$golden.$schedule" --devices="$n" --schedule=$schedule || true
    done
done
for program in mlp gqa; do
    cp "$src/tests/passes/devices/$program.etg" small/
    compile "small/$program.etg" "small/$program" --devices="$n"
done
compile small/mlp.etg small/broken --devices="$n" --break-event=h_2

# ---- rows: number|name|goal|model|tokens|context|vocabulary|columns
number=0
: > rows
sed 's/#.*//; s/ *| */|/g; s/ *$//; /^ *$/d' "$rows" > "$work/rows"
while IFS='|' read -r name goal model tokens context one; do
    number=$((number + 1)) columns=
    source_of "$model" "$tokens" "$context"
    compile "$work/model.etg" "kernels/$number.$n" --devices="$n" && columns=$n
    [ "$one" != one ] || { compile "$work/model.etg" "kernels/$number.1" && columns="$columns 1"; }
    vocabulary=$(sed -n 's/.*"vocab_size": *\([0-9]*\).*/\1/p' "$src/bench/models/$model/config.json")
    echo "$number|$name|$goal|$model|$tokens|$context|$vocabulary|$columns" >> rows
done < "$work/rows"
# ---- sums: what an all-reduce of 2,048 columns adds to two small products, of which one device has as much as each of several
sums() { # ROWS HIDDEN
    printf 'model sums\ndim N in %d..%d\nconst L=64, H=2048, F=%d\ninput x : f32[N, H]\nh = x\nfor l in 0..L {\n' "$1" "$1" "$2"
    printf '  weight v : bf16[F, H] = "layers.{l}.v"\n  weight w : bf16[H, F] = "layers.{l}.w"\n  h = h + (h @ v.T) @ w.T\n}\n'
    printf 'output z : f32[N, H] = h\n'
}
for rows in 1 8 32; do
    sums $rows $((128 * n)) > "$work/sums.etg"
    for how in tags flags; do
        compile "$work/sums.etg" "kernels/sums.$rows.$how" --devices="$n" --exchange=$how || true
    done
    sums $rows 128 > "$work/sums.etg"
    compile "$work/sums.etg" "kernels/sums.$rows.one" || true
done
# ---- pairs: a product, its sum over the devices dealt by rows, a norm and a product behind it, beside one device with a device's part
pair_widths | while read -r name hidden width; do
    for rows in 512 2048 8192; do
        pair "$hidden" "$width" $((2 * width)) $rows > "$work/pair.etg"
        compile "$work/pair.etg" "kernels/pair.$name.$rows.one" --variants=1 || true
        pair "$hidden" $((width * n)) $((2 * width * n)) $rows > "$work/pair.etg"
        compile "$work/pair.etg" "kernels/pair.$name.$rows.all" --variants=1 --devices="$n" || true
    done
done
bundle_done 40 "$n devices of $machine ($target)"
