#!/bin/sh
# heads.sh BIN WORK TARGET MACHINE: what follows a product of many rows by heads, a norm of each and rotary embeddings. All lanes
# take part in the sums of a norm, whether their rows are there or not, so that every shuffle is one of the whole wave; and both
# elements of a pair come from LDS four at a time.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 work=$2 target=$3 machine=$4
fresh "$work"
cat > heads.etg << X
model heads
dim N in 300..512
input x : bf16[N, 512]
input positions : i32[N]
weight w : bf16[1024, 512]
weight g : bf16[128]
output y : f32[N, 8, 128] = rope(rmsnorm(reshape(x @ w.T, [N, 8, 128]), g, eps=1e-6), positions, theta=10000)
X
"$bin/etcc" heads.etg --machine="$machine" --target="$target" --variants=1 -o heads.ptx
all=$(grep -c 'shfl\.sync' heads.ptx) some=$(grep 'shfl\.sync' heads.ptx | grep -cv -- '-1;' || true)
[ "$all" -ge 4 ] && [ "$some" -eq 0 ] || die "$target: $some of $all shuffles are not the whole wave's"
wide=$(grep -cE 'ld\.shared\.v4' heads.ptx) single=$(grep -cE 'ld\.shared\.b32' heads.ptx || true)
[ "$wide" -ge 16 ] && [ "$single" -le "$wide" ] || die "$target: $wide loads of four from LDS and $single of one"
echo "$target: $all shuffles; $wide loads of four from LDS, $single of one"
