#!/bin/sh
# assemble.sh BIN SRC WORK TARGET PTXAS: ptxas makes machine code of what is written for TARGET, without spills or warnings,
# and the runtime finds the manifest in it. Where there is no ptxas, etcc says what to do.
set -eu
. "$(dirname "$0")/../support/lib.sh"
bin=$1 src=$2 work=$3 target=$4 ptxas=$5
rm -rf "$work"
mkdir -p "$work"
cd "$work"

die() {
    echo "assemble.sh: $target: $*" >&2
    exit 1
}

set -- "$src/examples/mlp/mlp.etg" "$src/tests/import/stories-llama.etg"
[ -z "${ETCC_LONG-}" ] || set -- "$@" "$src"/tests/passes/*.etg "$src"/tests/import/*.etg "$src"/examples/*/*.etg
for model; do
    for schedule in static dynamic; do
        k=$(basename "$model" .etg).$schedule
        "$bin/etcc" "$model" --target="$target" --schedule=$schedule -o "$k.cubin" --ptxas="$ptxas"
        "$bin/etrun" "$k.cubin" --list | grep -q "for $target, compiled by etcc" || die "$k.cubin: no manifest"
        "$bin/etcc" "$model" --target="$target" --schedule=$schedule -o "$k.ptx"
        "$ptxas" -arch="$target" -v "$k.ptx" -o again.cubin 2> said.txt
        cmp "$k.cubin" again.cubin
        grep -q ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads' said.txt ||
            die "$k: $(grep spill said.txt)"
        ! grep -i warning said.txt >&2 || die "$k: warnings"
    done
done
