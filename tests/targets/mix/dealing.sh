#!/bin/sh
# On which dies models in slices run that share a kernel, placed as $4 says, in $5 slices.
. "$(dirname "$0")/lib.sh"
rm -rf captures
mkdir captures
"$bin/check_dealing" captures "$4" "$5" "$src/tests/passes/slices/layers.etg" "$src/tests/passes/slices/decoder.etg"
