#!/bin/sh
# broken_wait.sh ETCC ETRUN ETFILL FOLDER: a wait that can never be satisfied ends in an error that
# names everything, in the time it was given; an intact kernel of the same model runs after it.
set -eu
etcc=$1 etrun=$2 etfill=$3 dir=$4/broken_wait
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
cat >m.etg <<'X'
model m
dim N in 1..32
weight w : bf16[64, 64] = "w"
input x : f32[N, 64]
y = relu(x @ w.T)
output z = y @ w.T
X
"$etfill" w.safetensors 'w:bf16[64,64]:-1:1'
"$etfill" x.safetensors 'x:f32[5,64]:-1:1'
"$etcc" m.etg -o good.hsaco
if "$etcc" m.etg -o bad.hsaco --break-event=nosuch 2>err; then exit 1; fi
grep -q "there is no event 'nosuch' to break" err
grep -q "there is y" err
"$etcc" m.etg -o bad.hsaco --break-event=y
status=0
"$etrun" bad.hsaco --set N=5 --in x.safetensors --weights w.safetensors --out z.safetensors \
    --device emu:gfx942:cus=4:xcds=2 --wait-limit 0.2 2>err || status=$?
test "$status" = 1
cat err
test ! -e z.safetensors
for word in 'workgroup' 'task z' 'event y' ; do grep -q "$word" err; done
"$etrun" good.hsaco --set N=5 --in x.safetensors --weights w.safetensors --out z.safetensors \
    --device emu:gfx942:cus=4:xcds=2
test -s z.safetensors
