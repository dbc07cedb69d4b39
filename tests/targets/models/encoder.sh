#!/bin/sh
# encoder.sh BIN SRC WORK MODEL SET...: outputs for the inputs that lie beside the checkpoint. SET: dims, N=62.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 m=$4
golden=$bin/../checkpoints/$m
shift 4
dims=
for one in "$@"; do dims="$dims --set $one"; done
mkdir -p "$work"
cd "$work"
"$bin/etimport" "$golden" -o "$m.etg"
if [ -n "${BLESS:-}" ]; then cp "$m.etg" "$src/tests/targets/models/$m.etg"; fi
diff -u "$src/tests/targets/models/$m.etg" "$m.etg" || die "$m.etg differs"
"$bin/etimport" "$golden" -o "$m.wide.etg" --wide
# shellcheck disable=SC2086
"$bin/etinterp" "$m.wide.etg" --stage graph $dims --in "$golden/inputs.safetensors" --weights "$golden" \
    --out "$m.safetensors"
"$bin/etsame" "$golden/outputs.safetensors" "$m.safetensors" 5e-6
k=$(kernel "$bin/etcc" "$src/tests/targets/models/$m.etg" gfx942 static)
# shellcheck disable=SC2086
"$bin/etrun" "$k" --device emu:gfx942:cus=8 $dims --in "$golden/inputs.safetensors" --weights "$golden" \
    --out "$m.safetensors"
"$bin/etsame" "$golden/outputs.safetensors" "$m.safetensors" 1e-2
