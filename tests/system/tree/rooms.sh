#!/bin/sh
# rooms.sh SOURCE GIT
# A room is a folder with C in it. rooms.txt says which rooms each may include from; rooms.awk reads every
# #include "..." and complains about any other edge, about edges that nothing uses any more, about circles
# of rooms, and about rooms that are too large or say nothing of themselves. names.awk complains about functions
# that a header declares for a room above its own, and about those that one file alone uses.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
git=$2
# Files in the index that are on disk too. The owner of a checkout may be another user.
files() {
    "$git" -c safe.directory='*' ls-files -c "$@" |
        while IFS= read -r file; do [ ! -f "$file" ] || printf '%s\n' "$file"; done
}
failed=0
files ir passes codegen frontend runtime examples bench | awk -v table="$here/rooms.txt" -f "$here/rooms.awk" || failed=1
files ir passes codegen frontend runtime examples bench tests | grep -E '\.(c|h|inc|def)$' |
    awk -v table="$here/rooms.txt" -f "$here/names.awk" || failed=1
exit $failed
