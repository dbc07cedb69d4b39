#!/bin/sh
# Imports and compiles the checkpoints that the other tests here run.
. "$(dirname "$0")/lib.sh"
for m in $models; do
    k=$(kernel "$bin/etcc" "$(imported "$bin" "$src" "$m")" gfx942 static)
    ln -sf "$k" "$m.hsaco"
done
