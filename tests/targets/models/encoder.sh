#!/bin/sh
# encoder.sh BIN SRC WORK MODEL EXACT LIMIT TARGET SCHEDULE SET...: outputs for the inputs that lie beside the checkpoint, by the interpreter
# with everything f32 and by an emulated GPU. SET: dims, N=62.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 m=$4 exact=$5 limit=$6 target=$7 schedule=$8
golden=$bin/../checkpoints/$m
shift 8
dims='' options=''
for one in "$@"; do
    dims="$dims --set $one"
    case $one in N=6[5-9] | N=[7-9]?) options='--max-tokens 128' ;; esac
done
mkdir -p "$work/$m.$target.$schedule"
cd "$work/$m.$target.$schedule"
# shellcheck disable=SC2086
"$bin/etimport" "$golden" -o "$m.etg" $options
if [ -n "${BLESS:-}" ]; then cp "$m.etg" "$src/tests/targets/models/$m.etg"; fi
diff -u "$src/tests/targets/models/$m.etg" "$m.etg" || die "$m.etg differs"
# shellcheck disable=SC2086
"$bin/etimport" "$golden" -o "$m.wide.etg" --wide $options
# shellcheck disable=SC2086
"$bin/etinterp" "$m.wide.etg" --stage graph $dims --in "$golden/inputs.safetensors" --weights "$golden" \
    --out "$m.safetensors"
"$bin/etsame" "$golden/outputs.safetensors" "$m.safetensors" "$exact"
k=$(kernel "$bin/etcc" "$src/tests/targets/models/$m.etg" "$target" "$schedule")
# shellcheck disable=SC2086
"$bin/etrun" "$k" --device "emu:$target:cus=8" $dims --in "$golden/inputs.safetensors" --weights "$golden" \
    --out "$m.safetensors"
"$bin/etsame" "$golden/outputs.safetensors" "$m.safetensors" "$limit"
