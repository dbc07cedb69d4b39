#!/bin/sh
# run.sh BIN FIRST COUNT [KEEP]: that many random programs (generate.awk) from seed FIRST on, each divided among 2, 3 and 4 devices (DEVICES),
# with sums exchanged in a way drawn by the seed: what the interpreter of several devices computes, in two orders of all their tasks, against
# the graph interpreter on the whole graph; every KERNELS-th (0: none) also as a kernel of a drawn target and schedule on emulated devices, whose
# caches may be stale, at two numbers of rows. What is wrong and right with every type f32 is counted apart: a rounding that flips. Programs that cannot be divided are counted. What is wrong is in the folder KEEP. The last line
# is the count. With WHOLE=1 programs have operators that need all columns, which devices mostly get of each other; with MIXTURES=1 mixtures of experts, with SCANS=1 scans.
set -u
bin=$(cd "$1" && pwd) first=$2 count=$3 keep=${4:-} here=$(cd "$(dirname "$0")" && pwd) kernels=${KERNELS:-0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
[ -z "$keep" ] || mkdir -p "$keep"
right=0 refused=0 wrong=0 flips=0 ran=0
judge() { # STATUS SEED DEVICES COMMAND...: run again with every type f32 where it is wrong
    case $1 in
    0) right=$((right + 1)) ;;
    3) refused=$((refused + 1)) ;;
    *)
        cp p.etg was.etg
        cp said first
        sed -i 's/\<b\{0,1\}f16\>/f32/g' p.etg
        if (shift 3 && "$@") > said 2>&1; then
            flips=$((flips + 1))
            echo "seed $2 on $3 devices, $how: right with every type f32: $(tail -n 1 first | cut -c1-100)"
            return
        fi
        mv was.etg p.etg
        mv first said
        wrong=$((wrong + 1))
        echo "seed $2 on $3 devices, $how: status $1: $(tail -n 1 said | cut -c1-200)"
        [ -z "$keep" ] || { cp p.etg "$keep/$2.$3.etg"; cp said "$keep/$2.$3.said"; }
        ;;
    esac
}
nth() { # N WORD...: the N-th, from 0, of so many again and again
    _n=$1
    shift
    shift $((_n % $#))
    echo "$1"
}
tasks() { # DEVICES
    timeout 60 "$bin/check_devices" p.etg "$1" --seeds 2 --exchange "$how" --gather $gather --set N=$((1 + seed % most))
}
kernel() { # DEVICES
    "$bin/etcc" p.etg --devices="$1" --target=$target --schedule=$schedule --exchange=$how --gather=$gather -o k || return
    for rows in $((1 + seed % most)) $most; do
        timeout 240 "$bin/check_kernel" p.etg k --set N=$rows --runs 2 --device "emu:$target:cus=6:agents=$1:seed=$seed:links=$((seed + 1)):coherence=model" || return
    done
}
seed=$first
while [ "$seed" -lt $((first + count)) ]; do
    for n in ${DEVICES:-2 3 4}; do
        # States stand before everything else.
        awk -v seed="$seed" -v devices="$n" -v whole="${WHOLE-}" -v mixtures="${MIXTURES-}" -v scans="${SCANS-}" -f "$here/generate.awk" |
            awk 'NR == 1 || /^state/ { print; next } { line[rows++] = $0 } END { for (i = 0; i < rows; i++) print line[i] }' > p.etg
        most=$(sed -n 's/^dim N in 1\.\.//p' p.etg)
        how=$(nth $((seed + n)) auto rows flags tags rows) gather=auto
        [ -z "${WHOLE-}" ] || gather=$(nth $seed always always never)
        tasks "$n" > said 2>&1
        status=$?
        ! grep -q 'does not have .* equal parts' said || status=3 # @split: the front end says so
        judge $status "$seed" "$n" tasks "$n"
        [ "$kernels" -gt 0 ] && [ $((seed % kernels)) -eq 0 ] && [ $status -eq 0 ] || continue
        ran=$((ran + 1))
        target=$(nth $((seed / kernels)) gfx942 gfx1100 gfx90a gfx1201)
        schedule=$(nth $((seed / kernels + n)) static static claimed dynamic hybrid)
        kernel "$n" > said 2>&1
        status=$?
        [ $status -eq 0 ] || judge 1 "$seed" "$n.$target.$schedule" kernel "$n"
    done
    seed=$((seed + 1))
done
echo "$count programs on ${DEVICES:-2 3 4} devices: $right right, $wrong wrong, $flips right in f32 alone, $refused not to be divided; $ran kernels"
[ $wrong -eq 0 ]
