#!/bin/sh
# Two models in a kernel that has several tilings, by a dim of one of them, static and dynamic: what the interpreter computes, and the
# same workgroups for a model in every tiling.
. "$(dirname "$0")/lib.sh"
e=$src/examples
"$bin/etcc" "$e/mlp/mlp.etg" "$e/moe/moe.etg" --variants=3 --to=scheduled -o mix.eti
[ "$(grep -c '^variant moe.N up to' mix.eti)" -ge 2 ] || die "no variants by moe.N: $(grep ^variant mix.eti)"
[ "$(grep '^part moe ' mix.eti | sort -u | wc -l)" = 1 ] || die "moe has other workgroups somewhere: $(grep '^part' mix.eti)"
"$bin/etcc" mix.eti -o static.hsaco
"$bin/etcc" "$e/mlp/mlp.etg" "$e/moe/moe.etg" --variants=3 --schedule=dynamic -o dynamic.hsaco
"$bin/etcc" mix.eti --to=scheduled -o again.eti
cmp mix.eti again.eti
"$bin/etcc" "$e/mlp/mlp.etg" "$e/moe/moe.etg" --to=graph -o graph.eti
if [ -n "${ETCC_LONG-}" ]; then # of one model and one variant it is the tests' targets_list
    "$bin/etcc" "$e/mlp/mlp.etg" "$e/moe/moe.etg" --variants=3 --target=gfx1100,gfx942 -o two.hsaco
    "$bin/etcc" "$e/mlp/mlp.etg" "$e/moe/moe.etg" --variants=3 --target=gfx942 -o one.hsaco
    cmp two.gfx942.hsaco one.hsaco || die 'another kernel after one for another target'
fi

# A large launch has a tiling of its own: one for up to 1024 rows cuts the product's k for all CUs, which more rows fill anyway.
cat > large.etg << 'ETG'
model large
dim N in 1..2048
weight w : bf16[2048, 8192] = "w"
input x : bf16[N, 8192]
output y = x @ w.T
ETG
"$bin/etcc" large.etg --machine=H100 --variants=12 --to=scheduled -o large.eti
grep -q '^variant N up to 1024 ' large.eti || die "none for the largest launches: $(grep '^variant' large.eti)"

"$bin/etfill" w.safetensors --seed 3 'layer1.weight:bf16[101,37]:-1:1' 'layer1.bias:f32[101]:-1:1' 'norm.weight:f32[101]:-1:1' \
    'norm.bias:f32[101]:-1:1' 'layer2.weight:bf16[67,101]:-1:1' 'layer2.bias:bf16[67]:-1:1' 'layer3.weight:f32[11,67]:-1:1' \
    'router:f32[8,64]:-1:1' 'gate:bf16[8,96,64]:-1:1' 'up:bf16[8,96,64]:-1:1' 'down:bf16[8,64,96]:-1:1'
for n in 1 ${ETCC_LONG:+2 7} 100; do
    "$bin/etfill" in.safetensors --seed $n 'mlp.x:f32[5,37]:-1:1' "moe.x:f32[$n,64]:-1:1"
    "$bin/etinterp" graph.eti --weights w.safetensors --set mlp.N=5 --set moe.N=$n --in in.safetensors --out want.safetensors
    for how in static dynamic; do
        "$bin/etrun" $how.hsaco --device emu:gfx942:cus=8:xcds=2:coherence=model:seed=$n --weights mlp=w.safetensors --weights moe=w.safetensors \
            --dim mlp.N=5,moe.N=$n --in in.safetensors --out both.safetensors > said
        "$bin/etsame" want.safetensors both.safetensors 1e-3
        "$bin/etrun" $how.hsaco --device emu:gfx942:cus=3 --only moe --weights moe=w.safetensors --dim moe.N=$n --in in.safetensors \
            --out one.safetensors > said
        "$bin/etsame" one.safetensors both.safetensors 0
    done
done
