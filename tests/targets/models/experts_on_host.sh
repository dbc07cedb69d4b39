#!/bin/sh
# experts_on_host.sh BIN SRC WORK MODEL [TARGET SCHEDULE]: experts in host memory, none, half and all of them in the
# cache, and little more than none, give the bits that experts on the device give, launch after launch.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 m=$4 target=${5:-gfx942} schedule=${6:-static}
golden=$bin/../checkpoints/$m
fresh "$work/experts_on_host.$m.$target.$schedule"
case $m in
mixtral | qwen3_moe) file=$(imported "$bin" "$src" "$m") ;;
*) file=$src/tests/targets/models/$m.etg ;;
esac
plain=$(kernel "$bin/etcc" "$file" "$target" "$schedule")
host=$(kernel "$bin/etcc" "$file" "$target" "$schedule" --experts-on=host)

# numbers LINE: of what etrun --list says, the bytes of weights.
numbers() { sed -n "s/^$1 memory: \([0-9]*\) bytes of weights.*/\1/p" list; }
"$bin/etrun" --list "$plain" >list
all=$(numbers device)
[ -z "$(numbers host)" ] || die "experts are in host memory unasked"
"$bin/etrun" --list "$host" >list
bytes=$(numbers host)
[ "$bytes" -gt 0 ] && [ $((bytes + $(numbers device))) -ge "$all" ] && [ "$(numbers device)" -lt "$all" ] ||
    die "$bytes bytes in host memory, $(numbers device) on the device, of $all"

score() { # KERNEL OUT [OPTION...]
    k=$1 out=$2
    shift 2
    "$bin/etllm" score --kernel "$k" --model "$golden" --device "emu:$target:cus=8" --chunk 7 \
        --tokens "$golden/golden.safetensors" --out "$out" "$@"
}
score "$plain" plain.safetensors
for cache in 0 $((bytes / 9)) $((bytes / 2)) all; do
    score "$host" host.safetensors --expert-cache $cache
    cmp plain.safetensors host.safetensors || die "a cache of $cache changes the result"
done
