#!/bin/sh
# rooms.sh SOURCE GIT
# A room is a folder with C in it. rooms.txt says which rooms each may include from; this reads every
# #include "..." and complains about any other edge, about edges that nothing uses any more, about circles
# of rooms, and about rooms that are too large or say nothing of themselves.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
# Files in the index that are on disk too. The owner of a checkout may be another user.
"$2" -c safe.directory='*' ls-files -c ir passes codegen frontend runtime examples bench |
    while IFS= read -r file; do [ ! -f "$file" ] || printf '%s\n' "$file"; done |
    awk -v table="$here/rooms.txt" -f "$here/rooms.awk"
