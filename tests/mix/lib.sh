# Read by the scripts here. Usage of each: SCRIPT BIN SRC WORK [...]: the folder with the tools, the
# source tree, a scratch folder.
# shellcheck shell=sh
set -eu
# shellcheck disable=SC2034
bin=$1 src=$2 work=$3
mkdir -p "$work"
cd "$work"
here=$(basename "$0" .sh)

die() {
    printf '%s: %s\n' "$here" "$*" >&2
    exit 1
}

# refuses STATUS WORDS COMMAND... : exit status and WORDS in what it says.
refuses() {
    want=$1 words=$2 status=0
    shift 2
    "$@" > refused.log 2>&1 || status=$?
    [ $status -eq "$want" ] || die "status $status from: $* ($(cat refused.log))"
    grep -qF -- "$words" refused.log || die "no \"$words\" in: $(cat refused.log)"
}
