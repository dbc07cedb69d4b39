#!/bin/sh
# run.sh PROGRAMS: twelve random programs, twelve over products of dims, one of tensors of many dimensions, two on a device by name, and
# seven hundred more with ETCC_LONG.
set -eu
"$1" --kind mixed --programs 12 --tries 100 --not-finite 0
"$1" --kind shapes --programs 12 --tries 100 --not-finite 0
"$1" --kind dims --programs 1 --first 9000089 --tries 0 --not-finite 0
"$1" --kind mixed --programs 2 --first 20 --device emu:gfx942:cus=64:xcds=2:threads=1 --target gfx942 --tries 0 --not-finite 0
[ -z "${ETCC_LONG:-}" ] || { "$1" --first 1000 --programs 400 && "$1" --kind shapes --first 2000 --programs 300; }
