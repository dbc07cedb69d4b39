#!/bin/sh
# heads.sh ETCC SRC WORK: heads that share keys and values are in one tile of attention, or in several where there are CUs for
# more tiles in the largest launch; a launch on the emulator is right either way (../../targets/e2e), so only the tiles are looked at here.
set -eu
etcc=$1 src=$2
mkdir -p "$3" && cd "$3"
heads() { # WANT LARGEST CUS: 8 heads, 4 of which share
    sed "s/^cus .*/cus $3/; s/^dies .*/dies 1/" "$src/passes/machines/mi300x.machine" > some.machine
    cat > m.etg << X
model m
dim N in 1..$2
input positions, slots : i32[N]
input q : f32[N, 8, 64]
state kc, vc : bf16[4, 2, 256, 64]
output a : f32[N, 8, 64] = attention(q, kc, vc, slots, positions, scale=1/8)
X
    got=$("$etcc" m.etg --machine=./some.machine --variants=1 --to=tiled -o - | sed -n 's/^ *attend \[h < \([0-9]*\),.*/\1/p')
    [ "$got" = "$1" ] || {
        echo "$got heads in a tile, not $1, of launches up to $2 on $3 CUs" >&2
        exit 1
    }
}
heads 4 64 128  # two tiles a token: a round as it is
heads 2 32 128  # four tiles a token
heads 1 16 128  # eight
heads 1 1 128
heads 4 2 7     # no room for four tiles a token
heads 2 2 8
heads 4 200 128 # never a round
