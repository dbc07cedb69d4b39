#!/bin/sh
# capture.sh CHECK_TRACE ETRUN PROGRAM FOLDER
set -eu
check_trace=$1 etrun=$2 program=$3 folder=$4
device=emu:gfx942:cus=4:clock=instructions
rm -rf "$folder"
mkdir -p "$folder"
CHECK_TRACE_CAPTURE=$folder/launch "$check_trace" "$program" "$folder" gfx942 dynamic $device N=9
grep -q '"name": "trace"' "$folder/launch/launch.json"
"$etrun" --replay "$folder/launch" --device $device
