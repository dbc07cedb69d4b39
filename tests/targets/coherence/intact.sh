#!/bin/sh
# intact.sh BIN SRC WORK [LAUNCHES]: an intact kernel gives the reference's logits, the same bits
# each time, in 20 seeded interleavings (1,000 with $ETCC_LONG set) on incoherent caches, some with a
# workgroup that starves or a die that is slow.
set -eu
bin=$1 model=$1/../checkpoints/llama launches=${4:-${ETCC_LONG:+1000}}
launches=${launches:-20}
. "$(dirname "$0")/../../support/lib.sh"
mkdir -p "$3" && cd "$3"
k=$(kernel "$bin/etcc" "$2/tests/unit/import/llama.etg" gfx942 static)
run() { # LAUNCHES OPTIONS
    printf 'seeded %s: ' "$2"
    "$bin/interleavings" "$k" "$model" "emu:gfx942:cus=16:xcds=4:coherence=$2" "$1" right
}
run $((launches * 7 / 10)) model:seed=1
run $((launches / 10)) model:seed=2:starve=5
run $((launches / 10)) model:seed=3:slow=2
run $((launches / 20)) caches:seed=4:l1=4:l2=16
run $((launches / 20)) model:seed=5:l1=1:l2=2
