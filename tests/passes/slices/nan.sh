#!/bin/sh
# nan.sh BIN SRC FOLDER: rows with NaN, infinities and equal numbers in every place, as sums of products in slices: reductions, softmax
# and the choice of the next token give what the graph does, wherever workgroups run, as they do without slices.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2
fresh "$3"
rows=320 # each kind of row with what is odd in 32 places
"$bin/nan_rows" $rows 128 in.st a w.st
cat > nan.etg << X
model nan
dim N in 1..$rows
input a : f32[N, 128]
weight up : bf16[128, 128] = "eye"
weight down : bf16[128, 128] = "eye"
weight two : bf16[128, 128] = "eye"
# Whatever is odd comes behind products of finite numbers, in a product's epilogue, and then through products themselves.
finite = where(a > -100 and a < 100, a, 1)
x = f32((finite @ up.T) @ down.T) + a
y = x @ two.T
output zero_most = max(x)
output zero_least = min(x)
output first = argmax(x)
# The likeliest token, as etimport --sample greedy has it.
b = reshape(where(x <= 1.0e38, x, 3.0e38), [N, 4, 32])
high = max(b, axis=-1)
block = argmax(high, axis=-1)
token = block * 32 + reshape(take(argmax(b, axis=-1), reshape(block, [N, 1])), [N])
output likeliest = where(max(high, axis=-1) > 2.0e38 or max(high, axis=-1) < -1.0e38, -1, token)
output near_soft = softmax(x)
output near_through = softmax(y)
output first_through = argmax(y)
X
"$bin/etinterp" nan.etg --stage=graph --set=N=$rows --in=in.st --weights=w.st --out=want.st
for slices in ${ETCC_LONG:+none 2 4} 8 rows:4; do
    "$bin/etcc" nan.etg --slices=$slices -o nan.hsaco --explain=nan.txt
    case $slices in none | rows*) ;; *) grep -q "is in $slices slices" nan.txt || die "$slices: no slices: $(grep -i slice nan.txt)" ;; esac
    for device in ${ETCC_LONG:+cus=8} cus=16:xcds=8:coherence=model:seed=1 cus=12:xcds=4:map=shuffle-1:coherence=model:seed=2; do
        "$bin/etrun" nan.hsaco --set=N=$rows --in=in.st --weights=w.st --out=got.st --device="emu:gfx942:$device"
        "$bin/all_values" same want.st got.st || die "slices $slices, $device"
    done
done
