#!/bin/sh
# run.sh BIN FIRST COUNT [KEEP]: that many random programs (generate.awk) from seed FIRST on, each divided among 2 and 4 devices: what
# the interpreter of several devices computes, in two orders of all their tasks, against the graph interpreter on the whole graph;
# every KERNELS-th (0: none) also as a kernel of gfx942 on emulated devices, whose caches may be stale. Programs that cannot be
# divided are counted. What is wrong is in the folder KEEP. The last line is the count.
set -u
bin=$(cd "$1" && pwd) first=$2 count=$3 keep=${4:-} here=$(cd "$(dirname "$0")" && pwd) kernels=${KERNELS:-0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
[ -z "$keep" ] || mkdir -p "$keep"
right=0 refused=0 wrong=0 ran=0
judge() { # STATUS SEED DEVICES
    case $1 in
    0) right=$((right + 1)) ;;
    3) refused=$((refused + 1)) ;;
    *)
        wrong=$((wrong + 1))
        echo "seed $2 on $3 devices: status $1: $(tail -n 1 said | cut -c1-200)"
        [ -z "$keep" ] || { cp p.etg "$keep/$2.$3.etg"; cp said "$keep/$2.$3.said"; }
        ;;
    esac
}
seed=$first
while [ "$seed" -lt $((first + count)) ]; do
    for n in 2 4; do
        # States stand before everything else.
        awk -v seed="$seed" -v devices=$n -f "$here/generate.awk" |
            awk 'NR == 1 || /^state/ { print; next } { line[rows++] = $0 } END { for (i = 0; i < rows; i++) print line[i] }' > p.etg
        timeout 60 "$bin/check_devices" p.etg $n --seeds 2 --set N=$((1 + seed % 4)) > said 2>&1
        status=$?
        judge $status "$seed" $n
        [ "$kernels" -gt 0 ] && [ $((seed % kernels)) -eq 0 ] && [ $status -eq 0 ] || continue
        ran=$((ran + 1))
        {
            "$bin/etcc" p.etg --devices=$n --target=gfx942 -o k &&
                timeout 120 "$bin/check_kernel" p.etg k --set N=$((1 + seed % 4)) --runs 2 --device "emu:gfx942:cus=6:agents=$n:seed=$seed:coherence=model"
        } > said 2>&1
        status=$?
        [ $status -eq 0 ] || judge 1 "$seed" $n.kernel
    done
    seed=$((seed + 1))
done
echo "$count programs on 2 and 4 devices: $right right, $wrong wrong, $refused not to be divided; $ran kernels"
[ $wrong -eq 0 ]
