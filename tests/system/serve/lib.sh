# Read by the scripts here. Usage of each: SCRIPT BIN SRC WORK: the folder with the tools, the source tree, a
# scratch folder. A server is started with `start`, asked with `ask`, and gone when the script ends.
# shellcheck shell=sh
set -eu
. "$(dirname "$0")/../../support/lib.sh"
# shellcheck disable=SC2034
bin=$1 src=$2 here=$(basename "$0" .sh)
work=$3/$here
rm -rf "$work"
mkdir -p "$work"
cd "$work"
stories=$bin/../checkpoints/stories-llama
option=--model folders=$stories # what is served
kernel=$(kernel "$bin/etcc" "$(imported "$bin" "$src" stories-llama)" gfx942 static)
server=
trap '[ -z "$server" ] || kill -KILL $server 2> kill.log || true' EXIT

die() {
    printf '%s: %s\n' "$here" "$*" >&2
    [ ! -s server.log ] || sed 's/^/  server: /' server.log | tail -15 >&2
    exit 1
}

launch() { # [options]: begins a server; does not wait until it is ready
    : > server.log # or what an earlier one said would be read before this one's shell has begun it anew
    "$bin/etllm" serve --kernel "$kernel" $option "$folders" --port 0 "$@" 2> server.log &
    server=$!
    address=
    for _ in $(seq 200); do
        address=$(sed -n 's/^etllm: listening on //p' server.log)
        [ -z "$address" ] || break
        kill -0 $server 2> kill.log || break
        sleep 0.05
    done
    [ -n "$address" ] || die 'the server does not listen'
}

start() { # [options]: begins a server and waits until it is ready
    launch "$@"
    for _ in $(seq 400); do
        ! grep -q '^etllm: ready' server.log || return 0
        kill -0 $server 2> kill.log || break
        sleep 0.05
    done
    die 'the server is not ready'
}

stop() { # [SIGNAL]: ends it; its exit status in $status
    kill -"${1:-TERM}" $server
    status=0
    wait $server || status=$?
    server=
}

# ask PATH [BODY [curl's options]]: the answer in answer, its status in $code.
ask() {
    _path=$1 _body=${2:-}
    shift
    [ $# -eq 0 ] || shift
    if [ -n "$_body" ]; then
        code=$(curl -sS -m 60 -o answer -w '%{http_code}' -H 'Content-Type: application/json' "$@" \
            --data-binary "$_body" "$address$_path") || die "curl failed: $_path $_body"
    else
        code=$(curl -sS -m 60 -o answer -w '%{http_code}' "$@" "$address$_path") || die "curl failed: $_path"
    fi
}

# has WORD...: all of them are in the answer.
has() {
    for _word; do
        grep -qF -- "$_word" answer || die "no '$_word' in the answer: $(cat answer)"
    done
}

# good PATH BODY WORD...: status 200 and the words.
good() {
    _p=$1 _b=$2
    shift 2
    ask "$_p" "$_b"
    [ "$code" = 200 ] || die "$_p $_b: status $code: $(cat answer)"
    has "$@"
}

# bad STATUS PATH BODY WORD...: that status, an error object, and the words in it.
bad() {
    _s=$1 _p=$2 _b=$3
    shift 3
    ask "$_p" "$_b"
    [ "$code" = "$_s" ] || die "$_p $_b: status $code and not $_s: $(cat answer)"
    has '"error":' '"message":' "$@"
}

# metric NAME: its value.
metric() {
    ask /metrics
    awk -v name="$1" 'index($0, name) == 1 { print $NF; found = 1; exit } END { if (!found) print "none" }' answer
}

all_end() { # PID...: clients, none of which fails
    for _pid; do
        wait "$_pid" || die 'a client failed'
    done
}

resident() { # kilobytes; what was freed may be given back first
    awk '/^VmRSS/ { print $2 }' /proc/$server/status
}

# eventually NAME VALUE: the metric becomes that within ten seconds.
eventually() {
    for _ in $(seq 100); do
        [ "$(metric "$1")" != "$2" ] || return 0
        sleep 0.1
    done
    die "$1 is $(metric "$1") and not $2"
}
