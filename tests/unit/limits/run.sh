#!/bin/sh
# run.sh ETCC ETINTERP WORK: programs that are long, deep or wide compile, or are refused by a limit that is told.
set -u
etcc=$1 etinterp=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 2
ran=0 failed=0

fail() {
    echo "FAIL $1: $2"
    [ -s err ] && head -c 600 err
    failed=$((failed + 1))
}

# repeat N LINE: the line N times, "%" in it replaced by its number.
repeat() {
    # Without gsub: Debian's awk takes longer for each, the more there were.
    awk -v n="$1" -v line="$2" 'BEGIN {
        parts = split(line, part, /%/)
        for (i = 0; i < n; i++) {
            s = part[1]
            for (k = 2; k <= parts; k++) s = s i part[k]
            print s
        }
    }'
}

# chars N TEXT: the text N times, on one line.
chars() {
    awk -v n="$1" -v text="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s", text }'
}

# passes NAME: NAME goes through all passes on a stack of 1 MiB.
passes() {
    ran=$((ran + 1))
    (ulimit -s 1024 && exec "$etcc" "$1" --to scheduled -o out.eti) 2>err
    status=$?
    [ $status -eq 0 ] || fail "$1" "exit status $status"
}

# codes NAME: NAME becomes code in less than a minute of the processor. What this is for takes a second or two; what was wrong with
# it took longer than anybody waits, by a power of two for each operator.
codes() {
    ran=$((ran + 1))
    (ulimit -t 60 && exec "$etcc" "$1" -o out.hsaco) 2>err
    status=$?
    [ $status -eq 0 ] || fail "$1" "exit status $status"
    rm -f out.hsaco
}

# refused NAME TEXT [COMMAND ...]: the command (etcc NAME -o ...) fails, and says TEXT.
refused() {
    ran=$((ran + 1))
    name=$1 text=$2
    shift 2
    [ $# -gt 0 ] || set -- "$etcc" "$name" -o out.hsaco
    (ulimit -s 1024 && exec "$@") >/dev/null 2>err
    status=$?
    if [ $status -ne 1 ]; then
        fail "$name" "exit status $status, not 1"
    elif ! grep -q "$text" err; then
        fail "$name" "does not say '$text'"
    fi
    ls out.hsaco* >/dev/null 2>&1 && fail "$name" "left a file behind" && rm -f out.hsaco*
}

head='model m
input x : f32[8]'
square='model m
input x : f32[8, 8]'

# A counter for each iteration: the loop is named, whose source has no dims to narrow.
{ echo "$head"; echo 'a = x'; echo 'for l in 0..1000000000 { a = tanh(a) + l }'; echo 'output y = a'; } >loop_long.etg
refused loop_long.etg 'loop_long.etg:4:.*loop l has too many iterations'

# ---- long ----
{ echo "$head"; echo a=x; repeat 12000 'a=relu(a)'; echo output y=a; } >chain.etg
passes chain.etg
{ echo "$head"; echo a=x; repeat 2000 'a=a*a'; echo output y=a; } >squares.etg
passes squares.etg
{ echo "$square"; echo a=x; repeat 2000 'a=a.T'; echo output y=a; } >views.etg
passes views.etg
{ echo "$square"; echo a=x; repeat 200 'a=softmax(a@x)'; echo output y=a; } >products.etg
passes products.etg
{ echo "model m"; echo "input x : i32[8]"; echo a=x; repeat 30 'a=gather(a,a)'; echo output y=a; } >gathers.etg
passes gathers.etg
{ echo "model m"; echo "dim N in 1..64"; echo "input x : f32[N, 8]"; echo a=x
  repeat 10 'a=concat(a,a,axis=0)'; echo output y=a; } >concats.etg
passes concats.etg
{ echo "$square"; echo "state s : f32[8, 8]"; repeat 600 's[%,:]=x[0]' | sed 's/\[\([0-9]*\)\([0-9]\),/[0,/'; } >updates.etg
passes updates.etg
{ echo "$square"; echo a=x; echo 'for l in 0..4 {'; repeat 150 '  a=softmax(a)@x'; echo '}'; echo output y=a; } >body.etg
passes body.etg
{ echo "$square"; echo "def g0(a)=a@a"; awk 'BEGIN { for (i = 1; i <= 8; i++) printf "def g%d(a)=g%d(g%d(a))\n", i, i - 1, i - 1 }'
  echo "output y=g8(x)"; } >defs.etg
passes defs.etg
{ echo "$head"; repeat 5000 'output y%=x+%'; } >outputs.etg
refused outputs.etg 'outputs.etg:4099:.* task 4097 of the program, at most 4096'
{ echo "$head"; echo a=x; repeat 200100 'a=a'; echo output y=a; } >statements.etg
refused statements.etg 'statements.etg:[0-9]*:[0-9]*: error: .*statements'
{ echo "$square"; echo "def g0(a)=a@a"; awk 'BEGIN { for (i = 1; i <= 30; i++) printf "def g%d(a)=g%d(g%d(a))\n", i, i - 1, i - 1 }'
  echo "output y=g30(x)"; } >bomb.etg
refused bomb.etg 'bomb.etg:[0-9]*:[0-9]*: error: the program is too large'

# Chains that become tasks of many steps, each of which reads what the one before it left twice or more.
rows='model m
dim N in 1..64'
{ echo "$rows"; echo 'input x : f32[N, 8]'; echo a=x; repeat 40 'a=softmax(a)'; echo output y=a; } >softmaxes.etg
codes softmaxes.etg
{ echo "$rows"; echo 'input x : f32[N, 64]'; echo 'weight g : f32[64]'; echo a=x; repeat 100 'a=rmsnorm(a, g, eps=1e-5)'; echo output y=a; } >norms.etg
codes norms.etg
{ echo "$rows"; echo 'input x : i32[N]'; echo a=x; repeat 16 'r%, a, o, f = group(a, 7)'; echo output y=a; } >groups.etg
codes groups.etg
{ echo "$rows"; echo 'input x : f32[N, 8]'; echo a=x; repeat 15 'a, e% = topk(a, 8)'; echo output y=a; } >choices.etg
codes choices.etg
# What tasks of many steps leave for one another fits the local memory, however many there are.
{ echo 'model m'; echo 'input x : f32[12, 16]'; echo a=x; repeat 200 'a=reshape(transpose(a, [1, 0]), [12, 16])'; echo output y=a; } >reshapes.etg
codes reshapes.etg

# ---- deep ----
{ echo "$head"; printf 'output y='; chars 5000 '('; printf x; chars 5000 ')'; echo; } >parens.etg
refused parens.etg 'parens.etg:3:[0-9]*: error: expression nested more than'
{ echo "$head"; printf 'output y=x'; chars 5000 '+x'; echo; } >sum.etg
refused sum.etg 'sum.etg:3:[0-9]*: error: expression nested more than'
{ echo "$head"; printf 'output y='; chars 5000 'where(x<0,x,'; printf x; chars 5000 ')'; echo; } >wheres.etg
refused wheres.etg 'wheres.etg:3:[0-9]*: error: expression nested more than'
{ echo "$head"; echo a=x; repeat 300 'for l% in 0..2 {'; echo a=a+1; repeat 300 '}'; echo output y=a; } >loops.etg
refused loops.etg 'loops.etg:[0-9]*:[0-9]*: error: .*loops'
{ echo "$head"; echo "def g0(a)=a+1"; awk 'BEGIN { for (i = 1; i <= 2000; i++) printf "def g%d(a)=g%d(a)+1\n", i, i - 1 }'
  echo "output y=g2000(x)"; } >deepdefs.etg
refused deepdefs.etg 'deepdefs.etg:[0-9]*:[0-9]*: error: functions nested too deeply'
{ echo "eti 1 tiled"; echo "model m"; printf 'input %%x : f32['; chars 5000 '('; printf 8; chars 5000 ')'; echo ']'; } >parens.eti
refused parens.eti 'parens.eti:3:[0-9]*: error: '

# ---- wide ----
{ echo "$head"; printf 'output y=concat(x'; chars 5000 ',x'; echo ',axis=0)'; } >arguments.etg
refused arguments.etg 'arguments.etg:3:[0-9]*: error: more than 64 items'
{ echo "model m"; printf 'input x : f32[1'; chars 40 ',1'; echo ']'; echo 'output y=x'; } >rank.etg
refused rank.etg 'rank.etg:2:[0-9]*: error: .*dimensions'
{ echo "model m"; printf 'input '; chars 5000 n; echo ' : f32[8]'; } >name.etg
refused name.etg 'name.etg:2:[0-9]*: error: .*255'
{ echo "model m"; repeat 70 'dim N% in 1..8'; echo 'input x : f32[8]'; echo 'output y=x+N69'; } >dims.etg
refused dims.etg 'dims.etg:[0-9]*:[0-9]*: error: .*one dim too many: at most 64'

# ---- in little memory: a message, and no file left behind ----
if [ "${ETCC_SANITIZED-}" = "" ]; then
    { echo "$square"; echo a=x; repeat 40 'a=a@x'; echo output y=a; } >small.etg
    seen=0
    for limit in 220000 260000 300000; do
        (ulimit -v "$limit" && exec "$etcc" small.etg -o out.hsaco) >/dev/null 2>err
        status=$?
        [ $status -gt 1 ] && [ $status -ne 127 ] && fail "memory $limit" "exit status $status"
        grep -q 'error: out of memory' err && seen=$((seen + 1))
        rm -f out.hsaco
    done
    ran=$((ran + 1))
    [ $seen -gt 0 ] || fail memory "no limit was told as one"
    (ulimit -v 300000 && exec "$etinterp" chain.etg --out out.st) >/dev/null 2>err
    [ $? -le 1 ] || fail "memory etinterp" "ended by a signal"
fi

echo "$ran programs, $failed failed"
[ $failed -eq 0 ]
