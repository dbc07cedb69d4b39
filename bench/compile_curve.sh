#!/bin/sh
# compile_curve.sh BIN [--target NAME] [COUNT...]: seconds and megabytes that etcc takes for programs of COUNT operators (100 200 500 1000 2000),
# of each of the kinds below, as a table. Processor seconds, so that what else the machine does counts little. Programs past
# a limit (frontend/LIMITS.md) are refused.
# compile_curve.sh --program KIND COUNT: such a program.
set -eu

lines() { # N LINE: N times, with its number for %
    awk -v n="$1" -v line="$2" 'BEGIN { for (i = 0; i < n; i++) { s = line; gsub(/%/, i, s); print s } }'
}

program() { # KIND N
    echo "model m"
    case $1 in
    gather) printf 'input x : i32[8]\na = x\n' ;;
    diamond | fanout | fanin | concat | dtypes | tree) printf 'dim N in 1..64\ninput x : f32[N, 64]\na = x\n' ;;
    loops2) printf 'dim N in 1..64\ninput x : f32[N]\na = x\n' ;;
    rows | norm) printf 'dim N in 1..64\ninput x : f32[N, 64]\nweight g : f32[64]\na = x\n' ;;
    group) printf 'dim N in 1..64\ninput x : i32[N]\na = x\n' ;;
    rotate) printf 'dim N in 1..64\ninput x : f32[N, 8, 64]\ninput p : i32[N]\na = x\n' ;;
    reshape) printf 'input x : f32[12, 16]\na = x\n' ;;
    loop) printf 'dim N in 1..64\ninput x : f32[N]\na = x\n' ;;
    attention)
        printf 'dim N in 1..64\ninput x : bf16[N, 4, 32]\ninput slots, positions : i32[N]\n'
        printf 'state kc, vc : bf16[4, 2, 64, 32]\na = x\n'
        ;;
    *) printf 'input x : f32[8, 8]\na = x\n' ;;
    esac
    case $1 in
    relu) lines "$2" 'a = relu(a)' ;;
    product) lines "$2" 'a = a @ x' ;;
    softmax | rows) lines "$2" 'a = softmax(a)' ;;
    norm) lines "$2" 'a = rmsnorm(a, g, eps=1e-5)' ;;
    group) lines "$2" 'r%, a, o, f = group(a, 7)' ;;
    rotate) lines "$2" 'a = rope(a, p, theta=10000)' ;;
    reshape) lines "$2" 'a = reshape(transpose(a, [1, 0]), [12, 16])' ;;
    loop) lines "$2" 'for l% in 0..3 { a = tanh(a) + l% }' ;;
    attention) lines "$2" 'a = bf16(attention(a, kc, vc, slots, positions, scale=0.25))' ;;
    gather) lines "$2" 'a = gather(a, a)' ;;
    topk) lines "$2" 'a, i% = topk(a, 8)' ;;
    output) lines "$2" 'output y% = x + %' ;;
    update) echo 'state s : f32[8, 8]' && lines "$2" 's[0, :] = x[1]' ;;
    # Of the following a line, or a few, have two to four operators.
    loops2) lines "$(($2 / 4))" 'for l% in 0..3 { for k% in 0..2 { a = tanh(a) + l% + k% } }' ;;
    diamond) lines "$(($2 / 4))" "$(printf 'b%% = softmax(a)\nc%% = softmax(a * 2)\na = b%% + c%%')" ;;
    fanout) lines "$(($2 / 2))" 'output y% = softmax(x * %)' ;;
    fanin) lines "$(($2 / 3))" 'a = a + softmax(x + %)' ;;
    concat) lines "$(($2 / 4))" 'a = tanh(concat(a[:, 5:], a[:, :5], axis=1))' ;;
    dtypes) lines "$(($2 / 5))" "$(printf 'b%% = bf16(softmax(a))\nc%% = f16(f32(b%%) * 3)\na = f32(c%%) + mean(f32(c%%), axis=1, keep=1)')" ;;
    states) lines "$(($2 / 2))" "$(printf 'state s%% : f32[8, 8]\ns%%[0, :] = x[1] + %%')" ;;
    inputs) lines "$(($2 / 2))" "$(printf 'input x%% : f32[8, 8]\na = softmax(a + x%%)')" ;;
    tree) awk -v n="$(($2 / 2))" 'BEGIN {
              for (i = 0; i < n; i++) printf "t%d = softmax(x + %d)\n", i, i
              for (i = 0; i + 1 < 2 * n - 1; i += 2) printf "t%d = t%d + t%d\n", n + i / 2, i, i + 1
              print "a = t" 2 * n - 2 }' ;;
    # A cycle of operators, one of them with a number of its own in each round.
    mixed) lines "$(($2 / 5))" "$(printf 'a = softmax(a @ x)\na = silu(a) * x + %%\na = a.T @ x\na = a / (1 + mean(a * a, axis=0))')" ;;
    # Products of which no two have the same shape, up to a thousand.
    shapes) awk -v n="$2" 'BEGIN { print "b = x[:, 0:1]"
                for (i = 0; i < n; i++) {
                    width = 16 + i * 37 % 1009
                    printf "weight w%d : f32[%d, %d]\nb = b @ w%d\n", i, i ? last : 1, width, i
                    last = width
                }
                print "output y = b" }' ;;
    esac
    case $1 in
    output | shapes | update | fanout | states) ;;
    *) echo 'output y = a' ;;
    esac
}

if [ "$1" = --program ]; then
    program "$2" "$3"
    exit
fi
bin=$(cd "$1" && pwd)
shift
target=gfx942
[ "${1:-}" != --target ] || { target=$2 && shift 2; }
case $target in sm_*) out=out.ptx ;; *) out=out.hsaco ;; esac
[ $# -gt 0 ] || set -- 100 200 500 1000 2000
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

measure() { # FILE: seconds of the processor, and megabytes
    if figure=$(LC_ALL=C "$bin/etmeasure" --cpu "$bin/etcc" "$1" --target="$target" -o $out 2>/dev/null); then
        echo "$figure" | sed 's/\(.*\) \(.*\)/\1 s, \2 MB/'
    else
        echo refused
    fi
}

echo "On $(nproc) cores of $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), with $(
    uname -s -m), $(date -u +%F), by \`sh bench/compile_curve.sh build/bin --target $target\`:"
echo
printf '| operators |'
printf ' %s |' "$@"
echo
printf '| --- |'
for _; do printf ' --- |'; done
echo
for kind in relu product softmax rows norm group topk gather rotate reshape loop attention output update mixed shapes \
    loops2 diamond fanout fanin concat dtypes states inputs tree; do
    printf '| %s |' "$kind"
    for n; do
        program "$kind" "$n" >"$kind.etg"
        printf ' %s |' "$(measure "$kind.etg")"
    done
    echo
done
