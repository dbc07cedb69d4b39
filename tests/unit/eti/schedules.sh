#!/bin/sh
# schedules.sh ETCC FOLDER FILE.etg...: what is scheduled with an option is read with the same option, and makes the same code (LLVM IR before
# LLVM's passes), also where a schedule that is decided task by task comes out as another; with another option it is refused.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
etcc=$1 folder=$2
shift 2
fresh "$folder"
same=0
for f; do
    for schedule in static dynamic hybrid kernels claimed; do
        "$etcc" "$f" --schedule=$schedule --to scheduled -o x.eti 2> said
        ! grep -q 'came out' said || same=$((same + 1))
        "$etcc" "$f" --schedule=$schedule --emit-llvm=want.ll --unoptimised 2> said
        "$etcc" x.eti --schedule=$schedule --emit-llvm=got.ll --unoptimised 2> said || die "$f: $schedule: $(cat said)"
        cmp want.ll got.ll || die "$f: $schedule: other code"
        "$etcc" x.eti --schedule=$schedule --to scheduled -o again.eti 2> said
        cmp x.eti again.eti || die "$f: $schedule: other text"
    done
    "$etcc" "$f" --schedule=dynamic --to scheduled -o x.eti
    refuses 1 'scheduled already, and dynamic' "$etcc" x.eti --schedule=static -o not.hsaco
done
[ $same -gt 0 ] || die 'no hybrid schedule came out as another'
