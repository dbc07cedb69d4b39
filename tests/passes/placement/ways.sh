#!/bin/sh
# ways.sh ETCC SOURCE FOLDER: of models that share a kernel, --placement=ilp is predicted to be no slower than any other
# way of placing them, by the simulator that judges all.
set -eu
etcc=$1 src=$2 folder=$3
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
fail() {
    echo "ways.sh: $*" >&2
    exit 1
}
predicted() { # PLACEMENT OPTIONS...: us
    how=$1
    shift
    "$etcc" "$@" --placement="$how" --unverified --to=scheduled -o o.eti -v > said 2>&1 || fail "$(cat said)"
    sed -n 's/^placement: .*, \([0-9.]*\) us predicted.*/\1/p' said | tail -n 1 # of the last program compiled
}
compare() { # OPTIONS...
    ilp=$(predicted ilp "$@")
    [ -n "$ilp" ] || fail "nothing predicted: $(cat said)"
    for how in greedy fixed all; do
        other=$(predicted $how "$@")
        awk "BEGIN { exit !($ilp <= $other + 0.01) }" || fail "$how takes $other us, ilp $ilp: $*"
    done
}
mlp=$src/examples/mlp/mlp.etg moe=$src/examples/moe/moe.etg encoder=$src/examples/encoder/encoder.etg
llama=$src/tests/unit/import/stories-llama.etg experts=$src/tests/unit/import/stories-moe.etg
for machine in MI300X MI210; do
    compare "$llama" "$experts" --machine=$machine
    compare "$mlp" "$moe" "$encoder" --machine=$machine
done
compare "$llama" "$experts" --weight=stories_llama=4
