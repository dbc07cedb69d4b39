#!/bin/sh
# exact.sh BIN SRC WORK MODEL [LIMIT]: the text that etimport writes, and what it means.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 m=$4
golden=$bin/../checkpoints/$m
mkdir -p "$work"
cd "$work"
limit=${5:-5e-6}
options=
[ $# -gt 4 ] || options='--rope-frequencies bf16' # The references came from models that were cast to bf16 and widened again.
set --
case $m in
longrope) options= && set -- --context 256 ;; # the long list, by which PyTorch computes frequencies afresh: not rounded
esac
"$bin/etimport" "$golden" -o "$m.etg" "$@"
if [ -n "${BLESS:-}" ]; then cp "$m.etg" "$src/tests/targets/models/$m.etg"; fi
diff -u "$src/tests/targets/models/$m.etg" "$m.etg" || die "$m.etg differs"
# shellcheck disable=SC2086
"$bin/etimport" "$golden" -o "$m.wide.etg" --max-tokens 512 --wide ${options:-} "$@"
rm -f "$m.safetensors"
"$bin/etinterp" "$m.wide.etg" --stage graph --in "$golden/golden.safetensors" --weights "$golden" \
    --out "$m.safetensors"
"$bin/etllm" compare --ref "$golden/golden.safetensors" --out "$m.safetensors" --tolerance "$limit"
