#!/bin/sh
# run.sh [BUNDLE [RESULTS]]
# Measure on the GPU of this machine what prepare.sh has put into BUNDLE (the folder of this script if it lies in one), beside a
# plain read of as many bytes and, where python3 has it, PyTorch. One table in Markdown, on standard output and in the new folder
# RESULTS. Needs the GPU's driver and nothing else. A row or a column that fails says so, and the others go on; every command has
# a limit, and what is left after ETCC_SECONDS (440) is not run. ETCC_DEVICE: the device, where it shall not be the first that
# fits. ETCC_TORCH=no leaves PyTorch out. Exit status 0 only if every row of ours was measured.
set -u
bundle=${1:-$(dirname "$0")}
[ -f "$bundle/about" ] || { echo "run.sh: $bundle holds no bundle: make one with prepare.sh where etcc was built" >&2; exit 2; }
. "$bundle/bundle.sh"
bundle_open "$bundle" "${2:-}" || exit 2
seconds=${ETCC_SECONDS:-440} failed=0
: > "$results/table.md"
: > "$work/torch"

# etcc's tools with the libraries of the bundle, which are not for others: python3's may have the same names.
tool() {
    program=$1
    shift
    LD_LIBRARY_PATH=$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} CUDA_CACHE_DISABLE=1 "$bundle/bin/$program" "$@"
}
left() { echo $((seconds - $(date +%s) + began)); }
say() { printf '%s\n' "$*" | tee -a "$results/table.md"; }
log() { printf '%s\n' "$*" >> "$results/logs.txt"; }

# ---- the device ----
bundle_device tool etrun || exit 1
features=$(sed -n 's/^feature //p' about) repeats=30
[ -z "$features" ] || repeats=20 ETCC_TORCH=no
case $device in
emu*) figure='bytes read' unit='bytes that were read (emulated: no times)' scale=1 repeat='--repeat 1 --warmup 1 --no-tasks' launches= ;;
*) figure='time by the device' unit='ms by the device'\''s timestamps' scale=0.001 repeat="--repeat $repeats --warmup 5" launches=", medians of $repeats launches after 5" ;;
esac

# measure LIMIT OPTIONS...: medians of the columns, one after another; nothing, and status 1, where it failed.
measure() {
    limit=$1
    [ "$(left)" -gt 3 ] || { echo 'the time was over' > "$work/why"; return 1; }
    [ "$limit" -lt "$(left)" ] || limit=$(left)
    shift
    log "== etbench $* --device $device"
    # shellcheck disable=SC2086
    LD_LIBRARY_PATH=$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} CUDA_CACHE_DISABLE=1 timeout -k 5 "$limit" bin/etbench "$@" \
        --device "$device" $repeat --no-predictions --no-unfused --wait-limit 5 --quiet --markdown "$work/md" > "$work/log" 2>&1
    status=$?
    cat "$work/log" >> "$results/logs.txt"
    if [ $status -ne 0 ]; then
        tail -n 2 "$work/log" | tr '\n|' ' /' | cut -c1-160 > "$work/why"
        [ $status -lt 124 ] || echo "stopped after $limit s" > "$work/why"
        return 1
    fi
    cat "$work/md" >> "$results/logs.txt"
    awk -v title="$figure" -v scale=$scale -F '|' '
        index($0, title) == 1 { on = 1 }
        on && /^\| [^-]/ && $2 !~ /^ *$/ { for (i = 3; i < NF; i++) { split($i, n, " "); print n[1] * scale }; exit }' "$work/md"
}

# ---- ours ----
cus=$(awk -v d="$device" '$1 == d { print $3 }' "$work/devices")
card=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null | head -n 1 | sed 's/, /, driver /')
number() { awk -v x="$1" 'BEGIN { if (x ~ /^[0-9.e+]+$/) printf x < 1000 ? "%.3f" : "%.0f", x; else print x }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a + 0 > 0 && b + 0 > 0) printf "%.2f", a / b; else print "-" }'; }

read_of() { # UNITS
    if [ ! -s "$work/read.$1" ]; then
        size=small
        [ "$1" -lt 60000 ] || size=large
        measure 60 kernels/read.$size --set N="$1" > "$work/read.$1" || return 1
    fi
    cat "$work/read.$1"
}

each_alone() {
    for column in $columns; do
        # shellcheck disable=SC2086
        if measure 60 "kernels/$kernel.$column" --set N="$n" $options --states zero > "$work/all"; then
            echo "$(cat "$work/all") $column" >> "$work/times"
        else
            echo "FAIL $column $(cat "$work/why")" >> "$work/times"
        fi
    done
}

one_row() {
    read=- often=$repeat short=
    if [ -f kernels/flush ] && [ "$units" -lt 8192 ]; then
        short=yes repeat='--repeat 300 --warmup 50 --between kernels/flush'
    fi
    [ -n "$features" ] || read=$(read_of "$units") || { read=- ; log "no plain read: $(cat "$work/why")"; }
    files=
    for column in $columns; do
        files="$files kernels/$kernel.$column"
    done
    set -f
    : > "$work/times"
    # shellcheck disable=SC2086
    if [ -n "$features$short" ]; then
        each_alone
    elif measure 90 $files --set N="$n" $options --states zero > "$work/all"; then
        paste -d ' ' "$work/all" "$work/columns" > "$work/times"
    else
        # All together failed: each by itself, so that what is right is told.
        echo "TOGETHER: $(cat "$work/why")" > "$work/times"
        each_alone
    fi
    set +f
    repeat=$often
    cp "$work/times" "$work/times.$count"
    ours=$(awk '$2 == "etcc" { print $1 }' "$work/times")
    [ "$ours" != FAIL ] || failed=$((failed + 1))
    why=$(awk '$1 == "FAIL" { $1 = ""; print "failed:" $0 ";" } $1 == "TOGETHER:" { $1 = ""; print "together:" $0 ";" }' "$work/times" | tr '\n' ' ')
    {
        most=$(printf '%s\n' "$kernel" | sed -n 's/.*[^0-9.]\.\([0-9]*\).*/\1/p')
        for word in "$name" "${most:-4096}" "$read" "$goal" "$ours"; do echo "$word"; done
        for column in kernels unstreamed dynamic; do
            echo "$(awk -v c=$column '$2 == c { print $1 }' "$work/times")"
        done
        echo "$torch"
        echo "$why"
    } > "$work/row.$count"
}

rows=$(grep -c . rows) count=0
while IFS='|' read -r name goal kernel n units columns torch options; do
    count=$((count + 1))
    printf '%s\n' $columns > "$work/columns"
    from=$(date +%s)
    one_row
    log "-- $name: $(tr '\n' ' ' < "$work/times"): $(($(date +%s) - from)) s"
    echo "$name: $(tr '\n' ' ' < "$work/times")" >&2
done < rows

# ---- PyTorch: a line for each row, as it goes: NAME N CONTEXT GRAPH COMPILED
torch_said='PyTorch was left out'
if [ "${ETCC_TORCH:-yes}" = yes ] && [ "$(left)" -gt 20 ]; then
    torch_said=$(python3 -c 'import torch; torch.cuda.init(); print("PyTorch", torch.__version__)' 2> "$work/log") ||
        torch_said='PyTorch is not here'
    case $torch_said in
    'PyTorch '[0-9]*)
        awk -F '|' '$7 != "" { print $7 }' rows | sort -u > "$work/asked"
        timeout -k 5 "$(left)" python3 torch_rows.py models "$work/asked" "$(left)" > "$work/torch" 2> "$work/log"
        log "== torch_rows.py: status $?"
        cat "$work/torch" >> "$results/logs.txt"
        ;;
    esac
    tail -n 20 "$work/log" >> "$results/logs.txt"
fi

# ---- the table of features: a line for each, a column for each row ----
told() { # ROW COLUMN: ms, and how many times what the row takes with all features; nothing where the code is the same
    awk -v c="$2" '$2 == c { t = $1 } $2 == "etcc" { all = $1 }
        END { if (t == "FAIL") printf "FAIL"; else if (t != "") {
            printf t < 0.1 ? "%.4f" : t < 1000 ? "%.3f" : "%.0f", t
            if (c != "etcc") printf ", **%.2f**", t / all
        } }' "$work/times.$1"
}
line() { # COLUMN WHAT
    at=0 text="| $2 |"
    while [ $at -lt $count ]; do
        at=$((at + 1))
        text="$text $(told $at "$1") |"
    done
    say "$text"
}
feature_table() {
    say "Compiled for $(sed -n 's/^machine //p' about), run $(date -u +%Y-%m-%dT%H:%MZ) on ${card:-$device}${cus:+, $cus CUs}; commit $(sed -n 's/^commit //p' about)."
    say "$unit$launches, each kernel alone; behind it, times what it takes with all features. Empty: the code is the same."
    say 'Of what reads less than 512 MB 300 launches after 50, with a read of 3 GB of other memory before each.'
    say ''
    say "| left out |$(cut -d '|' -f 1 rows | sed 's/.*/ & |/' | tr -d '\n')"
    say "| --- |$(sed 's/.*/ --- |/' rows | tr -d '\n')"
    line etcc nothing
    sed -n 's/^feature //p' about | while read -r name what; do
        line "without-$name" "\`$name\`: $what"
    done
    line without-all 'all of these'
    line flag-in-data 'nothing, and flag-in-data events (`--flag-in-data=all`)'
    say ''
    say "$((count - failed)) of $rows columns measured in $(($(date +%s) - began)) s"
}
if [ -n "$features" ]; then
    feature_table
    [ $failed -eq 0 ] && [ "$count" -eq "$rows" ]
    exit
fi

# ---- the table ----
say "$(sed -n 's/^machine /Compiled for /p' about), run $(date -u +%Y-%m-%dT%H:%MZ) on ${card:-$device}${cus:+, $cus CUs}; commit $(sed -n 's/^commit //p' about); $torch_said."
say "By \`sh bench/h100.sh\`; $unit$launches. *unstreamed*, *dynamic* and *kernels* are etcc with"
say "\`--unstreamed\`, \`--schedule=dynamic\` and \`--schedule=kernels\` (a kernel for each task, in a graph); empty where the code is the same or"
say 'was not asked for. What other features are worth is a table of its own (`features.txt`). Columns of a row run in turn, but in rows'
say 'of less than 512 MB each alone, 300 launches after 50, with a read of 3 GB of other memory before each launch, of the plain read, too.'
say ''
say '| | made for up to | plain read | goal | etcc | of the read | of the goal | kernels | unstreamed | dynamic | PyTorch, graph | compiled, graph | |'
say '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |'
at=0
while [ $at -lt $count ]; do
    at=$((at + 1))
    {
        IFS= read -r name
        IFS= read -r most
        IFS= read -r read
        IFS= read -r goal
        IFS= read -r ours
        IFS= read -r kernels
        IFS= read -r unstreamed
        IFS= read -r dynamic
        IFS= read -r torch
        IFS= read -r why
    } < "$work/row.$at"
    case $goal in *x) aim=$(awk -v r="$read" -v g="${goal%x}" 'BEGIN { print r * g }') ;; *) aim=$goal ;; esac
    graph=$(awk -v w="$torch" '$1 " " $2 " " $3 == w { print $4 }' "$work/torch" | tail -n 1)
    compiled=$(awk -v w="$torch" '$1 " " $2 " " $3 == w { print $5 }' "$work/torch" | tail -n 1)
    say "| $name | $most | $(number "$read") | $goal | $(number "$ours") | $(ratio "$ours" "$read") | $(ratio "$ours" "$aim") | $(number "$kernels") |" \
        "$(number "$unstreamed") | $(number "$dynamic") | ${graph:-} | ${compiled:-} | $why |"
done
say ''
say "$((count - failed)) of $rows rows measured in $(($(date +%s) - began)) s"
[ $failed -eq 0 ] && [ "$count" -eq "$rows" ]
