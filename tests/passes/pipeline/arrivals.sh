#!/bin/sh
# arrivals.sh ETCC CHECK_KERNEL FILE.etg FOLDER: where many tiles would arrive at one counter a static program has several, a line apart,
# and waits for all of them; a queue, which asks for counters one by one, has one.
set -eu
etcc=$1 check=$2 etg=$3 folder=$4
. "$(dirname "$0")/../../support/lib.sh"
fresh "$folder"
"$etcc" "$etg" --variants=1 --to=scheduled -o static.eti
"$etcc" "$etg" --variants=1 --schedule=dynamic --to=scheduled -o dynamic.eti
tiles=$(sed -n 's/^ *task @y .*\[j0 < \([0-9]*\)\].*/\1/p' static.eti)
parts=$(sed -n 's/^event %y\[\([0-9]*\), 32\] count .*/\1/p' static.eti)
count=$(sed -n 's/^event %y\[.* count \([0-9]*\) .*/\1/p' static.eti)
[ "$parts" -gt 1 ] && [ "$count" -le 32 ] && [ $((parts * count)) -eq "$tiles" ] ||
    die "$tiles tiles arrive at $parts counters, $count at each: $(grep '^event' static.eti)"
grep -q "notify %y\[j0 / $count, 0\]" static.eti || die "$(grep 'notify' static.eti)"
grep -q "wait %y\[0 .. $((parts - 1)), 0\]" static.eti || die "$(grep 'wait' static.eti)"
grep -q "^event %y\[\] count $tiles " dynamic.eti || die "$(grep '^event' dynamic.eti)"
"$etcc" "$etg" -o k.hsaco
"$check" "$etg" k.hsaco --device emu:gfx942:cus=16:xcds=4:coherence=model:seed=1 --device emu:gfx942:cus=100
