#!/bin/sh
# products.sh BIN WORK MODEL...: quantised weights that are f16 in products (--products f16) are nearer to what they mean than in bf16, whose
# errors are above 8e-3, on emulated GPUs; and so are results of mixtral's experts that are f16 (--results f16), whose router bf16 misleads
# by 0.04. Without $ETCC_LONG each in one of the two ways that rows are multiplied.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 work=$2/products goldens=$bin/../checkpoints
shift 2
rm -rf "$work"
mkdir -p "$work"
cd "$work"
for m; do
    golden=$goldens/$m
    case $m in
    mixtral) set -- --results f16 --rope-frequencies bf16 --cache f16 ;;
    *) set -- --products f16 ;;
    esac
    "$bin/etimport" "$golden" -o "$m.etg" "$@"
    grep -q '^  wd = f16(\|^  wgu = f16(\|^  y = f16(' "$m.etg" || die "$m: not f16"
    for target in gfx942 gfx1201; do
        "$bin/etcc" "$m.etg" --target=$target -o k
        case ${ETCC_LONG-}$target in
        gfx942) chunks=1 ;;
        gfx1201) chunks=40 ;;
        *) chunks='1 40' ;;
        esac
        for chunk in $chunks; do
            "$bin/etllm" score --kernel k --model "$golden" --device "emu:$target:cus=8" --chunk $chunk --tokens "$golden/golden.safetensors" --out out
            "$bin/etllm" compare --ref "$golden/golden.safetensors" --out out --tolerance 5e-3 --gap 0.1
        done
    done
done
