# Read by the scripts here. Usage of each: SCRIPT BIN SRC WORK [...]: the folder with the tools, the
# source tree, a scratch folder.
# shellcheck shell=sh
set -eu
. "$(dirname "$0")/../../support/lib.sh"
# shellcheck disable=SC2034
bin=$1 src=$2 work=$3
mkdir -p "$work"
cd "$work"
mlp=$src/examples/mlp/mlp.etg moe=$src/examples/moe/moe.etg
