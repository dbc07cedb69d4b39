#!/bin/sh
# overhead.sh BIN: what scheduling costs per task on the emulator, as overhead.md keeps it.
# BIN: the folder with the tools, build/bin.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "$1" && pwd)
table=$("$bin/etbench" --overhead --device emu:gfx942:cus=16:xcds=2)
echo "# Scheduling on the emulator"
echo
echo "By \`sh bench/overhead.sh build/bin\`, commit $(git -C "$src" -c safe.directory='*' rev-parse --short HEAD 2> /dev/null || echo unknown), $(
    date -u +%F), on $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1) ($(uname -s -m)). The counts do not"
echo "depend on that machine."
echo
echo "$table"
