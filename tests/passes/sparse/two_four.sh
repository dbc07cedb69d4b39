#!/bin/sh
# two_four.sh BIN TOOL SRC TARGET SCHEDULE SEED WORK: kernels of --sparse=2:4 compute what the model means, be all matrices
# 2:4, some or none; where all are they read fewer bytes, where none is as many as kernels without.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 tool=$2 src=$3 target=$4 schedule=$5 seed=$6 work=$7
rm -rf "$work"
mkdir -p "$work"
cd "$work"

for model in mlp experts; do
    "$bin/etcc" "$src/$model.etg" --target="$target" --schedule="$schedule" -o $model.dense.hsaco
    "$bin/etcc" "$src/$model.etg" --target="$target" --schedule="$schedule" --sparse=2:4 -o $model.packed.hsaco 2> said
    ! grep -q 'changes nothing' said || die "$(cat said)"
    "$bin/etrun" $model.packed.hsaco --list > list
    grep -q 'packed where it is 2:4' list || die "nothing packed in $(cat list)"
done

. "$src/weights.sh"
for model in mlp experts; do
    "$bin/etfill" $model.none.st --seed "$seed" - < $model.weights
    "$tool" $model.none.st $model.all.st "$seed" ''
done
"$tool" mlp.none.st mlp.some.st "$seed" layers.1.down
"$tool" mlp.none.st mlp.pairs.st "$seed" layers.0.wu # of two products at once one cannot
"$tool" experts.none.st experts.pairs.st "$seed" wg

# run KERNEL MODEL WEIGHTS ROWS DEVICE: the bytes it read.
run() {
    "$bin/etrun" "$2.$1.hsaco" --device "emu:$target$5" --set "N=$4" --in "$2.in" --weights "$2.$3.st" --out "$2.$1.out" --stats > said ||
        die "$(cat said)"
    sed -n 's/^memory: \([0-9]*\) bytes read.*/\1/p' said
}
# compare MODEL WEIGHTS ROWS AT_LEAST AT_MOST: what comes out is right, the bytes so many percent.
compare() {
    "$bin/etfill" "$1.in" --seed "$((seed + $3))" "x:bf16[$3,$(if [ $1 = mlp ]; then echo 512; else echo 256; fi)]:-1:1" \
        $(if [ $1 = experts ]; then echo "scores:f32[$3,8]:-1:1"; fi)
    "$bin/etinterp" "$src/$1.etg" --stage=graph --set "N=$3" --in "$1.in" --weights "$1.$2.st" --out want
    run packed "$1" "$2" "$3" '' > read
    "$bin/etsame" want "$1.packed.out" 0.004 || die "$1 with weights $2, $3 rows"
    dense=$(run dense "$1" "$2" "$3" :cus=1)
    packed=$(run packed "$1" "$2" "$3" :cus=1)
    "$bin/etsame" want "$1.packed.out" 0.004 || die "$1 with weights $2, $3 rows, one workgroup"
    part=$((100 * packed / dense))
    echo "$1 $2 $3: $dense to $packed bytes"
    [ "$part" -ge "$4" ] && [ "$part" -le "$5" ] || die "$1 with weights $2, $3 rows: $dense bytes became $packed"
}
for rows in 1 ${ETCC_LONG:+3 9 16} 24; do
    compare mlp none $rows 99 101
    compare mlp all $rows 50 90
    compare mlp some $rows 50 92
    compare mlp pairs $rows 60 98
done
# The first weights of experts are asked for by what the tensor that chooses them held before, where they are not packed, and then anew.
for rows in ${ETCC_LONG:+1} 5 ${ETCC_LONG:+24}; do
    compare experts none $rows 95 102
    compare experts all $rows 50 95
    compare experts pairs $rows 90 102
done

# So many products that one body serves them: each by its own weights.
{
    printf 'model many\ndim N in 1..8\nconst H = 256\ninput x : bf16[N, H]\nh = x\n'
    i=0
    while [ $i -lt 70 ]; do
        printf 'weight w%d : bf16[H, H]\nh = bf16(0.5 * h + 0.1 * (h @ w%d.T))\n' $i $i
        echo "w$i:bf16[256,256]:-0.1:0.1" >&3
        i=$((i + 1))
    done
    printf 'weight z : bf16[H, H]\noutput y : f32[N, H] = h @ z.T\n'
    echo 'z:bf16[256,256]:-0.1:0.1' >&3
} > many.etg 3> many.weights
"$bin/etfill" many.none.st --seed "$seed" - < many.weights
"$tool" many.none.st many.some.st "$seed" w33
"$bin/etfill" many.in --seed "$seed" 'x:bf16[5,256]:-1:1'
"$bin/etcc" many.etg --target="$target" --schedule="$schedule" --sparse=2:4 -o many.packed.hsaco
[ "$("$bin/etrun" many.packed.hsaco --list | grep -c 'packed where')" -eq 71 ] || die "weights of a body are left out"
"$bin/etinterp" many.etg --stage=graph --set N=5 --in many.in --weights many.some.st --out want
run packed many some 5 '' > read
"$bin/etsame" want many.packed.out 0.004 || die "many products"
