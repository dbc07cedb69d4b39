#!/bin/sh
# run.sh [BUNDLE [RESULTS]]
# Serve on the GPU of this machine what prepare.sh has put into BUNDLE (the folder of this script if it lies in one), with random
# weights that are made here, and ask with 1, 8, 32 clients. Writes RESULTS/table.md (also on standard output), RESULTS/rows.txt
# (every figure, a line each) and RESULTS/logs.txt. Needs the GPU's driver and nothing else. What fails says so, and the others go on; what is
# left after ETCC_SECONDS (220) is not run. ETCC_DEVICE: the device, where it shall not be the first that fits. ETCC_TOKENS: tokens
# of a prompt and of an answer (128). Exit status 0 only if every load of every row was answered whole.
set -u
bundle=${1:-$(dirname "$0")}
[ -f "$bundle/about" ] || { echo "run.sh: $bundle holds no bundle: make one with prepare.sh where etcc was built" >&2; exit 2; }
. "$bundle/bundle.sh"
bundle_open "$bundle" "${2:-}" || exit 2
server=
trap '[ -z "$server" ] || kill -KILL $server; rm -rf "$work"' EXIT
seconds=${ETCC_SECONDS:-220} length=${ETCC_TOKENS:-128} failed=0 seed=0
: > "$results/rows.txt"
: > "$results/table.md"
LD_LIBRARY_PATH=$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
left() { echo $((seconds - $(date +%s) + began)); }
say() { printf '%s\n' "$*" | tee -a "$results/table.md"; }
log() { printf '%s\n' "$*" >> "$results/logs.txt"; }

# ---- the device ----
bundle_device bin/etrun || exit 1
card=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null | head -n 1 | sed 's/, /, driver /')
case $device in emu*) card="$device, emulated: times say nothing of a GPU" ;; esac

# ---- a server ----
checkpoint() { # MODEL
    [ ! -d "$work/$1" ] || return 0
    cp -r "models/$1" "$work/$1" &&
        bin/etfill "$work/$1/model.safetensors" - < "models/$1.weights" 2>> "$results/logs.txt"
}

# The first N devices of the kind, as one.
devices_of() { # N
    case $1:$device in
    1:*) echo "$device" ;;
    *:emu*) echo "$device:agents=$1" ;;
    *) awk -v n="$1" -v kind="${device%%:*}" 'BEGIN { printf "%s:", kind; for (i = 0; i < n; i++) printf "%s%d", i ? "," : "", i }' ;;
    esac
}

start() { # KERNEL MODEL DEVICES [--resident]: $address of a server that is ready
    : > "$work/server.log"
    how='--timings --launch-timeout 60'
    # shellcheck disable=SC2086
    bin/etllm serve --kernel "kernels/$1" --model "$work/$2" --device "$(devices_of "$3")" --port 0 ${4:-$how} --queue 1000 \
        --access-log "$work/access.log" 2> "$work/server.log" &
    server=$!
    address=
    while kill -0 $server 2> "$work/gone" && [ "$(left)" -gt 0 ]; do
        address=$(sed -n 's/^etllm: listening on //p' "$work/server.log")
        ! grep -q '^etllm: ready' "$work/server.log" || return 0
        sleep 0.1
    done
    return 1
}

stop() {
    [ -n "$server" ] || return 0
    kill -TERM $server 2> "$work/gone"
    wait $server || log 'the server did not end well'
    server=
    cat "$work/server.log" >> "$results/logs.txt"
}

# The differences of the metrics that are counted, NAME VALUE: of the file before and the one after.
changes() {
    awk '/^#/ || /_bucket/ { next }
        { v = $NF; name = $1; sub(/\{model_name=.*/, "", name); sub(/\{step="/, "_", name); sub(/"\}/, "", name) }
        FNR == NR { before[name] = v; next }
        name ~ /_total|_sum|_count/ { printf "%s %.9g\n", name, v - before[name] }' "$1" "$2"
}

# ask CLIENTS REQUESTS FIELDS LENGTH: the figures in $work/figures.
ask() {
    [ "$(left)" -gt 3 ] || { echo 'the time was over' > "$work/why"; return 1; }
    limit=60
    [ $limit -lt "$(left)" ] || limit=$(left)
    seed=$((seed + 1))
    rm -f "$work/figures" "$work/why"
    bin/etload "$address" get /metrics > "$work/before" &&
        timeout -k 5 "$limit" bin/etload "$address" ask "$1" "$2" "$4" "$4" $seed "$3" > "$work/figures" 2> "$work/log"
    status=$?
    cat "$work/log" >> "$results/logs.txt"
    sleep 0.1 # the server tells of a launch after its texts have left
    bin/etload "$address" get /metrics > "$work/after" && changes "$work/before" "$work/after" >> "$work/figures"
    [ $status -ne 0 ] || return 0
    tail -n 2 "$work/log" | tr '\n|' ' /' | cut -c1-160 > "$work/why"
    [ $status -lt 124 ] || echo "stopped after $limit s" > "$work/why"
    [ -s "$work/why" ] || sed -n 's/^failed /answers that were not whole: /p' "$work/figures" > "$work/why"
    return 1
}

# The row of the table: milliseconds; and of a launch microseconds.
row() { # NAME CLIENTS
    awk -v name="$1" -v clients="$2" '
        { f[$1] = $2 }
        function us(x) { return n ? sprintf("%.0f", x / n * 1e6) : "-" }
        END {
            n = f["etllm_launches_total"]; s = "etllm_step_seconds_total_"; d = f["etllm_device_seconds_total"]
            all = f[s "admit"] + f[s "fill"] + f[s "submit"] + f[s "wait"] + f[s "read"] + f[s "take"]
            fed = f["prompt_tokens"] + f["tokens"] - f["requests"]
            printf "| %s | %d | %d | %.0f | %.1f, %.1f | %.2f, %.2f | %.0f, %.0f | %d | %.1f | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, clients,
                f["requests"], f["tokens_per_second"], f["first_p50"], f["first_p99"], f["gap_p50"], f["gap_p99"],
                f["request_p50"], f["request_p99"], n, n ? fed / n : 0, us(all), d ? us(d) : "-", d ? us(all - d) : "-", us(f[s "admit"] + f[s "fill"]),
                us(f[s "submit"]), us(f[s "wait"] - d), us(f[s "read"]), us(f[s "take"])
        }' "$work/figures"
}

# ---- the rows ----
say "Compiled for $(sed -n 's/^machine //p' about), run $(date -u +%Y-%m-%dT%H:%MZ) on ${card:-$device}; $(nproc) cores; commit $(sed -n 's/^commit //p' about)."
say "Prompts and answers of $((length - length / 4)) to $((length + length / 4)) tokens, random weights; p50 and p99 in ms as clients see them, and of each launch us of the thread that launches:"
say 'all, what the device worked, the rest; and of the rest: filling, submitting, waiting beyond the device, reading what came, making texts of it.'
say ''
say '| server | clients | requests | tokens/s | first token, ms | between tokens, ms | request, ms | launches | tokens each | launch, us | device | host | fill | submit | wait | read | take |'
say '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |'
while IFS='|' read -r name kernel model fields loads stay devices; do
    from=$(date +%s)
    if ! checkpoint "$model" || ! start "$kernel" "$model" "${devices:-1}" "$stay"; then
        cat "$work/server.log" >> "$results/logs.txt"
        say "| $name | failed: $(tail -n 1 "$work/server.log" 2> "$work/gone" | tr '|' '/' | cut -c1-160) | | | | | | | | | | | | | | | |"
        failed=$((failed + 1))
        [ -z "$server" ] || kill -KILL $server 2> "$work/gone"
        server=
        continue
    fi
    log "== $name: ready after $(($(date +%s) - from)) s"
    ask 2 4 "$fields" 16 > "$work/warm" # the first launches and the first requests
    for load in $loads; do
        echo "row $name, ${load%:*} clients" >> "$results/rows.txt"
        if ask "${load%:*}" "${load#*:}" "$fields" "$length"; then
            say "$(row "$name" "${load%:*}")"
        else
            say "| $name | ${load%:*} | failed: $(cat "$work/why") | | | | | | | | | | | | | | |"
            failed=$((failed + 1))
        fi
        [ ! -f "$work/figures" ] || cat "$work/figures" >> "$results/rows.txt"
        rm -f "$work/figures"
    done
    stop
    log "-- $name: $(($(date +%s) - from)) s"
done < rows
say ''
say "$failed loads or servers failed; $(($(date +%s) - began)) s"
[ $failed -eq 0 ]
