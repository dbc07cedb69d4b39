#!/bin/sh
# From a fresh Debian 12 to a story told by a compiled model: installs what is needed, builds, imports
# the demo checkpoint, compiles it for gfx942, generates. With no AMD GPU the emulator runs it.
# $ETCC_BUILD: where to build (build/ in the source tree); $ETCC_JOBS: how many compilers at once.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
build=${ETCC_BUILD:-$src/build}

say() {
    printf '== %s\n' "$*"
}
die() {
    printf 'quickstart: %s\n' "$*" >&2
    exit 1
}

sh "$src/.ci/packages" || exit 1

say "configuring and building in $build"
cmake -S "$src" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DETCC_TESTS=OFF > "$build.log" 2>&1 ||
    { tail -n 30 "$build.log" >&2; die "cmake failed; all it said is in $build.log"; }
ninja -C "$build" ${ETCC_JOBS:+-j "$ETCC_JOBS"} || die 'the build failed'
rm -f "$build.log"

model=$build/checkpoints/stories-llama
say 'etimport: checkpoint to stories.etg'
"$build/bin/etimport" "$model" -o "$build/stories.etg"
say 'etcc: stories.etg to stories.hsaco'
"$build/bin/etcc" "$build/stories.etg" -o "$build/stories.hsaco"
say 'etllm: the story'
"$build/bin/etllm" generate --kernel "$build/stories.hsaco" --model "$model" \
    -p 'Once upon a time, there was a' -n 96
