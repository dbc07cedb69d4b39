#!/bin/sh
# goldens.sh BIN OUT TARGET GOLDEN...: a folder OUT with etllm, what it links, kernels of these golden checkpoints (folders with
# golden.safetensors) for TARGET, static and dynamic, and this script, which on a machine with such a GPU,
#     sh OUT/goldens.sh run OUT RESULTS [DEVICE]
# writes RESULTS/goldens.txt: for each, fed in pieces of 1, 7 and 40 tokens, its relative error and at how many positions the likeliest
# token is PyTorch's. DEVICE is cuda, hsa (as TARGET says), or an emulated one, emu:gfx942:cus=8, for which ETRT_EMU_LIB says where
# libetemu.so is. JOBS: how many at once (6).
set -eu

prepare() { # BIN OUT TARGET GOLDEN...
    bin=$(cd "$1" && pwd) target=$3
    . "$(dirname "$0")/../../../bench/bundle.sh"
    mkdir -p "$2/kernels" "$2/models"
    out=$(cd "$2" && pwd)
    shift 3
    (cd "$out" && bundle_tools etllm)
    cp "$0" "$out/goldens.sh"
    echo "$target" > "$out/target"
    for golden; do
        m=$(basename "$golden")
        mkdir -p "$out/models/$m"
        cp "$golden"/*.json "$golden"/*.safetensors "$out/models/$m/"
        # Whose routers are near ties: as tests/support/lib.sh has them.
        case $m in mixtral | qwen3_moe) precise='--rope-frequencies bf16 --cache f16' ;; *) precise= ;; esac
        # shellcheck disable=SC2086
        "$bin/etimport" "$golden" -o "$out/$m.etg" $precise
        for how in static dynamic; do
            "$bin/etcc" "$out/$m.etg" --target="$target" --schedule=$how -o "$out/kernels/$m.$how"
        done
    done
}

one() { # MODEL.SCHEDULE
    m=${1%.*} limit=1e-2
    if grep -q '"num_\(local_\)\?experts"\|"n_routed_experts"' "models/$m/config.json"; then limit=1.5e-2; fi
    ref=models/$m/golden.safetensors
    for piece in 1 7 40; do
        verdict=FAIL
        if bin/etllm score --kernel "kernels/$1" --model "models/$m" --device "$DEVICE" --chunk $piece --tokens "$ref" --out "$WORK/$1" > "$WORK/$1.said" 2>&1; then
            bin/etllm compare --ref "$ref" --out "$WORK/$1" --tolerance $limit --gap 0.1 > "$WORK/$1.said" 2>&1 && verdict=PASS
        fi
        echo "$verdict $m ${1#*.} pieces of $piece: $(tail -n 1 "$WORK/$1.said")"
    done > "$WORK/$1.row"
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
