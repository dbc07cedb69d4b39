#!/bin/sh
# costs_nothing.sh ETCC ETCC-UNTRACED FOLDER SCHEDULE PROGRAM...
# The first program for every GPU, the others for one. Without --profile-kernel etcc writes byte for byte what it writes when it is built without the code
# for traces; with it, something else.
set -eu
etcc=$1 untraced=$2 folder=$3 schedule=$4
shift 4
mkdir -p "$folder/with" "$folder/without"
targets='gfx90a gfx942 gfx950 gfx1100 gfx1201'
for program in "$@"; do
    for target in $targets; do
        name=$(basename "$program" | sed 's/\.[a-z]*$//').$target.hsaco
        "$etcc" "$program" --target=$target --schedule="$schedule" --unverified -o "$folder/with/$name"
        "$untraced" "$program" --target=$target --schedule="$schedule" --unverified -o "$folder/without/$name"
        cmp "$folder/with/$name" "$folder/without/$name"
        "$etcc" "$program" --target=$target --schedule="$schedule" --unverified --profile-kernel -o "$folder/profiled.hsaco"
        ! cmp -s "$folder/with/$name" "$folder/profiled.hsaco" || {
            echo "$name: --profile-kernel changes nothing" >&2
            exit 1
        }
    done
    targets=gfx942
done
