#!/bin/sh
# overhead.sh BIN: what scheduling costs per task on the emulator, as overhead.md keeps it.
# BIN: the folder with the tools, build/bin.
set -eu
src=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(cd "$1" && pwd)
tables=$(for device in cus=16:xcds=2 cus=304:xcds=8; do
    "$bin/etbench" --overhead --device "emu:gfx942:$device"
    echo
done)
echo "# Scheduling on the emulator"
echo
echo "By \`sh bench/etbench/overhead.sh build/bin\`, commit $(git -C "$src" -c safe.directory='*' rev-parse --short HEAD 2> /dev/null || echo unknown), $(
    date -u +%F), on $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1) ($(uname -s -m)). The counts do not"
echo "depend on that machine."
echo
echo "$tables"
echo
echo "A static task is found by counting; a dynamic one is pushed by the arrival that makes it ready and popped by whoever is"
echo "free, which is what the difference is. Hybrid makes such tasks static."
