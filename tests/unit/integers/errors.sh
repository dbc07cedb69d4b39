#!/bin/sh
# errors.sh ETCC FOLDER: integers without a value at some dims are told, with the expression and the dims.
set -u
etcc=$1 dir=$2 failed=0
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir" || exit 2

# refused FILE MESSAGE
refused() {
    "$etcc" "$1" -o out.hsaco 2>err
    status=$?
    [ $status = 1 ] && grep -qF -- "error: $2" err && return
    echo "$(tail -n +2 "$1"): status $status, not '$2' but"
    cat err
    failed=1
}

# eti EXPRESSION MESSAGE: an index of a tiled program. k comes from a tensor.
eti() {
    cat >x.eti <<EOF
eti 1 tiled
model m
dim N in 1..64
dim M in 1..2000000000
input %x : f32[N]
input %k : i32[N]
output %y : f32[N]
func @f [i < N] {
  map []
    %y[i] = f32($1)
}
schedule {
  task @f
}
EOF
    if [ "$2" ]; then
        refused x.eti "$2"
    elif ! "$etcc" x.eti -o out.hsaco 2>err; then
        echo "$1: refused"
        cat err
        failed=1
    fi
}

# etg EXPRESSION MESSAGE: a value of a model
etg() {
    printf 'model m\ndim N in 1..64\ninput k : i32[N]\noutput y = %s\n' "$1" >x.etg
    refused x.etg "$2"
}

eti 'i % (N - 4)' 'a division by zero: N - 4 is 0 where N = 4'
eti 'i / i' 'a division by zero: i is 0 where i = 0, N = 1'
eti 'i % (M - 1999)' 'a division by zero: M - 1999 is 0 where M = 1999'
eti 'i / (N * 3 - M)' 'a division by zero: N * 3 - M is 0 where N = 1, M = 3'
eti 'i / (N - N)' 'a division by zero'
eti '(N + M) % (N * 4 - M * 8 + 1)' 'the divisor N * 4 - M * 8 + 1 cannot be shown never to be 0'
eti 'M * M * M * M % 7' 'an integer that may leave 64 bits'
eti 'i % (N - 65)' ''
eti 'i / (N - N / 2)' ''
eti '%k[i] / %k[0] % (%k[i] - N)' ''
eti 'i % (N * 2 - 5)' ''
etg 'idiv(k, N - 4)' 'division by zero: the divisor N - 4 is 0 where N = 4'
etg 'iota(8 + 7 / (N - 5))' 'division by zero: the divisor N - 5 is 0 where N = 5'
etg 'iota(7) + i32(N * 100000000)' 'this integer may not fit i32: it is from 100000000 to 6400000000'
exit $failed
