#!/bin/sh
# features.sh BIN SRC WORK: each feature that etcc --without leaves out changes the code of some model, and what an emulated GPU
# computes without it is what the graph interpreter does. One that is new needs a line below.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
cd "$work"
refuses 2 'did you mean stream? Else write stream|prefetch|' "$bin/etcc" rows.etg -o rows.hsaco --without=strem
refuses 2 "'order' is named twice" "$bin/etcc" rows.etg -o rows.hsaco --without=order,again,order
"$bin/etcc" --list-features > features
tried=

# changes FEATURE MODEL.etg OPTION...: other LLVM IR
changes() {
    feature=$1 model=$2
    shift 2
    tried="$tried $feature"
    "$bin/etcc" "$model" "$@" --emit-llvm=with.ll || die "$model"
    "$bin/etcc" "$model" "$@" --without="$feature" --emit-llvm=without.ll || die "$model without $feature"
    ! cmp -s with.ll without.ll || die "$model is the same without $feature"
}

# runs FEATURE MODEL.etg OPTION...: and the same results
runs() {
    changes "$@"
    shift 2
    "$bin/etcc" "$model" "$@" --without="$feature" -o without.hsaco
    "$bin/check_kernel" "$model" without.hsaco --runs 1 --device emu:gfx942:cus=3 || die "$model without $feature"
}

cat > rows.etg << 'X'
model rows
dim N in 1..2
input x : f32[N, 256]
weight g : bf16[256]
weight w : bf16[1000, 256]
h = rmsnorm(x, g, eps=1e-5) @ w.T
output y : f32[N, 1000] = h
output z : f32[N, 1000] = softmax(h)
X
runs order rows.etg --variants=1
runs again rows.etg --variants=1

# And all of it at once.
"$bin/etcc" rows.etg --without="$(cut -d' ' -f1 features | paste -sd, -)" -o none.hsaco
"$bin/check_kernel" rows.etg none.hsaco --runs 1 --device emu:gfx942:cus=3 || die 'rows without anything'

cat > many.etg << 'X'
model many
dim N in 400..500
input x : bf16[N, 256]
weight w : bf16[512, 256]
output y : f32[N, 512] = x @ w.T
X
sed 's/^cus .*/cus 2/; s/^dies .*/dies 1/; s/^event_us .*/event_us 200/; s/^hbm_gbs .*/hbm_gbs 100/' \
    "$src/passes/machines/mi300x.machine" > two.machine
runs pipeline many.etg --variants=1 --machine=./two.machine
changes warpgroup many.etg --variants=1 --machine=H100
cat > bulk.etg << 'X'
model bulk
dim N in 400..500
input x : f32[N, 2048]
weight w : bf16[8192, 2048]
h = bf16(softmax(x))
output y : f32[N, 8192] = h @ w.T
X
changes boxes bulk.etg --variants=1 --machine=H100 --unstreamed
cat > sent.etg << 'X'
model sent
input x : bf16[8192, 64]
weight u : bf16[2048, 64]
weight d : bf16[4096, 2048]
weight g : f32[4096]
weight v : bf16[4096, 4096]
output y : f32[8192, 4096] = bf16(rmsnorm(bf16(x @ u.T) @ d.T, g, eps=1e-5)) @ v.T
X
changes apart sent.etg --variants=1 --machine=H100 --devices=2
changes stream_many "$src/tests/targets/gpus/slots.etg" --variants=1 --machine=H100
cat > turned.etg << 'X'
model turned
input x : bf16[1, 512]
weight w : bf16[512, 512]
output y : f32[1, 512] = x @ w
X
cat > halves.etg << 'X'
model halves
input x : bf16[1, 1024]
weight w : e4m3[1024, 1024]
weight scale : f32[1024]
output y : f32[1, 1024] = x @ bf16(w * reshape(scale, [1024, 1])).T
X
changes relaid turned.etg --variants=1
changes f16 halves.etg --variants=1 --machine=H100
changes row_packed halves.etg --variants=1 --machine=H100
runs unscaled halves.etg --variants=1

# What tests/passes/pipeline/split.sh cuts.
sed 's/^cus .*/cus 64/; s/^dies .*/dies 1/; s/^event_us .*/event_us 0.02/; s/^release_us .*/release_us 0.01/
    s/^acquire_us .*/acquire_us 0.01/; s/^latency_us .*/latency_us 0.02/' "$src/passes/machines/mi300x.machine" > free.machine
runs split_k "$src/tests/passes/pipeline/split.etg" --variants=1 --machine=./free.machine
cat > router.etg << 'X'
model router
dim N in 1..1
input scores : f32[N, 64]
input x : bf16[N, 64]
weight up : bf16[64, 32, 64]
w, expert = topk(softmax(scores), 4)
v = w / sum(w, keep=1)
rows, place, owner, first = group(expert, 64)
output h = grouped(gather(x, idiv(rows, 4)), up, owner)
output o = v * f32(place)
X
runs join router.etg
runs positions "$src/tests/passes/pipeline/attend_parts.etg" --variants=1
runs angles "$src/tests/unit/import/llama.etg" --variants=1

# Streams, which no emulator has.
cat > stream.etg << 'X'
model stream
dim N in 1..4
weight g : bf16[2048]
weight w : bf16[4, 8192, 2048]
weight v : bf16[4, 2048, 8192]
input x : f32[N, 2048]
y = x
for l in 0..4 {
  y = y + (rmsnorm(y, g, eps=1e-5) @ w[l].T) @ v[l].T
}
output z : f32[N, 2048] = y
X
sed 's/^prefetch_kb .*/prefetch_kb 0/; s/^hbm_gbs .*/hbm_gbs 6000/' "$src/passes/machines/h100.machine" > calm.machine
changes calm stream.etg --machine=./calm.machine
for feature in stream prefetch auxiliary single once double_buffered; do
    changes $feature stream.etg --machine=H100
done

while read -r feature _; do
    case " $tried " in *" $feature "*) ;; *) die "$feature is not tried here" ;; esac
done < features
echo "$(wc -l < features) features, left out one by one"
