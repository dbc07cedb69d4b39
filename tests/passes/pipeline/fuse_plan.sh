#!/bin/sh
# fuse_plan.sh ETCC FILE.etg...: with the largest symbols, the chosen plan is predicted to beat both
# extremes: a tensor for every value, and none that is not necessary.
set -eu
etcc=$1
shift
for etg; do
    "$etcc" "$etg" -d fuse | sed -n 's/^# \(.*\), largest symbols: predicted \([0-9.]*\) us.*/\1=\2/p' |
        awk -F= -v name="$etg" '
            { us[$1] = $2; print name ": " $1 " " $2 " us" }
            END { exit !(us["chosen"] > 0 && us["chosen"] < us["nothing folded"] &&
                         us["chosen"] < us["everything folded"]) }'
done
