#!/bin/sh
# run.sh CHECK_RANKS FILE.etg FOLDER SCHEDULE [DIM=VALUE]...: in a fresh folder, which is gone afterwards.
set -eu
check=$1 file=$2 folder=$3
shift 3
rm -rf "$folder"
mkdir -p "$folder"
trap 'rm -rf "$folder"' EXIT
"$check" "$file" "$folder" "$@"
