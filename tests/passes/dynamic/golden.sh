#!/bin/sh
# golden.sh BIN SRC WORK MODEL: the reference's logits from static, dynamic and hybrid kernels, in launches
# of 1 token (of each sequence where those are long), 7, and as many as fit; and one sequence after
# another in seeded orders on incoherent caches.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 model=$4
mkdir -p "$3" && cd "$3"
checkpoint=$bin/../checkpoints/$model reference=golden one='--chunk 1 --batch 1'
case $model in
stories-*) reference=reference one='--chunk 1' ;; # many tokens
esac
reference=$checkpoint/$reference.safetensors
etg=$(imported "$bin" "$src" "$model")
for how in static dynamic hybrid; do
    k=$(kernel "$bin/etcc" "$etg" gfx942 $how)
    for options in ${ETCC_LONG:+"$one"} '--chunk 7 --batch 1' ''; do
        rm -f "$model.logits.safetensors"
        # shellcheck disable=SC2086
        "$bin/etllm" score --kernel "$k" --model "$checkpoint" --tokens "$reference" \
            --out "$model.logits.safetensors" $options --device emu:gfx942:cus=16:xcds=4
        "$bin/etllm" compare --ref "$reference" --out "$model.logits.safetensors" --tolerance 1e-2 --gap 0.1
    done
    case $model-$how in
    stories-* | *-static) continue ;;
    esac
    "$bin/interleavings" "$k" "$checkpoint" \
        emu:gfx942:cus=16:xcds=4:coherence=model:seed=1:starve=5 10 right
done
