#!/bin/sh
# h100x2.sh BIN [N [MACHINE [RESULTS]]]: whether N cards of this machine (2), of the kind MACHINE (H100), compute one model together
# rightly, and how fast beside one of them: one table. RESULTS: a new folder for it and what was said. bench/devices/README.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
sh "$here/devices/prepare.sh" "$1" "$dir/bundle" "${2:-2}" "${3:-H100}" >&2
sh "$dir/bundle/run.sh" "$dir/bundle" "${4:-$dir/results}"
