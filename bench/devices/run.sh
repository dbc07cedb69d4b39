#!/bin/sh
# run.sh [BUNDLE [RESULTS]]
# On a machine with as many cards as prepare.sh was told: whether what they compute together is right, and how long it takes beside
# one of them. RESULTS/table.md and RESULTS/logs.txt; a row that fails says so, and the others go on. ETCC_SECONDS (240): what is
# left after that is not run. ETCC_DEVICE: the devices, where they are not the first ones; ETCC_ONE: the one to compare with.
# ETCC_TORCH=yes: PyTorch and NCCL, too (150 s and more). ETCC_PARTS: goldens, runs, lost, rows, sums, pairs, of which all are run.
set -u
bundle=$(cd "${1:-$(dirname "$0")}" && pwd)
. "$bundle/bundle.sh"
bundle_open "$bundle" "${2:-}" || exit 2
n=$(sed -n 's/^devices //p' about) seconds=${ETCC_SECONDS:-240} failed=0 parts=${ETCC_PARTS:-goldens runs lost rows sums pairs}
export LD_LIBRARY_PATH="$bundle/lib" CUDA_CACHE_DISABLE=1 NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1
case $target in sm_*) kind=cuda ;; *) kind=hsa ;; esac
devices=${ETCC_DEVICE:-$kind:$(awk -v n="$n" 'BEGIN { for (i = 0; i < n; i++) printf "%s%d", i ? "," : "", i }')}
one=${ETCC_ONE:-$kind:0}
left() { echo $((seconds - $(date +%s) + began)); }
say() { printf '%s\n' "$*" | tee -a "$results/table.md"; }
log() { printf '%s\n' "$*" >> "$results/logs.txt"; }
part() { case " $parts " in *" $1 "*) [ "$(left)" -gt 5 ] ;; *) false ;; esac; }
# try LIMIT COMMAND...: what it says is in work/said
try() {
    limit=$1
    shift
    log "== $*"
    timeout -k 5 "$limit" "$@" > "$work/said" 2>&1
    status=$?
    tail -n 30 "$work/said" >> "$results/logs.txt"
    return $status
}

say "$n devices ($devices): $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null | sort | uniq -c | tr -s ' ' | tr '\n' ';') $(date -u +%Y-%m-%dT%H:%MZ); commit $(sed -n 's/^commit //p' about)"
say ''

# ---- is it right?
golden() { # NAME.SCHEDULE
    m=${1%.*} apart=1e-2
    if grep -q '"num_\(local_\)\?experts"\|"n_routed_experts"' "goldens/$m/config.json"; then apart=1.5e-2; fi
    for piece in 1 7; do
        verdict=FAIL
        if try 60 bin/etllm score --kernel "kernels/$1" --model "goldens/$m" --device "$devices" --chunk $piece \
            --tokens "goldens/$m/golden.safetensors" --out "$work/out.safetensors"; then
            ! try 20 bin/etllm compare --ref "goldens/$m/golden.safetensors" --out "$work/out.safetensors" --tolerance $apart --gap 0.1 || verdict=PASS
        fi
        rm -f "$work/out.safetensors"
        [ $verdict = PASS ] || failed=$((failed + 1))
        say "- $verdict golden $1, pieces of $piece: $(tail -n 1 "$work/said" | cut -c1-160)"
    done
}
if part goldens; then
    for kernel in kernels/*.static kernels/*.dynamic; do
        [ ! -e "$kernel" ] || golden "$(basename "$kernel")"
    done
fi
if part runs; then
    for program in mlp gqa; do
        verdict=PASS
        try 60 bin/check_kernel small/$program.etg small/$program --device "$devices" --runs 300 || { verdict=FAIL; failed=$((failed + 1)); }
        say "- $verdict $program, 300 runs, same bits: $(tail -n 1 "$work/said" | cut -c1-160)"
    done
fi
if part lost; then
    verdict=FAIL from=$(date +%s)
    if ! try 30 bin/check_kernel small/mlp.etg small/broken --device "$devices" && grep -q 'device [0-9]* of' "$work/said"; then verdict=PASS; fi
    [ $verdict = PASS ] || failed=$((failed + 1))
    say "- $verdict an event that is never notified, after $(($(date +%s) - from)) s: $(grep -m 1 'device [0-9]* of' "$work/said" | cut -c1-200)"
fi

# ---- how fast?
positions() { # N: the tensor `positions`
    head="{\"positions\":{\"dtype\":\"I32\",\"shape\":[$1],\"data_offsets\":[0,$(($1 * 4))]}}"
    # shellcheck disable=SC2059
    printf "$(printf '\\%03o' ${#head})\\000\\000\\000\\000\\000\\000\\000"
    printf '%s' "$head"
    # shellcheck disable=SC2059
    printf "$(awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "\\%03o\\%03o\\000\\000", i % 256, int(i / 256) }')"
}
measure() { # KERNEL DEVICE OPTION...: the median, or why not
    kernel=$1 device=$2 repeat='--repeat 60 --warmup 5'
    shift 2
    case $device in emu*) repeat='--repeat 1 --warmup 1 --no-tasks' ;; esac
    limit=$(left)
    [ "$limit" -lt 90 ] || limit=90
    [ "$limit" -gt 5 ] || { echo 'no time'; return; }
    # shellcheck disable=SC2086
    if try "$limit" bin/etbench "$kernel" --device "$device" $repeat --states zero --no-predictions --no-unfused --wait-limit 5 \
        --quiet --markdown "$work/md" "$@"; then
        cat "$work/md" >> "$results/logs.txt"
        awk -F '|' '/^(time by the device|bytes read)/ { on = 1; scale = /^time/ ? 0.001 : 1 } on && /^\| [^-]/ && $2 !~ /^ *$/ { split($3, v, " "); printf "%.4g", v[1] * scale; exit }' "$work/md"
    else
        tail -n 1 "$work/said" | tr '|' '/' | cut -c1-120
    fi
}
row() {
    case $context in
    prompt)
        positions "$tokens" > "$work/positions.safetensors"
        set -- --input positions="$work/positions.safetensors" --range slots=0..0 --range last=$((tokens - 1))..$((tokens - 1))
        ;;
    *) set -- --range positions=$((context - 1))..$((context - 1)) ;;
    esac
    set -- --set N="$tokens" --range tokens=0..$((vocabulary - 1)) "$@"
    all=- alone=- from=$(date +%s)
    for column in $columns; do
        case $column in
        1) alone=$(measure "kernels/$number.1" "$one" "$@") ;;
        *) all=$(measure "kernels/$number.$n" "$devices" "$@") ;;
        esac
    done
    times=$(awk -v a="$alone" -v b="$all" 'BEGIN { if (a + 0 > 0 && b + 0 > 0) printf "%.2f", a / b }')
    case $all in [0-9]*) ;; *) failed=$((failed + 1)) ;; esac
    say "| $name | $alone | $all | $times | $goal |"
    log "-- $name took $(($(date +%s) - from)) s"
}
if part rows; then
    say ''
    say "| ms by the device, medians of 60 | 1 device | $n devices | times | goal for two H100s |"
    say '| --- | --- | --- | --- | --- |'
    while IFS='|' read -r number name goal model tokens context vocabulary columns; do
        row < /dev/null
    done < rows
fi

if part sums; then
    say ''
    say '| us that an all-reduce of f32 adds, of 64 in a loop with two small products | tags | flags |'
    say '| --- | --- | --- |'
    for rows in 1 8 32; do
        alone=$(measure "kernels/sums.$rows.one" "$one" --set N=$rows)
        line="| $((rows * 8)) KB |"
        for how in tags flags; do
            all=$(measure "kernels/sums.$rows.$how" "$devices" --set N=$rows)
            line="$line $(awk -v a="$alone" -v b="$all" 'BEGIN { if (a + 0 > 0 && b + 0 > 0) printf "%.2f", (b - a) * 1000 / 64; else print "-" }') |"
        done
        case $line in *-*) failed=$((failed + 1)) ;; esac
        say "$line"
    done
fi

if part pairs; then
    say ''
    say '| ms: a product, its reduce-scatter, an all-gather and a product | rows | one device, no exchange | all | times |'
    say '| --- | --- | --- | --- | --- |'
    for kernel in kernels/pair.*.all; do
        [ -e "$kernel" ] || continue
        name=${kernel#kernels/pair.} name=${name%.all}
        alone=$(measure "${kernel%.all}.one" "$one" --set N="${name#*.}") all=$(measure "$kernel" "$devices" --set N="${name#*.}")
        times=$(awk -v a="$alone" -v b="$all" 'BEGIN { if (a + 0 > 0 && b + 0 > 0) printf "%.3f", b / a; else print "-" }')
        [ "$times" != - ] || failed=$((failed + 1))
        say "| ${name%.*} | ${name#*.} | $alone | $all | $times |"
    done
fi

if [ "${ETCC_TORCH:-no}" = yes ] && [ "$(left)" -gt 30 ]; then
    unset LD_LIBRARY_PATH
    try "$(left)" python3 -m torch.distributed.run --standalone --nproc-per-node "$n" torch_tp.py
    say ''
    sed -n 's/^row /- PyTorch: /p' "$work/said" | tee -a "$results/table.md"
fi
say ''
say "$failed failed, $(($(date +%s) - began)) s"
[ $failed -eq 0 ]
