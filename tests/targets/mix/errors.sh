#!/bin/sh
# What cannot be: on the command lines, in .eti, of the runtime.
. "$(dirname "$0")/lib.sh"
e=$src/examples
mlp=$e/mlp/mlp.etg moe=$e/moe/moe.etg

refuses 1 'there is no model of that name' "$bin/etcc" "$mlp" "$moe" --weight=mlpp=2 -o x.hsaco
printf '%s' "$refused" | grep -qF 'there is moe' || die 'the models are not listed'
refuses 1 'a second time for this model' "$bin/etcc" "$mlp" "$moe" --weight=mlp=2 --weight=mlp=3 -o x.hsaco
refuses 1 'write MODEL=NUMBER' "$bin/etcc" "$mlp" "$moe" --weight=mlp=0 -o x.hsaco
refuses 2 'write MODEL=W' "$bin/etcc" "$mlp" "$moe" --weight=mlp -o x.hsaco
refuses 1 'several models' "$bin/etcc" "$mlp" --weight=mlp=2 -o x.hsaco
refuses 1 'No such file' "$bin/etcc" "$mlp" missing.etg -o x.hsaco
printf 'model broken\noutput y = x\n' > broken.etg
refuses 1 'broken.etg:2:12' "$bin/etcc" "$mlp" broken.etg -o x.hsaco
cp "$moe" copy.etg
refuses 1 'would replace the input' "$bin/etcc" "$mlp" copy.etg -o copy.etg
"$bin/etcc" "$mlp" --to=graph -o one.eti
refuses 1 'given as .etg' "$bin/etcc" "$moe" one.eti -o x.hsaco
set --
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do
    set -- "$@" "$mlp"
done
refuses 1 '17 models' "$bin/etcc" "$@" -o x.hsaco
[ ! -e x.hsaco ] || die 'a file was left after an error'

# .eti: what is one model's is not another's.
eti() { # WORDS, then the text on standard input
    cat > bad.eti
    refuses 1 "$1" "$bin/etcc" bad.eti --to=scheduled -o x.eti
}
head='eti 1 tiled
model mix
part a
part b
dim a.N in 1..8
dim b.N in 1..8
input %a.x : f32[a.N]
output %a.y : f32[a.N]
output %b.y : f32[b.N]'
body() { # TENSOR DIM FUNC
    printf 'func %s [i < %s] {\n map []\n %%a.y[i] = %s\n}\n' "$3" "$2" "$1"
}
{ echo "$head" && body '%b.y[i]' a.N @a.f; } | eti "'b.y' is not of model a"
{ echo "$head" && body '%a.x[i]' b.N @a.f; } | eti "'b.N' is not of model a"
{ echo "$head" && body '%a.x[i]' a.N @f; } | eti "does not begin with the name of a model"
{ echo "$head" && body '%a.x[i]' a.N @b.f; } | eti "is not of model b"
printf 'eti 1 tiled\nmodel one\ninput %%a.x : f32[4]\n' | eti 'of a model that is not declared'
printf 'eti 1 tiled\nmodel one\npart a\npart a\n' | eti 'declared twice'
printf 'eti 1 tiled\nmodel one\npart a weight 0\n' | eti 'a weight is above 0'
printf 'eti 1 tiled\nmodel one\npart a range [0.5, 0.25]\n' | eti 'a range is a part'
printf 'eti 1 tiled\nmodel one\ndim N in 1..4\npart a\n' | eti 'before anything they have'

# The runtime.
"$bin/etcc" "$mlp" "$moe" -o mix.hsaco
run() {
    "$bin/etrun" mix.hsaco --device emu:gfx942:cus=4 "$@"
}
"$bin/etfill" w.st --seed 1 'layer1.weight:bf16[101,37]:-0.3:0.3' 'layer1.bias:f32[101]:-0.5:0.5' \
    'norm.weight:f32[101]:0.5:1.5' 'norm.bias:f32[101]:-0.5:0.5' 'layer2.weight:bf16[67,101]:-0.3:0.3' \
    'layer2.bias:bf16[67]:-0.5:0.5' 'layer3.weight:f32[11,67]:-0.3:0.3'
"$bin/etfill" in.st --seed 2 'mlp.x:f32[3,37]:-2:2'
refuses 1 'no model mpl' run --weights mpl=w.st
refuses 1 'name the one' run --weights w.st
refuses 1 'no model x' run --only mlp,x
refuses 1 'has no dim N' run --set N=3
refuses 1 'the weights of model moe are not loaded' run --weights mlp=w.st --dim mlp.N=3 --in in.st
refuses 1 'the weights of model mlp are not loaded' run --only mlp --dim mlp.N=3
refuses 1 'dim mlp.N (1..33) is not set' run --only mlp --weights mlp=w.st
refuses 1 'input mlp.x is not bound' run --only mlp --weights mlp=w.st --dim mlp.N=3
run --only mlp --weights mlp=w.st --dim mlp.N=3 --in in.st > out.txt
grep -q '^mlp.scores: f32\[3, 11\] =' out.txt || die "no output: $(cat out.txt)"
! grep -q '^moe' out.txt || die 'outputs of a model that did not run'
"$bin/etfill" both.st --seed 2 'mlp.x:f32[3,37]:-2:2' 'moe.x:f32[3,7]:-2:2'
run --only mlp --weights mlp=w.st --dim mlp.N=3 --in both.st > both.txt 2> note.txt
cmp both.txt out.txt || die 'inputs of a model that does not run change another'
grep -q '1 tensors of models that do not run are not used' note.txt || die 'no note of inputs that are not used'
"$bin/etrun" mix.hsaco --list | grep -q '^  model  moe on ' || die 'no list of models'
