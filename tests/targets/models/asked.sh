#!/bin/sh
# asked.sh BIN SRC WORK MODEL TOLERANCE: logits of the tokens that a launch asks for are PyTorch's, as the text means it and as
# kernels compute it, which are asked for fewer rows than a launch has tokens and for none at all.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 m=$4 tolerance=$5
golden=$bin/../checkpoints/$m
mkdir -p "$work"
cd "$work"
"$bin/etimport" "$golden" -o "$m.asked.wide.etg" --logits asked --max-tokens 512 --wide --rope-frequencies bf16
rm -f "$m.asked.safetensors"
"$bin/etinterp" "$m.asked.wide.etg" --stage graph --in "$golden/golden.safetensors" --weights "$golden" --out "$m.asked.safetensors"
"$bin/etllm" compare --ref "$golden/golden.safetensors" --out "$m.asked.safetensors" --tolerance 5e-6
"$bin/etimport" "$golden" -o "$m.asked.etg" --logits asked --max-tokens 120
grep -q '^dim ROWS in 1\.\.64 ' "$m.asked.etg" || die 'not as many rows as expected'
for schedule in static dynamic; do
    k=$(kernel "$bin/etcc" "$work/$m.asked.etg" gfx942 $schedule)
    chunks='1 40'
    [ -n "${ETCC_LONG-}" ] || [ $schedule = static ] || chunks=40
    for chunk in $chunks; do
        rm -f "$m.asked.safetensors"
        "$bin/etllm" score --kernel "$k" --model "$golden" --device emu:gfx942:cus=8 --chunk $chunk \
            --tokens "$golden/golden.safetensors" --out "$m.asked.safetensors"
        "$bin/etllm" compare --ref "$golden/golden.safetensors" --out "$m.asked.safetensors" --tolerance "$tolerance" --gap 0.1
    done
done
# Several steps, in pages too.
for options in '' '--paged 8'; do
    # shellcheck disable=SC2086
    "$bin/etimport" "$golden" -o "$m.steps.etg" --logits asked --sample greedy --steps 3 $options
    "$bin/etcc" "$m.steps.etg" --to evented -o "$m.steps.eti"
done
