#!/bin/sh
# list.sh ETCC SRC WORK: --target takes a list and writes what each target alone would give.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
etcc=$1 src=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
cd "$work"
all='gfx90a gfx942 gfx950 gfx1100 gfx1201'
list=$(echo "$all" | tr ' ' ,)
model=$src/examples/mlp/mlp.etg
"$etcc" "$model" --target="$list" -o ./a.b/m.hsaco 2> err && exit 1
grep -q 'cannot write' err
"$etcc" "$model" --target="$list" -o m.hsaco --emit-llvm=m.ll
for t in $all; do
    cmp "m.$t.hsaco" "$(kernel "$etcc" "$model" "$t" static)"
    grep -q "\"target-cpu\"=\"$t\"" "m.$t.ll"
done
test ! -e m.hsaco
"$etcc" "$model" --target=gfx90a --emit-llvm=only.ll
test -s only.ll
for bad in gfx90a,gfx90a "gfx90a," gfx90a,gfx9000; do
    if "$etcc" "$model" --target="$bad" -o bad.hsaco 2> err; then exit 1; fi
    grep -qE "named twice|gfx90a\\|gfx942" err
done
ls > files
! grep -q bad files
