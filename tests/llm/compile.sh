#!/bin/sh
# Imports and compiles the checkpoints that the other tests here run.
. "$(dirname "$0")/lib.sh"
for m in $models; do
    "$bin/etimport" "$(checkpoint "$m")" -o "$m.etg"
    "$bin/etcc" "$m.etg" -o "$m.hsaco"
done
