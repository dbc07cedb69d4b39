#!/bin/sh
# row.sh NAME ARGUMENT...: a test of more than one command, which run.sh runs in the bundle, with the tools on the PATH, the device in
# DEVICE, how many workgroups it holds in CUS, checkpoints in MODELS, and a scratch folder in WORK.
set -u

decoder() { # MODEL SCHEDULE OPTIONS...: logits against PyTorch's
    m=$1 k=kernels/$1.$2
    shift 2
    ref=$MODELS/$m/golden.safetensors
    [ -f "$ref" ] || ref=$MODELS/$m/reference.safetensors
    etllm score --kernel "$k" --model "$MODELS/$m" --device "$DEVICE" --tokens "$ref" --out "$WORK/logits" "$@" &&
        etllm compare --ref "$ref" --out "$WORK/logits" --tolerance 1e-2 --gap 0.1
}

program() { # NAME: all schedules, at the corners of the dims and between, on few workgroups and all
    if [ ! -e "programs/$1.apart" ]; then
        corners "$1" "kernels/$1.static" --also "kernels/$1.dynamic" --also "kernels/$1.hybrid"
    else
        corners "$1" "kernels/$1.static" && corners "$1" "kernels/$1.dynamic" --also "kernels/$1.hybrid"
    fi
}

corners() { # NAME KERNEL OPTION...
    n=$1
    shift
    set -- "programs/$n.etg" "$@" --device "$DEVICE" --runs 1 --workgroups 0 --workgroups 1 --workgroups $((CUS / 2 + 1))
    check_kernel "$@" || return
    for bound in low high; do
        # shellcheck disable=SC2046
        check_kernel "$@" $(cat "programs/$n.$bound") || return
    done
}

sizes() { # NAME SCHEDULE: the same bits on 1 to all CUs, and a hundred times on all
    set -- "programs/$1.etg" "kernels/$1.$2" --device "$DEVICE"
    w=1
    while [ $w -le "$CUS" ]; do
        set -- "$@" --workgroups $w
        w=$((w + 1))
    done
    check_kernel "$@" --runs 1 && check_kernel "$1" "$2" --device "$DEVICE" --runs 100 && echo "$CUS sizes, 100 runs"
}

decoder_sizes() { # MODEL SCHEDULE: likewise with the logits of whole sequences
    first='' count=0
    for w in 1 2 3 5 8 13 21 34 55 89 $((CUS - 1)) "$CUS"; do
        if [ $w -lt 1 ] || [ $w -gt "$CUS" ]; then continue; fi
        export ETRT_WORKGROUPS=$w
        decoder "$1" "$2" > "$WORK/said" 2>&1 || { cat "$WORK/said"; return 1; }
        sum=$(cksum < "$WORK/logits")
        [ "${first:=$sum}" = "$sum" ] || { echo "other bits on $w workgroups"; return 1; }
        count=$((count + 1))
    done
    echo "$count sizes, the same bits"
}

replay() { # MODEL SCHEDULE: one launch captured, and run a hundred times more
    rm -rf "$WORK/capture"
    export ETRT_CAPTURE="$WORK/capture"
    decoder "$1" "$2" > "$WORK/said" 2>&1 || { cat "$WORK/said"; return 1; }
    unset ETRT_CAPTURE
    etrun --replay "$WORK/capture" --device "$DEVICE" --repeat 100 > "$WORK/said" 2>&1 || { tail -n 5 "$WORK/said"; return 1; }
    sort "$WORK/said" | uniq -c
}

story() { # MODEL: greedy text is the reference's up to its first near-tie
    etllm generate --kernel "kernels/$1.static" --model "$MODELS/$1" --device "$DEVICE" -n 96 \
        -p 'Once upon a time, there was a' > "$WORK/text" || return
    check_text prefix "$MODELS/$1" 0 "$WORK/text" && head -c 90 "$WORK/text" | tr '\n' ' '
}

wait_in_vain() { # SCHEDULE: a report that names what was waited for; and the GPU is as good as before
    how=$1
    set -- --set N=5 --in broken/x.safetensors --weights broken/w.safetensors --device "$DEVICE"
    status=0
    etrun "broken/bad.$how" "$@" --wait-limit 0.3 > "$WORK/said" 2>&1 || status=$?
    cat "$WORK/said"
    [ $status -eq 1 ] || { echo "status $status"; return 1; }
    case $how in
    static) report='waited longer than 0.3 s in task z, tile [0-9]*, for event y\[' ;;
    dynamic) report='found nothing to do for longer than 0.3 s among tasks from y on: ' ;;
    hybrid) report='found nothing to do for longer than 0.3 s among tasks from z on: 0 of ' ;; # z alone is queued
    esac
    grep -q "$report" "$WORK/said" || { echo 'no report, or another'; return 1; }
    etrun "broken/good.$how" "$@"
}

pruned() { # SCHEDULE: what the graph interpreter makes of weights that are 2:4, or not
    for n in 1 7 16 24; do
        for w in all some none; do
            etrun "pruned/$1" --set N=$n --in pruned/$n.in --weights pruned/$w.st --device "$DEVICE" --out "$WORK/out" &&
                etsame "pruned/$n.$w.want" "$WORK/out" 0.004 || { echo "N=$n, weights $w"; return 1; }
        done
    done
}

# shellcheck disable=SC2086
random() { # SEED...: ROUNDS rounds of all kernels of these programs
    list=''
    for s in "$@"; do
        for k in random/$s.*.code; do list="$list $k random/$s.safetensors"; done
    done
    device_play --device "$DEVICE" --rounds "$ROUNDS" $list
}

# shellcheck disable=SC2086
language() { # SEED...: rounds of the kernels of these programs
    list=''
    for s in "$@"; do list="$list language/$s.code language/$s.safetensors"; done
    device_play --device "$DEVICE" --rounds 6 $list
}

sanitized() { # TOOL SEED: the vendor's checker over small programs
    compute-sanitizer --tool "$1" --error-exitcode 9 --print-limit 5 etrun broken/good.static --set N=5 --in broken/x.safetensors \
        --weights broken/w.safetensors --device "$DEVICE" --wait-limit 60 &&
        compute-sanitizer --tool "$1" --error-exitcode 9 --print-limit 5 etrun broken/good.dynamic --set N=5 \
            --in broken/x.safetensors --weights broken/w.safetensors --device "$DEVICE" --wait-limit 60 &&
        compute-sanitizer --tool "$1" --error-exitcode 9 --print-limit 5 device_play --device "$DEVICE" --wait-limit 60 \
            "random/$2.0.code" "random/$2.safetensors" "random/$2.1.code" "random/$2.safetensors"
}

"$@"
