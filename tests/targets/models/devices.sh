#!/bin/sh
# devices.sh BIN SRC WORK MODEL TOLERANCE [SCHEDULE [OPTION]]: what 4 (with $ETCC_LONG also 2) emulated devices compute together against PyTorch's logits. All of
# the layers' products are divided: more is cut than the head.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 m=$4 tolerance=$5 schedule=${6:-static} option=${7:---gather=auto}
golden=$bin/../checkpoints/$m text=$src/tests/targets/models/$m.etg
[ -f "$text" ] || text=$(imported "$bin" "$src" "$m")
mkdir -p "$work"
cd "$work"
own=$m.$schedule$option # tests of one model run at once
for n in ${ETCC_LONG:+2} 4; do
    "$bin/etcc" "$text" --devices=$n "$option" -d graph > "$own.graph"
    grep -q '= exchange %' "$own.graph" || die "$n devices exchange nothing"
    k=$(kernel "$bin/etcc" "$text" gfx942 "$schedule" --devices=$n "$option")
    out=$own.safetensors
    for chunk in 1 7; do
        rm -f "$out"
        "$bin/etllm" score --kernel "$k" --model "$golden" --device "emu:gfx942:cus=8:agents=$n" --chunk $chunk \
            --tokens "$golden/golden.safetensors" --out "$out"
        "$bin/etllm" compare --ref "$golden/golden.safetensors" --out "$out" --tolerance "$tolerance" --gap 0.1
    done
done
