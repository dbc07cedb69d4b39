#!/bin/sh
# ordered.sh BIN SRC WORK [TARGET SCHEDULE]: the GPTQ checkpoint with its columns grouped at random (reorder.c), as desc_act leaves them,
# is what its weights mean: in the interpreter number by number, and on an emulated GPU.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 target=${4:-gfx942} schedule=${5:-static} work=$3/ordered.${4:-gfx942}.${5:-static}
golden=$bin/../checkpoints/gptq
rm -rf "$work"
mkdir -p "$work/ordered" "$work/plain"
cd "$work"
"$bin/reorder" "$golden/model.safetensors" ordered/model.safetensors plain/model.safetensors
sed 's/"desc_act": false/"desc_act": true/' "$golden/config.json" >ordered/config.json
sed 's/"vocab_size": 256,/"vocab_size": 256/; /"quantization_config"/,/^  }/d' "$golden/config.json" >plain/config.json
! cmp -s "$golden/model.safetensors" ordered/model.safetensors || die "nothing was reordered"

for m in ordered plain; do
    "$bin/etimport" $m -o $m.wide.etg --max-tokens 512 --wide
    "$bin/etinterp" $m.wide.etg --stage graph --in "$golden/golden.safetensors" --weights $m --out $m.safetensors
done
"$bin/etllm" compare --ref plain.safetensors --out ordered.safetensors --tolerance 1e-7
# It is another model than before, or the order would not be looked at.
if "$bin/etllm" compare --ref "$golden/golden.safetensors" --out ordered.safetensors --tolerance 0.1; then
    die "the order makes no difference"
fi

"$bin/etimport" ordered -o ordered.etg
grep -q 'weight wd_order : i32\[F\] = "model.layers.{l}.mlp.down_proj.g_idx"' ordered.etg
"$bin/etcc" ordered.etg --target="$target" --schedule="$schedule" -o ordered.hsaco
"$bin/etllm" score --kernel ordered.hsaco --model ordered --device "emu:$target:cus=8" --chunk 7 \
    --tokens "$golden/golden.safetensors" --out scored.safetensors
"$bin/etllm" compare --ref plain.safetensors --out scored.safetensors --tolerance 1e-2 --gap 0.1

# Groups of another size are told by what they would need.
sed 's/"group_size": 128/"group_size": 64/' ordered/config.json >o.json && mv o.json ordered/config.json
if "$bin/etimport" ordered -o wrong.etg 2>said; then die "groups of another size were taken"; fi
grep -q 'qzeros" has shape' said

# Experts, whose matrices lie one behind the other: the lines for all of them mean of the third what the lines for one do.
mkdir moe
sed '$d' "$bin/../checkpoints/qwen3_moe/config.json" >moe/config.json
cat >>moe/config.json <<'X'
, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 64, "desc_act": true}}
X
"$bin/etimport" moe --config-only -o moe.etg
"$bin/etcc" moe.etg --target="$target" -o moe.hsaco
sizes='const E = 3, F = 16, H = 128'
{
    printf 'model all\n%s\n' "$sizes"
    sed -n '/grouped/d; s/^  \(weight wg_.*\)"model.*experts/\1"x/p; s/^  \(wg[_a-z]* = .*\)/\1/p' moe.etg
    echo 'output y = f32(wg[2])'
} >all.etg
[ "$(grep -c wg all.etg)" -ge 8 ] || die "no lines of experts"
{
    printf 'model third\n%s\n' "$sizes"
    sed -n 's/^  \(weight wq_\)/\1/p; s/^  \(wq[_a-z]* = .*\)/\1/p' moe.etg | sed 's/NH\*D/F/g; s/"model.*q_proj/"x.2.gate_proj/; s/ f16(/ bf16(/' # attention's is f16
    echo 'output y = f32(wq)'
} >third.etg
set --
for e in 0 1 2; do
    x=x.$e.gate_proj word=-2147483648:2147483647
    set -- "$@" "$x.qweight:i32[16,16]:$word" "$x.qzeros:i32[2,2]:$word" "$x.scales:bf16[2,16]:-1:1" "$x.g_idx:i32[128]:0:1"
done
"$bin/etfill" codes.safetensors "$@"
for m in all third; do "$bin/etinterp" $m.etg --weights codes.safetensors --out $m.safetensors; done
cmp all.safetensors third.safetensors
