#!/bin/sh
# norm.sh ETCC MODEL.etg WORK: for one token and for many the router of a mixture computes the norm of its rows itself, in f32. Experts
# gather it from a tensor, which has the type of their products then, and which the router does not wait for. For eight it reads it, where
# it is a matrix product of few tiles; where it is wide and has sums for each row in tiles of their own, it computes the norm, too.
set -eu
etcc=$1 model=$2 work=$3
fail() { echo "norm.sh: $*, $tokens tokens" >&2; exit 1; }
task() { sed -n "/^ *task @$1 = /,/^ *notify/p" "$work/text"; }
mkdir -p "$work"
for tokens in 1 8 512; do
    sed "s/^dim N in [0-9]*\.\.[0-9]*/dim N in $tokens..$tokens/" "$model" > "$work/model.etg"
    "$etcc" "$work/model.etg" --variants=1 --to scheduled -o "$work/text"
    task mlp.gate | grep -q task || fail 'no router'
    own=yes
    if task mlp.gate | grep -q 'wait %h2'; then own=no; fi
    [ $own = "$([ $tokens = 8 ] && echo no || echo yes)" ] || fail "has the router its own norm? $own"
    [ $own = no ] || grep -q '^temp %h2 : bf16\[' "$work/text" || fail 'the norm is not kept as experts read it'
done
tokens='8 wide'
cat > "$work/wide.etg" << 'ETG'
model wide
dim N in 8..8
const H = 2048, F = 256, E = 64, K = 4
input x : f32[N, H]
weight g : bf16[H]
weight router : bf16[E, H]
weight up : bf16[E, F, H]
h2 = rmsnorm(x, g, eps=1e-6)
w, expert = topk(softmax(h2 @ f32(router).T), K)
rows, place, owner, first = group(expert, E)
output p : f32[N, K] = w
output y = grouped(gather(bf16(h2), idiv(rows, K)), up, owner)
ETG
"$etcc" "$work/wide.etg" --machine=H100 --variants=1 --to scheduled -o "$work/text"
grep -q '^ *\$r[0-9]*\[.*\] = .*rsqrt.* \* %router\[' "$work/text" || fail 'the router has no sums of rows with their norm'
sed 's/dim N in 8..8/dim N in 16..16/' "$work/wide.etg" > "$work/more.etg"
"$etcc" "$work/more.etg" --machine=H100 --variants=1 --to scheduled -o "$work/text"
grep -q '^ *contract f32 ' "$work/text" || fail 'sixteen rows are no matrix product'
# Of a value that each layer overwrites the sum that the norm is of has a tensor, so that the router can.
tokens='8 carried'
cat > "$work/carried.etg" << 'ETG'
model carried
dim N in 8..8
const L = 4, H = 2048, F = 768, E = 128, K = 8, D = 4096
input x0 : f32[N, H]
x = x0
for l in 0..L {
  weight g : bf16[H] = "l{l}.g"
  weight wq : bf16[D, H] = "l{l}.q"
  weight wo : bf16[H, D] = "l{l}.o"
  weight g2 : bf16[H] = "l{l}.g2"
  weight router : bf16[E, H] = "l{l}.r"
  weight up : bf16[E, F, H] = "l{l}.up"
  weight down : bf16[E, H, F] = "l{l}.down"
  a = rmsnorm(x, g, eps=1e-6) @ wq.T
  x = x + a @ wo.T
  h2 = rmsnorm(x, g2, eps=1e-6)
  w, expert = topk(softmax(h2 @ f32(router).T), K)
  rows, place, owner, first = group(expert, E)
  y = grouped(silu(grouped(gather(h2, idiv(rows, K)), up, owner)), down, owner)
  y = gather(reshape(y, [size(rows, axis=0) * size(rows, axis=1), H]), place)
  x = x + sum(reshape(w, [N, K, 1]) * y, axis=1)
}
output out = x
ETG
"$etcc" "$work/carried.etg" --machine=H200 --variants=1 --to scheduled -o "$work/text"
grep -q '^ *\$r[0-9]*\[.*\] = .*rsqrt.* \* %router\[' "$work/text" || fail 'the router does not compute the norm'
grep -q '^temp %h2 : bf16\[' "$work/text" || fail 'the norm is not kept as experts read it'
