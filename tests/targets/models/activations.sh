#!/bin/sh
# activations.sh BIN SRC WORK MODEL OFF APART [TARGET SCHEDULE]: a golden checkpoint with its activations quantised as its config.json says.
# The references were computed without that: OFF is how far the interpreter may be from them, and it has to be a tenth of that at
# least. Kernels multiply codes whose scales follow (GRAMMAR.md, Products), and so are held to the interpreter with weights that are not
# rounded to bf16, either: APART. With weights that are, the interpreter is 0.065 from itself (fp8_block), on every target alike: products
# that differ by a bf16's rounding turn codes of the next rows into their neighbours. What is left, APART, are
# ties: of the 256 embeddings times the first norm's weights, 25 (fp8_block) and 15 (fp8_channel) have an element that, times 448 over
# the largest, lies half-way between two codes, exactly. The last bit of a norm decides there.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 m=$4 off=$5 apart=$6 target=${7:-gfx942} schedule=${8:-static}
golden=$bin/../checkpoints/$m text=$src/tests/targets/models/$m.fp8.etg
mkdir -p "$work"
cd "$work"
"$bin/etimport" "$golden" -o "$m.etg" --activations fp8
if [ -n "${BLESS:-}" ]; then cp "$m.etg" "$text"; fi
diff -u "$text" "$m.etg" || die "$m.etg differs"
logits=$m.fp8.$target.$schedule
compare() { # REFERENCE OUT LIMIT
    "$bin/etllm" compare --ref "$1" --out "$2" --tolerance "$3" --gap 1
}
rm -f "$logits".*
"$bin/etinterp" "$text" --stage graph --in "$golden/golden.safetensors" --weights "$golden" --out "$logits.exact.safetensors"
compare "$golden/golden.safetensors" "$logits.exact.safetensors" "$off"
! compare "$golden/golden.safetensors" "$logits.exact.safetensors" "$(echo "$off / 10" | bc -l)" >out || die "activations are not quantised"
sed -e 's/= bf16(\(w._codes \* w.\))$/= \1/' -e 's/^def quantised(x) = \(reshape.*\)$/def quantised(x) = f32(\1)/' "$text" >"$m.unrounded.etg"
"$bin/etinterp" "$m.unrounded.etg" --stage graph --in "$golden/golden.safetensors" --weights "$golden" --out "$logits.unrounded.safetensors"
k=$(kernel "$bin/etcc" "$text" "$target" "$schedule")
for chunk in 1 ${ETCC_LONG:+7} 40; do
    "$bin/etllm" score --kernel "$k" --model "$golden" --device "emu:$target:cus=8" --chunk $chunk \
        --tokens "$golden/golden.safetensors" --out "$logits.$chunk.safetensors"
    compare "$logits.unrounded.safetensors" "$logits.$chunk.safetensors" "$apart"
done
