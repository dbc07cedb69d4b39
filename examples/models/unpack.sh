#!/bin/sh
# unpack.sh ARCHIVE OUT [RANDOM_WEIGHTS]: OUT/NAME, the checkpoint that ARCHIVE (NAME.tar.xz) holds. Where random weights were left
# out of it, the program RANDOM_WEIGHTS (tests/golden) draws them again. Needs tar with xz, or CMake.
set -eu
archive=$(realpath "$1") name=$(basename "$1" .tar.xz)
mkdir -p "$2"
cd "$2"
rm -rf "$name"
if command -v xz > /dev/null; then
    tar --no-same-owner -xJf "$archive"
else
    cmake -E tar xf "$archive"
fi
if [ -f "$name/random.txt" ]; then
    "${3:?"$name has random weights: say where random_weights is"}" "$name"
    rm "$name/random.txt"
fi
