#!/bin/sh
# goldens.sh BIN OUT TARGET GOLDEN...: a folder OUT with the tools, what they link, kernels of these golden checkpoints for TARGET (or
# for a machine of `etcc --list-machines`), static and dynamic, and this script, which on a machine with such a GPU,
#     sh OUT/goldens.sh run OUT RESULTS [DEVICE]
# writes RESULTS/goldens.txt: for each decoder, fed in pieces of 1, 7 and 40 tokens, its relative error and at how many positions the
# likeliest token is PyTorch's; for each other one the error of its outputs. A checkpoint is a folder with golden.safetensors, or with
# inputs.safetensors and outputs.safetensors; its limit is in tests/golden/limits.txt. DEVICE is cuda, hsa (as TARGET says), or an
# emulated one, emu:gfx942:cus=8, for which ETRT_EMU_LIB says where libetemu.so is. JOBS: how many at once (6).
set -eu

# What limits.txt does not name: quantised ones and earlier ones.
limit_of() { # FOLDER
    if grep -q '"num_\(local_\)\?experts"\|"n_routed_experts"' "$1/config.json"; then echo 1.5e-2; else echo 1e-2; fi
}

prepare_one() ( # GOLDEN
    m=$(basename "$1")
    row=$(grep "^$m " "$src/tests/golden/limits.txt" || echo "$m $(limit_of "$1")")
    mkdir -p "$out/models/$m"
    cp "$1"/*.json "$1"/*.safetensors "$out/models/$m/"
    echo "$row" > "$out/models/$m/limit"
    golden=$1
    # shellcheck disable=SC2086
    set -- $row
    shift 2
    # Whose routers are near ties: as tests/support/lib.sh has them.
    case $m in mixtral | qwen3_moe) set -- --rope-frequencies bf16 --cache f16 ;; esac
    case ${1:-} in *=*) set -- --max-tokens 128 ;; esac
    "$bin/etimport" "$golden" -o "$out/$m.etg" "$@"
    for how in static dynamic; do
        "$bin/etcc" "$out/$m.etg" "$made_for" --schedule=$how -o "$out/kernels/$m.$how"
    done
)

prepare() { # BIN OUT TARGET GOLDEN...
    bin=$(cd "$1" && pwd) src=$(cd "$(dirname "$0")/../../.." && pwd) made_for=--target=$3
    . "$src/bench/bundle.sh"
    target=$("$bin/etcc" --list-machines | awk -v m="$3" '$1 == m { print $2 }')
    [ -z "$target" ] || made_for=--machine=$3
    mkdir -p "$2/kernels" "$2/models"
    out=$(cd "$2" && pwd)
    (cd "$out" && bundle_tools etllm etrun etsame)
    cp "$0" "$out/goldens.sh"
    echo "${target:-$3}" > "$out/target"
    shift 3
    for golden; do prepare_one "$golden"; done
}

# MODEL.SCHEDULE LIMIT: a decoder.
decoder() {
    ref=models/$m/golden.safetensors
    for piece in 1 7 40; do
        verdict=FAIL
        if bin/etllm score --kernel "kernels/$1" --model "models/$m" --device "$DEVICE" --chunk $piece --tokens "$ref" --out "$WORK/$1" > "$WORK/$1.said" 2>&1; then
            bin/etllm compare --ref "$ref" --out "$WORK/$1" --tolerance "$2" --gap 0.1 > "$WORK/$1.said" 2>&1 && verdict=PASS
        fi
        echo "$verdict $m ${1#*.} pieces of $piece: $(tail -n 1 "$WORK/$1.said")"
    done
}

# MODEL.SCHEDULE LIMIT DIM=N...: all of its inputs in one launch.
whole() {
    kernel=$1 limit=$2 dims= verdict=FAIL
    shift 2
    for one; do dims="$dims --set $one"; done
    # shellcheck disable=SC2086
    if bin/etrun "kernels/$kernel" --device "$DEVICE" $dims --in "models/$m/inputs.safetensors" --weights "models/$m" --out "$WORK/$kernel" > "$WORK/$kernel.said" 2>&1; then
        bin/etsame "models/$m/outputs.safetensors" "$WORK/$kernel" "$limit" > "$WORK/$kernel.said" 2>&1 && verdict=PASS
    fi
    echo "$verdict $m ${kernel#*.}: $(tail -n 4 "$WORK/$kernel.said" | tr '\n' ' ')"
}

one() { # MODEL.SCHEDULE
    m=${1%.*}
    read -r _ limit more < "models/$m/limit"
    # shellcheck disable=SC2086
    if [ -e "models/$m/golden.safetensors" ]; then decoder "$1" "$limit"; else whole "$1" "$limit" $more; fi > "$WORK/$1.row"
}

if [ "$1" = one ]; then
    one "$2"
elif [ "$1" = run ]; then
    mkdir -p "$3"
    results=$(cd "$3" && pwd)
    cd "$2"
    WORK=$(mktemp -d)
    trap 'rm -rf "$WORK"' EXIT
    case $(cat target) in sm_*) DEVICE=cuda ;; *) DEVICE=hsa ;; esac
    DEVICE=${4:-$DEVICE} LD_LIBRARY_PATH=$PWD/lib
    export WORK DEVICE LD_LIBRARY_PATH
    ls kernels | xargs -P "${JOBS:-6}" -n 1 sh goldens.sh one
    cat "$WORK"/*.row > "$results/goldens.txt"
    grep -v '^PASS' "$results/goldens.txt" || true
    echo "$(grep -c '^PASS' "$results/goldens.txt") of $(grep -c . "$results/goldens.txt") within their limits, on $DEVICE"
    ! grep -q -v '^PASS' "$results/goldens.txt"
else
    prepare "$@"
fi
