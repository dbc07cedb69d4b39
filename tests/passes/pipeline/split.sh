#!/bin/sh
# split.sh ETCC CHECK_KERNEL FILE.etg FOLDER SRC: products with fewer tiles than CUs are cut along k and the kernel computes what it
# should; with few CUs or dear events they are not. And tasks that wait for less come first, whatever order the author wrote.
set -eu
etcc=$1 check=$2 etg=$3 folder=$4 src=$5
. "$(dirname "$0")/../../support/lib.sh"
fresh "$folder"
sed 's/^cus .*/cus 64/; s/^dies .*/dies 1/; s/^event_us .*/event_us 0.02/; s/^release_us .*/release_us 0.01/; s/^acquire_us .*/acquire_us 0.01/
    s/^latency_us .*/latency_us 0.02/' "$src/passes/machines/mi300x.machine" > free.machine
"$etcc" "$etg" --machine=./free.machine --variants=1 --to=tiled -o tiled.eti
[ "$(grep -c 'func @.*parts \[s0 < ' tiled.eti)" = 2 ] || die "not two in parts: $(grep '^func' tiled.eti)"
"$etcc" "$etg" --machine=./free.machine --variants=1 -o k.hsaco
"$check" "$etg" k.hsaco --device emu:gfx942:cus=16:xcds=4:coherence=model:seed=1 --device emu:gfx942:cus=100
"$etcc" "$etg" --machine=./free.machine --schedule=dynamic -o dynamic.hsaco
"$check" "$etg" dynamic.hsaco --device emu:gfx942:cus=16:xcds=4:coherence=model:seed=2
none() { # MACHINE
    "$etcc" "$etg" --machine="$1" --variants=1 --to=tiled -o none.eti
    ! grep -q 'parts \[s0 < ' none.eti || die "parts: $(grep '^func' none.eti)"
}
sed 's/^cus .*/cus 1/' free.machine > few.machine
none ./few.machine
sed 's/^event_us .*/event_us 90/' free.machine > dear.machine
none ./dear.machine

cat > order.etg << 'ETG'
model order
dim N in 1..8
input x : bf16[N, 512]
weight g : bf16[256]
weight wq, wk, wv : bf16[256, 512]
@tile(0, 64)
q = x @ wq.T
@tile(0, 0)
qn = rmsnorm(q, g, eps = 1e-5)
@tile(0, 64)
k = x @ wk.T
@tile(0, 0)
kn = rmsnorm(k, g, eps = 1e-5)
@tile(0, 64)
v = x @ wv.T
output s : f32[N, 256] = qn * kn + v
ETG
"$etcc" order.etg --variants=1 --to=tiled -o order.eti
order=$(sed -n 's/^ *task @\([a-z]*\) .*/\1/p' order.eti | tr '\n' ' ')
[ "$order" = "q k v qn kn s " ] || die "tasks in the order $order"

# Tiles of many rows have a ring of chunks: half of the CUs multiply almost as fast as all, so that a product is cut only where far
# fewer have tiles; before a sum over devices there are other fences to pay, too.
many() { # COLUMNS K OPTION...: how many tasks have parts of k
    columns=$1 k=$2
    shift 2
    cat > many.etg << ETG
model many
dim N in 512..512
input x : bf16[N, 64]
weight src : bf16[$k, 64]
weight w : bf16[$columns, $k]
weight g : bf16[$columns]
output y : bf16[N, $columns] = bf16(rmsnorm(bf16(x @ src.T) @ w.T, g, eps = 1e-5))
ETG
    "$etcc" many.etg --machine=H200 --variants=1 --to=tiled "$@" -o many.eti
    grep -c '^func.*s0 < ' many.eti || true
}
[ "$(many 256 16384)" = 1 ] || die "eight tiles are not cut: $(grep '^func' many.eti)"
[ "$(many 4096 12288 --devices=2)" = 0 ] || die "a sum over devices is cut: $(grep '^func' many.eti)"
