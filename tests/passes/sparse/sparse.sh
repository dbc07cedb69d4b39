#!/bin/sh
# sparse.sh BIN TOOL SRC TARGET SCHEDULE SEED WORK: kernels that leave out weights that are zero compute the same bits
# as those that do not, and read so many bytes less.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 tool=$2 src=$3 target=$4 schedule=$5 seed=$6 work=$7
rm -rf "$work"
mkdir -p "$work"
cd "$work"

for model in mlp experts; do
    "$bin/etcc" "$src/$model.etg" --target="$target" --schedule="$schedule" -o $model.dense.hsaco
    "$bin/etcc" "$src/$model.etg" --target="$target" --schedule="$schedule" --sparse -o $model.sparse.hsaco
    "$bin/etrun" $model.dense.hsaco --list > list
    ! grep -q 'pieces' list || die "a map nobody asked for"
    "$bin/etrun" $model.sparse.hsaco --list > list
    grep -q 'less its zero pieces of 16 x 64' list || die "no map in $(cat list)"
done

. "$src/weights.sh"
for model in mlp experts; do
    "$bin/etfill" $model.100 --seed "$seed" - < $model.weights
    "$tool" $model.100 $model.scattered.st 50 "$seed" 16 64 # mostly beside others that have something
    for percent in 0 50 90 100; do
        "$tool" $model.100 $model.$percent.st $percent "$seed" 64 4096
    done
done
"$tool" experts.100 experts.pruned.st 50 "$seed" 4096 4096 # whole ones

# One workgroup waits for no other, whose polls would be counted.
alone='cus=1' least=99 most=101 more=1.03
case $target in gfx1*) alone='cus=2' least=80 most=125 more=1.25 ;; esac # they come in pairs, and poll
# bytes KERNEL MODEL WEIGHTS ROWS DEVICE: runs it; the bytes it read.
bytes() {
    "$bin/etrun" "$2.$1.hsaco" --device "emu:$target$5" --set "N=$4" --in "$2.in" --weights "$2.$3.st" --out "$2.$1.out" --stats > said ||
        die "$(cat said)"
    sed -n 's/^memory: \([0-9]*\) bytes read.*/\1/p' said
}
# compare MODEL WEIGHTS ROWS AT_LEAST AT_MOST: the bits are the same, and the bytes so many percent.
compare() {
    "$bin/etfill" "$1.in" --seed "$((seed + $3))" "x:bf16[$3,$(if [ $1 = mlp ]; then echo 512; else echo 256; fi)]:-1:1" \
        $(if [ $1 = experts ]; then echo "scores:f32[$3,8]:-1:1"; fi)
    bytes dense "$1" "$2" "$3" '' > read
    bytes sparse "$1" "$2" "$3" '' > read
    cmp "$1.dense.out" "$1.sparse.out" || die "$1 with weights $2, $3 rows: other bits"
    dense=$(bytes dense "$1" "$2" "$3" ":$alone")
    sparse=$(bytes sparse "$1" "$2" "$3" ":$alone")
    part=$((100 * sparse / dense))
    echo "$1 $2 $3: $dense to $sparse bytes"
    [ "$part" -ge "$4" ] && [ "$part" -le "$5" ] || die "$1 with weights $2, $3 rows: $dense bytes became $sparse"
}
# Where nothing is zero, a kernel that could leave weights out does what one does that cannot.
same() { # MODEL ROWS, which have been compared
    for kernel in dense sparse; do
        bytes $kernel "$1" 0 "$2" :$alone > read
        sed -n 's/.* (valu \([0-9]*\), .* mfma \([0-9]*\), .*/\1 \2/p' said > count.$kernel
    done
    echo "$1 $2: valu, mfma $(cat count.dense) and $(cat count.sparse)"
    awk -v more=$more 'NR == 1 { v = $1; f = $2 } NR == 2 { exit !(v > 0 && $1 < more * v && $2 == f) }' count.dense count.sparse ||
        die "$1, $2 rows: a kernel that can leave weights out does more where there are none"
}
for rows in 1 ${ETCC_LONG:+3 9 16} 24; do
    compare mlp 0 $rows $least $most
    same mlp $rows
    compare mlp scattered $rows 40 125
    compare mlp 50 $rows 20 95
    compare mlp 90 $rows 3 60
    compare mlp 100 $rows 0 25
done
for rows in ${ETCC_LONG:+1} 5 ${ETCC_LONG:+24}; do
    compare experts 0 $rows $least $most
    same experts $rows
    compare experts 90 $rows 3 75
    compare experts pruned $rows 3 125 # not all meet one that is pruned
    compare experts 100 $rows 0 60
done
compare experts pruned 24 3 90
