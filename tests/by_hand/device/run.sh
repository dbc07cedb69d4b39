#!/bin/sh
# run.sh [BUNDLE [RESULTS]]
# Run what prepare.sh has put into BUNDLE (the folder of this script if it lies in one) on the GPU of this machine. A row for each
# test, PASS or FAIL, and a summary; the rows and what was printed go to the new folder RESULTS too. Needs nothing here but the
# GPU's driver. Exit status 0 only if every row passed. Every command has a limit of its own, and after ETCC_SECONDS (440) the
# rows that are left fail. ETCC_ROWS: patterns of the rows to run, where it shall not be all. Checkpoints that the bundle lacks are
# those of ETCC_SOURCE (here, the folder it is started in). ETCC_DEVICE: the device to run on, where it shall not be the first GPU
# that runs the kernels.
set -u
bundle=${1:-$(dirname "$0")}
[ -f "$bundle/about" ] || { echo "run.sh: $bundle holds no bundle: make one with prepare.sh where etcc was built" >&2; exit 2; }
source=$(cd "${ETCC_SOURCE:-.}" && pwd)
. "$bundle/bundle.sh"
bundle_open "$bundle" "${2:-}" || exit 2
MODELS=$work/models
mkdir "$MODELS"
for m in "$bundle"/models/*; do
    [ -e "$m" ] || continue
    if [ -d "$m" ]; then
        ln -s "$m" "$MODELS/"
    else
        archive=$source/$(cat "$m")
        [ -f "$archive" ] || { echo "run.sh: there is no checkpoint $archive" >&2; exit 2; }
        LD_LIBRARY_PATH=$bundle/lib sh "$bundle/unpack.sh" "$archive" "$MODELS" "$bundle/bin/random_weights" || exit 2
    fi
done
PATH=$bundle/bin:$PATH LD_LIBRARY_PATH=$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} TMPDIR=$work
export PATH LD_LIBRARY_PATH TMPDIR CUDA_CACHE_DISABLE=1
: > "$results/rows.txt"
passed=0 failed=0 seconds=${ETCC_SECONDS:-440} rows=${ETCC_ROWS:-*}

say() { printf '%s\n' "$*" | tee -a "$results/rows.txt"; }

verdict() { # PASS|FAIL NAME SECONDS WHY
    if [ "$1" = PASS ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    say "$(printf '%-4s %-34s %4s s  %s' "$1" "$2" "$3" "${4:-}")"
}

# test_row NAME LIMIT FUNCTION...: a row of row.sh.
test_row() {
    name=$1 limit=$2
    shift 2
    row "$name" "$limit" sh ./row.sh "$@"
}

asked_for() { # NAME
    set -f
    for pattern in $rows; do
        # shellcheck disable=SC2254
        case $1 in $pattern) set +f; return 0 ;; esac
    done
    set +f
    return 1
}

# row NAME LIMIT COMMAND...: PASS if the command's status is 0 in its time. What it prints last is told with a failure.
row() {
    name=$1 limit=$2
    shift 2
    asked_for "$name" || return 0
    from=$(date +%s)
    if [ $((from - began)) -ge "$seconds" ]; then
        verdict FAIL "$name" 0 'not run: the time was over'
        return 1
    fi
    echo "== $name: $*" >> "$results/logs.txt"
    timeout -k 5 "$limit" "$@" > "$work/log" 2>&1
    status=$?
    took=$(($(date +%s) - from))
    cat "$work/log" >> "$results/logs.txt"
    if [ $status -eq 0 ]; then
        verdict PASS "$name" $took "$(tail -n 1 "$work/log" | cut -c1-100)"
    elif [ $status -ge 124 ] && [ $status -le 137 ]; then
        verdict FAIL "$name" $took "stopped after $limit s: $(tail -n 1 "$work/log" | cut -c1-160)"
    else
        verdict FAIL "$name" $took "status $status: $(grep -v '^$' "$work/log" | tail -n 2 | tr '\n' ' ' | cut -c1-240)"
    fi
    return $status
}

# ---- the device ----
say "$(tr '\n' ';' < about)"
say "run $(date -u +%Y-%m-%dT%H:%MZ), $(uname -r), $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null | head -n 1)"
bundle_device etrun > "$work/none" || { tee -a "$results/rows.txt" < "$work/none"; exit 1; }
tee -a "$results/rows.txt" < "$work/devices"
cus=$(awk -v d="$device" '$1 == d { print $3 }' "$work/devices")
case $cus in '' | -) cus=$(printf '%s\n' "$device" | sed -n 's/.*cus=\([0-9]*\).*/\1/p') ;; esac
say "device $device, ${cus:=1} workgroups at once"

DEVICE=$device CUS=$cus WORK=$work ROUNDS=1
export DEVICE CUS WORK ROUNDS MODELS

# ---- rows ----
case $target in
sm_*)
    row driver 120 env CK_VERBOSITY=minimal runtime_launch small/probe.hsaco small/probe.ptx cuda
    row models 60 env CK_VERBOSITY=minimal runtime_model small/probe.hsaco small/probe.ptx cuda
    row sessions 120 env CK_VERBOSITY=minimal runtime_session small/probe.hsaco small/probe.ptx cuda
    row ptx 30 check_kernel programs/mlp.etg small/mlp.ptx --device "$device"
    ;;
esac
schedules='static dynamic hybrid'
for m in models/*; do
    m=${m#models/}
    case $m in stories-* | '*') continue ;; esac
    for how in $schedules; do
        for n in 1 7 40 64; do
            options="--chunk $n --batch 1"
            [ $n -lt 64 ] || options= # as many as a launch takes, of all sequences
            # shellcheck disable=SC2086
            test_row "golden.$m.$how.N=$n" 20 decoder "$m" $how $options
        done
    done
done
for m in models/stories-*; do
    [ -e "$m" ] || continue
    m=${m#models/}
    for how in $schedules; do
        test_row "golden.$m.$how" 30 decoder "$m" $how
    done
    test_row "story.$m" 30 story "$m"
    for k in kernels/"$m".without-*; do
        [ ! -e "$k" ] || test_row "golden.${k#kernels/}" 30 decoder "$m" "${k#kernels/"$m".}"
    done
done
for p in programs/*.etg; do
    p=$(basename "$p" .etg)
    test_row "program.$p" 40 program "$p"
done
for how in $schedules; do
    test_row "wait.$how" 30 wait_in_vain $how
done
for how in $schedules; do
    test_row "pruned.$how" 60 pruned $how
done

# Launches of random programs, 10,000 and more: of four kernels of each, six in a round.
seeds=$(for c in random/*.safetensors; do basename "$c" .safetensors; done | sort -n)
count=$(printf '%s\n' "$seeds" | wc -l)
ROUNDS=$(((${ETCC_LAUNCHES:-10000} + count * 24 - 1) / (count * 24)))
printf '%s\n' "$seeds" | xargs -n 10 > "$work/groups"
while read -r group; do
    # shellcheck disable=SC2086
    test_row "random.${group%% *}" 60 random $group < /dev/null
done < "$work/groups"
for c in language/*.code; do basename "$c" .code; done | sort -n | xargs -n 20 > "$work/groups"
while read -r group; do
    # shellcheck disable=SC2086
    test_row "language.${group%% *}" 60 language $group < /dev/null
done < "$work/groups"

for how in $schedules; do
    test_row "bits.mlp.$how" 60 sizes mlp $how
    for m in llama stories-llama; do
        [ ! -e models/$m ] || test_row "bits.$m.$how" 60 decoder_sizes $m $how
    done
    [ ! -e models/llama ] || test_row "bits.replay.llama.$how" 40 replay llama $how
done
for how in $schedules; do
    for w in 1 2 $((cus / 2 + 1)) "$cus"; do
        row "mix.$how.W=$w" 30 env ETRT_WORKGROUPS="$w" check_mix "$device" mix/mix.$how 9 7 \
            mlp mix/mlp.$how moe mix/moe.$how mlp_2 mix/mlp.$how
    done
done
if [ -f mix/stories ]; then
    row mix.stories 60 check_stories mix/stories 24 "$device" 1 1 stories_llama kernels/stories-llama.static "$MODELS/stories-llama" \
        stories_moe kernels/stories-moe.static "$MODELS/stories-moe"
fi
if command -v compute-sanitizer > /dev/null; then
    for tool in memcheck racecheck synccheck; do
        test_row "sanitizer.$tool" 90 sanitized $tool "$(printf '%s\n' "$seeds" | head -n 1)"
    done
else
    say 'compute-sanitizer is not here: not run'
fi

say "$passed passed, $failed failed in $(($(date +%s) - began)) s on $(awk -v d="$device" '$1 == d' "$work/devices")"
[ $failed -eq 0 ]
