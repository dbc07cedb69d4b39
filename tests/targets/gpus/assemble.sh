#!/bin/sh
# assemble.sh BIN SRC WORK TARGET PTXAS: ptxas makes machine code of what is written for TARGET, without spills or warnings,
# and the runtime finds the manifest in it. Where there is no ptxas, etcc says what to do.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 target=$4 ptxas=$5
rm -rf "$work"
mkdir -p "$work"
cd "$work"

die() {
    echo "assemble.sh: $target: $*" >&2
    exit 1
}

assemble() { # MODEL SCHEDULE OPTION...
    model=$1 schedule=$2 k=$(basename "$1" .etg).$2.cubin
    shift 2
    "$bin/etcc" "$model" --target="$target" --schedule="$schedule" "$@" -o "$k" --ptxas="$ptxas" -v 2> said.txt || { cat said.txt; exit 1; }
    grep -qE "^$k: .* registers, LDS [0-9]+, scratch 0\$" said.txt || die "$k: spills: $(tail -1 said.txt)"
    ! grep warning said.txt >&2 || die "$k: warnings"
    "$bin/etrun" "$k" --list | grep -q "for $target, compiled by etcc" || die "$k: no manifest"
}

assemble "$src/examples/mlp/mlp.etg" dynamic
assemble "$src/tests/unit/import/stories-llama.etg" static
assemble "$src/tests/passes/sparse/mlp.etg" static --sparse=2:4
[ -n "${ETCC_LONG-}" ] || exit 0
for model in "$src"/tests/passes/pipeline/*.etg "$src"/tests/unit/import/*.etg "$src"/examples/*/*.etg; do
    for schedule in static dynamic; do
        assemble "$model" $schedule
    done
done
