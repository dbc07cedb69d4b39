#!/bin/sh
# attend_prices.sh BIN SRC FOLDER: attention of one row of queries is priced by its plan: a scheduled program with another one, which etcc obeys, is
# predicted to take another time, by the simulator and task by task, and --explain says how it is done. How many rows a tile has.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2
fresh "$3"

cat > one.etg << 'END'
model one
dim N in 8..8
input slots, positions : i32[N]
input q : f32[N, 8, 64]
state kc, vc : bf16[2, 1, 4096, 64]
output a : f32[N, 8, 64] = attention(q, kc, vc, mod(slots, 2), positions, scale=1/8)
END
# So few CUs that a tile has all heads that share keys.
for gpu in mi300x h100; do sed 's/^cus .*/cus 4/; s/^dies .*/dies 1/' "$src/passes/machines/$gpu.machine" > $gpu.machine; done

explained() { # TEXT: its explanation in said, and the predicted time of the launch on standard output
    "$bin/etcc" "$1" "$machine" --explain=said > errors 2>&1 || die "$1: $(cat errors)"
    sed -n 's/^  [^ ].*: \([0-9.]*\) us predicted; .*/\1/p' said | head -n 1
}

changed() { # EDIT WORD: another time, and WORD is said of the attention
    "$bin/etcc" one.etg "$machine" --variants=1 --to scheduled -o one.eti
    sed "/^ *plan [lc][a-z]* heads/{ $1
}" one.eti > changed.eti
    ! cmp -s changed.eti one.eti || die "$1 changes nothing: $(grep '^ *plan' one.eti)"
    before=$(explained one.eti)
    after=$(explained changed.eti)
    tr -s ' \n' ' ' < said | grep -q "$2" || die "--explain does not say '$2' after $1"
    [ -n "$before" ] && [ -n "$after" ] && [ "$before" != "$after" ] || die "$1 changes no time: $before us, $after us"
    echo "$2: $before us, then $after us"
}

machine=--machine=./mi300x.machine
changed 's/heads [0-9]*/heads 2/; s/ rest positions [0-9]* depth [0-9]*//' 'by lanes'
changed 's/positions [0-9]* depth [0-9]*/positions 1 depth 1/' 'of them 1 positions at a time'
machine=--machine=./h100.machine
changed 's/columns heads [0-9]*/columns heads 2/' 'columns are heads'
changed 's/columns heads [0-9]*/lanes heads 2 lane 8/; s/positions [0-9]*/positions 1/' 'by lanes'

# Several rows: beside each other in small tiles, or in large ones where the way through all positions is long.
rows_of() { # POSITIONS
    sed "s/in 8..8/in 65..256/; s/ 4096, / $1, /; s/\[2, 1/[2, 8/; s/N, 8/N, 16/" one.etg > rows.etg
    "$bin/etcc" rows.etg --machine=H100 --variants=1 --to scheduled -o rows.eti
    sed -n 's/.* rows \[i < \([0-9]*\) .*/\1/p' rows.eti
}
[ "$(rows_of 8192) $(rows_of 16384)" = '16 32' ] || die "rows of a tile: $(rows_of 8192) of 8192 positions, $(rows_of 16384) of 16384"
