#!/bin/sh
# sh tests/by_hand/fuzz/run.sh [--record] SECONDS [TARGET...] - build the fuzz targets with clang and libFuzzer and run each for
# SECONDS, all of them when none is named. Prints what every one did; ends with 1 when something was found or
# could not be built, and says where the inputs are. --record adds what each did to its row of RUNS.md.
# $ETCC_BUILD: where to build, in its folder fuzz/ (build/ in the source tree); corpora and findings stay there
# between runs. $ETCC_JOBS: how many at once (2). $ETCC_FUZZ_TIMEOUT: seconds that an input may take (20) before it is a finding; more on a machine that is shared.
set -u
src=$(cd "$(dirname "$0")/../../.." && pwd) || exit 2
fuzz=$src/tests/by_hand/fuzz
build=${ETCC_BUILD:-$src/build}/fuzz
jobs=${ETCC_JOBS:-2}
all=$(cd "$fuzz/targets" && for f in *.c; do printf '%s ' "${f%.c}"; done)

die() {
    printf 'run.sh: %s\n' "$*" >&2
    exit 2
}

# The longest input made up.
length() {
    case $1 in
    expr) echo 256 ;;
    isa) echo 257 ;;
    etg | eti | safetensors) echo 4096 ;;
    gguf) echo 65536 ;;
    *) echo 16384 ;;
    esac
}

dictionary() {
    case $1 in
    safetensors | index | manifest | launch | config | complete | checkpoint | embedder | quant | settings | tokenizer | request) file=$fuzz/dictionaries/json.dict ;;
    *) file=$fuzz/dictionaries/$1.dict ;;
    esac
    [ ! -f "$file" ] || echo "-dict=$file"
}

fuzz_one() { # TARGET SECONDS
    kept=$build/runs/$1
    mkdir -p "$kept/corpus" "$kept/findings"
    : > "$kept/began"
    set -- "$1" "$2" "$kept/corpus"
    for folder in "$build/seeds/$1" "$fuzz/seeds/$1" "$fuzz/regressions/$1"; do
        [ ! -d "$folder" ] || set -- "$@" "$folder"
    done
    target=$1 seconds=$2
    shift 2
    # shellcheck disable=SC2046
    "$build/bin/fuzz_$target" -max_total_time="$seconds" -max_len="$(length "$target")" \
        $(dictionary "$target") -timeout="${ETCC_FUZZ_TIMEOUT:-20}" -report_slow_units="${ETCC_FUZZ_TIMEOUT:-20}" -rss_limit_mb=2500 -print_final_stats=1 -close_fd_mask=3 \
        -reload=0 -artifact_prefix="$kept/findings/" "$@" > "$kept/log" 2>&1
    echo $? > "$kept/status"
}

statistic() { # NAME LOG
    sed -n "s/^stat::$1: *//p" "$2" | tail -n 1
}

report() { # TARGET: true when nothing was found
    kept=$build/runs/$1
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$kept/log" | tail -n 1)
    found=$(find "$kept/findings" -type f | wc -l)
    printf '%-12s %11s executions %8s/s %7s edges %6s in corpus %4s findings\n' "$1" \
        "$(statistic number_of_executed_units "$kept/log")" \
        "$(statistic average_exec_per_sec "$kept/log")" "${edges:-?}" \
        "$(find "$kept/corpus" -type f | wc -l)" "$found"
    [ "$(cat "$kept/status")" -eq 0 ] && [ "$found" -eq 0 ] && return 0
    grep -aE 'SUMMARY|ERROR: |runtime error|broken: |invariant' "$kept/log" | sed 's/^/    /' | head -n 8
    find "$kept/findings" -type f | sed 's/^/    /'
    [ "$found" -gt 0 ] || tail -n 5 "$kept/log"
    return 1
}

# Seconds, executions and findings are added up; a target without a row gets one.
record() { # TARGET
    kept=$build/runs/$1
    ran=$(($(date -r "$kept/status" +%s) - $(date -r "$kept/began" +%s)))
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$kept/log" | tail -n 1)
    awk -v target="\`$1\`" -v seconds="$ran" -v runs="$(statistic number_of_executed_units "$kept/log")" -v edges="${edges:-0}" \
        -v found="$(find "$kept/findings" -type f -newer "$kept/began" | wc -l)" -v day="$(date -u +%Y-%m-%d)" \
        -v commit="$(git -C "$src" rev-parse --short=8 HEAD)" '
        function row(s, r, f) {
            printf "| %s | %d | %.0f | %d | %d | %s | %s |\n", target, s + seconds, r + runs, edges, f + found, day, commit
            done = 1
        }
        $2 == target { row($4, $6, $10); next }
        { print }
        END { if (!done) row(0, 0, 0) }' "$fuzz/RUNS.md" > "$kept/RUNS.md" && mv "$kept/RUNS.md" "$fuzz/RUNS.md"
}

if [ "${1:-}" = --one ]; then
    fuzz_one "$3" "$2"
    exit 0
fi
record=false
if [ "${1:-}" = --record ]; then
    record=true
    shift
fi
case ${1:-} in
'' | *[!0-9]*) die "usage: run.sh [--record] SECONDS [TARGET...]; the targets: $all" ;;
esac
seconds=$1
shift
targets=${*:-$all}
programs=
for t in $targets; do
    [ -f "$fuzz/targets/$t.c" ] || die "no target $t; there are $all"
    programs="$programs fuzz_$t"
done

cmake -S "$src" -B "$build" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DETCC_FUZZ=ON -DETCC_TESTS=ON \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG='-O2 -g' || die 'cmake failed'
# shellcheck disable=SC2086
ninja -C "$build" -j "$jobs" $programs checkpoints || die 'the build failed'
sh "$fuzz/seeds.sh" "$src" "$build" || die 'the seeds could not be made'
# shellcheck disable=SC2086
printf '%s\n' $targets | xargs -P "$jobs" -I TARGET sh "$0" --one "$seconds" TARGET
count=0 bad=0
for t in $targets; do
    count=$((count + 1))
    report "$t" || bad=$((bad + 1))
    ! $record || record "$t"
done
printf '%s fuzz targets, %s s each: %s with findings\n' "$count" "$seconds" "$bad"
[ "$bad" -eq 0 ]
