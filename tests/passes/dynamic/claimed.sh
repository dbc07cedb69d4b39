#!/bin/sh
# claimed.sh BIN SRC WORK: which tasks of a layer of experts a hybrid schedule has claimed, and that the simulator sees what
# that is worth where scores are skewed; and that a kernel of claimed tasks comes to its end on every emulated GPU.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 layer=$2/bench/models/qwen3-30b-a3b/layer.etg
fresh "$3"
of() { # N SCHEDULE: the tasks that are claimed
    sed "s/^\\(dim N in\\) .*/\\1 $1..$1/" "$layer" > layer.etg
    "$bin/etcc" layer.etg --machine=H100 --variants=1 --schedule="$2" --to=scheduled -o layer.eti 2> said
    sed -n 's/^ *task @\([a-z_.]*\) .* order claimed\( behind [0-9]*\)\{0,1\}$/\1/p' layer.eti | tr '\n' ' '
}
test -z "$(of 1024 static)"
test "$(of 1024 hybrid)" = 'h y out '
grep -q 'task @y .* order claimed behind [1-9]' layer.eti # block by block in turn with h
# Weights of blocks of 128 rows and more come as boxes where tiles are claimed, and nowhere else.
test -z "$(of 4096 static)"
grep -q ' boxes' layer.eti && die 'boxes where none are claimed'
of 4096 claimed | grep -q 'h y'
test "$(grep -c ' boxes weights' layer.eti)" = 2
of 1024 claimed | grep -q 'h y out'
grep -q '^schedule claimed' layer.eti
# Not what streams: its producer has to know who runs what.
grep -q 'streamed$' layer.eti && die 'a stream where none was expected'
of 128 claimed | grep -q out
grep -q 'task @y .* streamed' layer.eti
# A hybrid has either: a stream where it is predicted to be faster, and no other tiling then.
test -z "$(of 16 hybrid)"
grep -q 'task @y .* streamed' layer.eti
test "$(of 128 hybrid)" = 'h y '
grep -q 'streamed$' layer.eti && die 'a stream where none was expected'
test "$(of 256 hybrid)" = 'h y '

# A queue for attention, whose tiles have more or fewer positions, would leave no task to be claimed: all are, by prediction,
# unless the source asks for the queue.
model=${layer%/*}
sed 's/\("num_hidden_layers":\) [0-9]*/\1 2/' "$model/config.json" > config.json
"$bin/etimport" . --config-only --name=m --slots 1 --context 1088 --max-tokens 1024 -o prompt.etg > said 2>&1
prompt() { # MODEL
    sed 's/^\(dim N in\) .*/\1 1024..1024/' "$1" > one.etg
    "$bin/etcc" one.etg --machine=H200 --variants=1 --schedule=hybrid --to=scheduled -o prompt.eti 2> said
}
prompt prompt.etg
grep -q 'task @experts.down .* order claimed behind' prompt.eti
grep -q ' dynamic$' prompt.eti && die 'a queue where claims are predicted to be better'
sed 's/^\( *\)\(a = attention\)/\1@dynamic\n&/' prompt.etg > asked.etg
prompt asked.etg
grep -q 'task @a .* dynamic$' prompt.eti || die 'no queue where one is asked for'

# Who claims is busy to the end: predicted, with scores by chance.
of 1024 static > /dev/null
"$bin/etfill" scores.safetensors 'scores:f32[1024,128]:-1:1'
"$bin/etbench" layer.etg --schedule=static,hybrid --variants=1 --target=sm_90 --machine=H100 --device=none --no-unfused \
    --input scores=scores.safetensors --quiet --json=times.json
awk -F '[:,]' '/"us":/ { us[++n] = $2 }
    END { if (n != 2 || !(us[2] < us[1] * 0.995)) { print "predicted: static", us[1] ", claimed", us[2]; exit 1 } }' times.json

# One work-item tells the others what it claimed: none of its wave may be past that, or it waits for ever.
cat > claimed.etg << X
model claimed
dim N in 1..64
input a : f32[N, 257]
output most = max(a)
output more = a + 1
X
for target in gfx90a gfx942 gfx950 gfx1100 gfx1201; do
    "$bin/etcc" claimed.etg --target=$target --schedule=claimed -o claimed.hsaco
    timeout 60 "$bin/check_kernel" claimed.etg claimed.hsaco --device emu:$target:cus=4 > said || die "$target: $? $(cat said)"
done
