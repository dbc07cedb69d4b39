# Read by the scripts here. Usage of each: SCRIPT BIN SRC WORK [DEVICE]: the folder with the tools, the
# source tree, a scratch folder that the tests of this folder share, and the device to run on.
# shellcheck shell=sh
set -eu
. "$(dirname "$0")/../../support/lib.sh"
# shellcheck disable=SC2034
bin=$1 src=$2 work=$3 device=${4:-auto}
models='stories-llama stories-moe llama llama3 qwen3 mixtral qwen3_moe'
mkdir -p "$work"
cd "$work"
here=$(basename "$0" .sh)

checkpoint() { echo "$bin/../checkpoints/$1"; } # NAME: its folder

score() { # NAME TOKENS OUT [options]: the logits of TOKENS by the kernel of NAME
    name=$1 tokens=$2 out=$3
    shift 3
    rm -f "$out"
    "$bin/etllm" score --kernel "$name.hsaco" --model "$(checkpoint "$name")" --device "$device" \
        --tokens "$tokens" --out "$out" "$@"
}

die() {
    printf '%s: %s\n' "$here" "$*" >&2
    exit 1
}

# refuses WORD COMMAND... : exit status 1 and WORD in what it says; misused: exit status 2.
misused() { wrong=2 refuses "$@"; }
refuses() {
    word=$1 status=0
    shift
    "$@" > refused.log 2>&1 || status=$?
    [ $status -eq "${wrong:-1}" ] || die "status $status from: $* ($(cat refused.log))"
    grep -qF -- "$word" refused.log || die "no \"$word\" in: $(cat refused.log)"
}
