#!/bin/sh
# paged.sh BIN SRC WORK MODEL TOLERANCE: keys and values in pages that are dealt out of order.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 m=$4 tolerance=$5
golden=$bin/../checkpoints/$m
mkdir -p "$work"
cd "$work"
options='--paged 8 --slots 3 --context 40 --max-tokens 120'
"$bin/paged_inputs" "$golden/golden.safetensors" 8 "$m.paged.in.safetensors" "$m.paged.want.safetensors"
rounded='--rope-frequencies bf16' # as exact.sh
[ "$m" != longrope ] || rounded=
# shellcheck disable=SC2086
"$bin/etimport" "$golden" -o "$m.paged.wide.etg" $options --wide $rounded
"$bin/etinterp" "$m.paged.wide.etg" --stage graph --set N=120 --in "$m.paged.in.safetensors" \
    --weights "$golden" --out "$m.paged.safetensors"
"$bin/etsame" "$m.paged.want.safetensors" "$m.paged.safetensors" 5e-6
# shellcheck disable=SC2086
"$bin/etimport" "$golden" -o "$m.paged.etg" $options
k=$(kernel "$bin/etcc" "$work/$m.paged.etg" gfx942 static)
"$bin/etrun" "$k" --device emu:gfx942:cus=8 --dim N=120 --in "$m.paged.in.safetensors" \
    --weights "$golden" --out "$m.paged.safetensors"
"$bin/etsame" "$m.paged.want.safetensors" "$m.paged.safetensors" "$tolerance"
