#!/bin/sh
# frame.sh TEXT FILE: puts the frame of a manifest (runtime/etrt_abi.h) around a text. gzip ends with the
# sum that is needed.
set -eu
sum=$(gzip -c "$1" | tail -c 8 | od -An -tx1 -N4 | awk '{ print $4 $3 $2 $1 }')
{ printf 'ETCC-MANIFEST %08x %s\n' "$(wc -c < "$1")" "$sum"; cat "$1"; } > "$2"
