# Kernels of several devices on as many emulated agents, against the graph interpreter on the whole graph, bit for bit the same in all
# runs and on any number of workgroups. Without $ETCC_LONG fewer models, and each run once on each device. Arguments: folder of tools, this folder, folder of imported models, a folder for files, target.
set -e
bin=$1 here=$2 models=$3 out=$4 target=$5
rm -rf "$out" && mkdir -p "$out"
compiled='' runs=${ETCC_LONG:+3}
runs=${runs:-1}
check() { # 'MODEL.etg OPTION...' DEVICES OPTIONS OF check_kernel...
    asked=$1 model=${1%% *} n=$2 && shift 2
    # shellcheck disable=SC2086
    [ "$compiled" = "$asked $n" ] || "$bin/etcc" $asked --devices=$n --target=$target -o "$out/k.$n"
    compiled="$asked $n"
    "$bin/check_kernel" "$model" "$out/k.$n" "$@" --device "emu:$target:cus=8:agents=$n" \
        --device "emu:$target:cus=6:agents=$n:seed=7" --runs "$runs" --workgroups 0 --workgroups 4
}
for n in 2 4; do
    check "$here/mlp.etg" $n
    check "$here/mlp.etg" $n --set N=1
    check "$here/gqa.etg" $n --set N=5
    [ $n = 2 ] && [ -z "${ETCC_LONG-}" ] || check "$models/llama.etg" $n --set N=3
done
"$bin/etcc" "$here/gqa.etg" --devices=4 --target=$target -o "$out/k.parts"
"$bin/check_parts" "$out/k.parts" "emu:$target:cus=4:agents=4" kc
check "$models/qwen3_moe.etg" 2 --set N=3
[ -z "${ETCC_LONG-}" ] || check "$models/mixtral.etg" 2 --set N=3
for schedule in dynamic hybrid; do
    "$bin/etcc" "$here/gqa.etg" --devices=2 --schedule=$schedule --target=$target -o "$out/k.$schedule"
    "$bin/check_kernel" "$here/gqa.etg" "$out/k.$schedule" --device "emu:$target:cus=8:agents=2" --device "emu:$target:cus=6:agents=2:seed=3" \
        --runs 3 --workgroups 0 --workgroups 2
done
# Sums with flags in place of tags, of all rows or in two steps.
for how in flags rows; do
    for n in 2 4; do
        for schedule in static dynamic; do
            check "$here/gqa.etg --exchange=$how --schedule=$schedule" $n --set N=5
        done
    done
    check "$here/mlp.etg --exchange=$how" 4
    check "$here/gqa.etg --exchange=$how --parts=bf16" 2 --set N=5
    check "$models/llama.etg --exchange=$how" 2 --set N=7
done
# What each device has a part of, had by all; caches may be stale, and links delay and reorder.
for n in 2 4; do
    for how in tags flags; do
        for schedule in static dynamic; do
            "$bin/etcc" "$here/all.etg" --devices=$n --gather=always --exchange=$how --schedule=$schedule --target=$target -o "$out/k.all"
            for rows in 1 9; do
                "$bin/check_kernel" "$here/all.etg" "$out/k.all" --set N=$rows --runs "$runs" \
                    --device "emu:$target:cus=6:agents=$n:seed=3:links=5:coherence=model"
            done
        done
    done
done
# A variant for one row could cut what cannot be cut with more: all are cut alike.
printf 'model f\ndim N in 1..9\ninput x : f32[N, 64]\nweight w : bf16[128, 64]\ny = gelu(x @ w.T)\noutput z : f32[N, 128] = y\n' > "$out/flat.etg"
printf 'output flat : f32[N*128] = reshape(y, [N*128])\n' >> "$out/flat.etg"
check "$out/flat.etg --gather=always" 2 --set N=1
"$bin/etcc" "$here/mlp.etg" --devices=2 --flag-in-data=all --target=$target -o "$out/k.all"
"$bin/check_kernel" "$here/mlp.etg" "$out/k.all" --device "emu:$target:cus=8:agents=2" --runs 3
# What does not fit together is refused; a wait that ends in vain names the device.
says() {
    words=$1 && shift
    if "$@" > "$out/text" 2>&1; then echo "passed: $*" && exit 1; fi
    grep -q -e "$words" "$out/text" || { echo "no '$words' from $*" && cat "$out/text" && exit 1; }
}
says 'compiled for 2 devices' "$bin/check_kernel" "$here/mlp.etg" "$out/k.all" --device emu:$target:cus=8
says 'compiled for 2 devices' "$bin/check_kernel" "$here/mlp.etg" "$out/k.all" --device emu:$target:cus=8:agents=4
says 'agents are 2 to 16' "$bin/etrun" "$out/k.all" --device emu:$target:agents=1
says 'several devices cannot be captured' "$bin/etrun" "$out/k.all" --device emu:$target:cus=8:agents=2 --set N=2 --capture "$out/captured"
says 'names 0 twice' "$bin/etrun" "$out/k.all" --device cuda:0,0
"$bin/etcc" "$here/mlp.etg" --devices=2 --break-event=h_2 --target=$target -o "$out/k.broken"
says 'device [01] of 2: launch 0: workgroup' "$bin/check_kernel" "$here/mlp.etg" "$out/k.broken" --wait-limit 0.5 --device emu:$target:cus=4:agents=2
# A device that stops half way: the others wait in vain, are asked why long before their waits are over, and end; the error says for what, from
# which device, and which one is gone.
for how in tags flags rows; do
    "$bin/etcc" "$here/mlp.etg" --devices=4 --exchange=$how --target=$target -o "$out/k.4"
    says 'device 2 of 4 does not answer any more' \
        "$bin/check_kernel" "$here/mlp.etg" "$out/k.4" --wait-limit 8 --device emu:$target:cus=4:agents=4:stall=2
    ! grep -q 'waited longer' "$out/text" ||
        grep -q 'any more: device [013] of 4: launch 0: workgroup [0-9]* waited longer than 1 s in task .* for .*, from device [0-3]$' "$out/text" ||
        { cat "$out/text" && exit 1; }
done
echo ok
