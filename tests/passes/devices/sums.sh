#!/bin/sh
# sums.sh BIN SRC WORK: with --same-sums, products whose outputs are divided are added up in one order on 1, 2 and 4 devices: as many waves share as
# long chunks, in as many sums. Read off plans for an H100, where they differ without it.
set -eu
bin=$1 src=$2 work=$3
mkdir -p "$work" && cd "$work"
"$bin/etimport" "$src/bench/models/qwen3-0.6b" --config-only --name=m --slots 8 --context 640 --max-tokens 8 -o m.etg
# WEIGHT: K, waves and plan of each product by it.
orders() { # DEVICES OPTION...
    n=$1 && shift
    [ "$n" = 1 ] || set -- "$@" --devices="$n"
    "$bin/etcc" m.etg --target=sm_90 --machine=H100 -d product "$@" > plan 2> said || { cat said >&2 && exit 1; }
    awk '/^ *contract / { match($0, /over k < .* waves [0-9]+ \* [0-9]+/); head = substr($0, RSTART, RLENGTH)
                          sub(/waves [0-9]+/, "waves", head); plan = "" }
         /^ *plan / { match($0, /chunk [0-9]+ lane [0-9]+ sums [0-9]+( in_steps)?/); plan = substr($0, RSTART, RLENGTH) }
         /\+= / { n = split($0, part, "%"); w = part[n]; sub(/\[.*/, "", w); sub(/^embed_2$/, "embed", w); print w ": " head " " plan }' plan |
        grep -e '^wq:' -e '^wk:' -e '^wv:' -e '^wg:' -e '^wu:' -e '^embed:' | sort -u
}
for n in 1 2 4; do orders $n --same-sums > same.$n; done
[ "$(cut -d: -f1 same.1 | sort -u | wc -l)" = 6 ] || { cat same.1 && exit 1; }
cmp same.1 same.2 && cmp same.1 same.4 || { diff same.1 same.2; diff same.1 same.4; exit 1; }
orders 1 > own.1 && orders 2 > own.2
! cmp -s own.1 own.2 || { echo 'without --same-sums they are the same, and this shows nothing' && exit 1; }
