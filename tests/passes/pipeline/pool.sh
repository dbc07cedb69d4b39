#!/bin/sh
# pool.sh ETCC FOLDER: products of the same rows are cut for the CUs that the others leave; and what sine and cosine cost, and what many
# elements load alike, decides whether a rotary embedding's table is a tensor.
set -eu
etcc=$1 folder=$2
. "$(dirname "$0")/../../support/lib.sh"
fresh "$folder"
tile() { # FILE TASK: rows and columns of its product's tile
    sed -n "/^func @$2 /,/^}/s/.*contract bf16 \[m < \([0-9]*\) .*, n < \([0-9]*\) .*/\1x\2/p" "$1"
}
cat > pool.etg << 'ETG'
model pool
input x : bf16[2048, 2048]
weight q : bf16[2048, 2048] = "q"
weight k : bf16[512, 2048] = "k"
weight v : bf16[512, 2048] = "v"
output a : f32[2048, 2048] = x @ q.T
output b : f32[2048, 512] = x @ k.T
output c : f32[2048, 512] = x @ v.T
ETG
"$etcc" pool.etg --machine=H100 --variants=1 --to=tiled -o pool.eti
case $(tile pool.eti a) in
256x128 | 128x256) ;;
*) die "2048 columns are in tiles of $(tile pool.eti a)" ;;
esac
# One round of 128 tiles leaves four of 132 CUs: 64 tiles for each of the others are a second one, of half as long.
for task in b c; do
    [ "$(tile pool.eti $task)" = 128x128 ] || die "$task of 512 columns beside them is in tiles of $(tile pool.eti $task)"
done

# Two products of the same rows whose tiles waves multiply together: each group of waves has one of them, with all rows.
cat > apart.etg << 'ETG'
model apart
input x : bf16[2048, 2048]
weight g : bf16[8192, 2048] = "g"
weight u : bf16[8192, 2048] = "u"
output y : bf16[2048, 8192] = bf16(silu(x @ g.T) * (x @ u.T))
ETG
"$etcc" apart.etg --machine=H100 --variants=1 --to=tiled -o apart.eti
grep -q 'contract bf16 \[m < 256 live 256, n < 64 live 64\] over k < 2048 by 64 waves 8 \* 1 stage' apart.eti ||
    die "two products: $(grep contract apart.eti)"
"$etcc" apart.eti --machine=H100 --to=tiled -o again.eti
cmp apart.eti again.eti || die "two products are not read as they were printed"

cat > angle.etg << 'ETG'
model angle
const NH=32, D=128
dim N in 512..512
input x : bf16[N, NH*D]
input positions : i32[N]
weight g : bf16[D] = "g"
weight w : bf16[3, NH*D, NH*D] = "w"
y = x
for l in 0..3 {
  h = reshape(y @ w[l].T, [N, NH, D])
  h = rope(rmsnorm(h, g, eps=1e-6), positions, theta=1000000)
  y = bf16(reshape(h, [N, NH*D]))
}
output z : bf16[N, NH*D] = y
ETG
"$etcc" angle.etg --machine=H100 --variants=1 --to=tiled -o angle.eti
grep -q '^func @.*rope_table' angle.eti || die "angles of 512 tokens, the same in all loops, have no table"

# Products of many rows are fused with what follows by the tiles that they will have: by rule the norm of a head's columns would be a
# task behind narrow tiles.
cat > norms.etg << 'ETG'
model norms
dim N in 64..64
input x : bf16[N, 4096]
weight wq : bf16[4096, 4096]
weight wk : bf16[1024, 4096]
weight g : bf16[128]
output q : f32[N, 32, 128] = rmsnorm(reshape(x @ wq.T, [N, 32, 128]), g, eps = 1e-6)
output k : f32[N, 8, 128] = rmsnorm(reshape(x @ wk.T, [N, 8, 128]), g, eps = 1e-6)
ETG
"$etcc" norms.etg --machine=H100 --variants=1 --to=tiled -o norms.eti
[ "$(grep -c '^func' norms.eti)" = 2 ] || die "norms by themselves: $(grep '^func' norms.eti)"

# Of tiles that are one round, those are better that more CUs have, though their columns are no power of two.
cat > round.etg << 'ETG'
model round
dim N in 64..64
input x : bf16[N, 4096]
weight g : bf16[12288, 4096]
weight u : bf16[12288, 4096]
output y : f32[N, 12288] = silu(x @ g.T) * (x @ u.T)
ETG
"$etcc" round.etg --machine=H100 --variants=1 --to=tiled -o round.eti
[ "$(tile round.eti y)" = 64x96 ] || die "one round: $(grep '^func' round.eti)"

# Of a range of many rows the smallest number, one more than the range before has, says little of the others: tiles of 128 x 32 are
# better than such of 64 x 64 for 65 rows alone.
cat > range.etg << 'ETG'
model range
dim N in 65..128
input x : bf16[N, 8192]
weight w : bf16[2048, 8192]
input z : f32[N, 2048]
weight g : bf16[2048]
y = z + x @ w.T
output n : f32[N, 2048] = rmsnorm(y, g, eps = 1e-5)
ETG
"$etcc" range.etg --machine=H100 --variants=1 --without=stream_many --to=tiled -o range.eti
[ "$(tile range.eti y.w)" = 64x64 ] || die "a range of rows: $(grep '^func' range.eti)"

# Rows of k that are aligned to words only go through a pipeline by copies of so much, whichever way the other operand lies; on a GPU that
# copies nothing, or aligned to less, through local memory without one.
words() { # K MACHINE: a product of that k
    cat > words.etg << ETG
model words
input x : bf16[3, $1, 400]
weight w : bf16[224, $1] = "w"
output y : f32[3, 400, 224] = transpose(x, [0, 2, 1]) @ w.T
ETG
    "$etcc" words.etg --machine=$2 --variants=1 --to=scheduled -o words.eti
    grep -o 'rows [a-z]* [0-9]* weights [a-z]*' words.eti | head -n 1
}
for k in 196 98; do
    case $(words $k H200) in
    'rows pipeline '*' weights pipeline') ;;
    *) die "k = $k has no pipeline: $(words $k H200)" ;;
    esac
    "$etcc" words.etg --machine=H200 --variants=1 --unoptimised --emit-llvm=words.ll
    grep -q "cp.async.ca.shared.global.L2::128B \[\$0\], \[\$1\], $((k % 4 ? 4 : 8)), \$2" words.ll || die "k = $k is not copied by its words"
done
for case in 197:H200 196:MI300X; do
    [ "$(words ${case%:*} ${case#*:})" = 'rows staged 1 weights staged' ] || die "$case: $(words ${case%:*} ${case#*:})"
done
words 196 H200 > before
"$etcc" words.eti --machine=H200 --to=scheduled -o again.eti
cmp words.eti again.eti || die 'a text with such a pipeline is read as another'
