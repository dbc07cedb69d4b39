#!/bin/sh
# widths.sh BIN CHECK_KERNEL WORK SOURCE: variants by the workgroups of a launch. A launch runs the first variant that suits it,
# which a text tells whose variants give other numbers; what etcc makes for several widths computes what the program means at
# each width and between them.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 check=$2 work=$3 source=$4
fresh "$work"

# ---- which variant runs
head='dim N in 1..64
output %y : f32[N]'
variant() { # FROM TO VALUE BOUNDS
    echo "variant $4 {
eti 1 fused
model chosen
dim N in $1..$2
output %y : f32[N]
group @y [i < N] {
  %y[i] = $3.0
}
schedule {
  group @y
}
}"
}
{
    printf 'eti 1 fused\nmodel chosen\n%s\n' "$head"
    variant 1 4 1 "N up to 4 on 1..2"
    variant 5 64 2 "N up to 64 on 1..2"
    variant 1 16 3 "N up to 16 on 4..5"
    variant 17 64 4 "N up to 64 on 4..5"
    variant 1 64 5 "N up to 64"
} > chosen.eti
"$bin/etcc" chosen.eti --to fused -o again.eti
"$bin/etcc" again.eti --to fused -o more.eti
cmp again.eti more.eti
for said in "N up to 4 on 1..2" "N up to 64 on 4..5" "N up to 64"; do grep -q "^variant $said {" again.eti; done
"$bin/etcc" chosen.eti -o chosen.hsaco
while read -r n w value; do
    "$bin/etrun" chosen.hsaco --set N="$n" --workgroups "$w" --device emu:gfx942:cus=6 --out y.safetensors
    told=$(tail -c 4 y.safetensors | od -An -f | tr -d ' ')
    [ "$told" = "$value" ] || die "N=$n on $w workgroups is $told, not $value"
done << 'ALL'
1 1 1
4 2 1
5 2 2
64 1 2
4 3 5
64 3 5
4 4 3
16 5 3
17 4 4
64 5 4
1 6 5
64 6 5
ALL
# NVIDIA's code has a kernel for each; libetrt reads which of them a launch runs.
"$bin/etcc" chosen.eti --target=sm_90 --emit-llvm chosen.ll
for name in chosen chosen_64_on_2 chosen_16_on_5 chosen_64_on_5 chosen_64; do
    grep -q "@$name(" chosen.ll || die "no kernel $name"
done

# ---- what etcc makes
sed 's/^cus .*/cus 8/; s/^dies .*/dies 1/' "$source/passes/machines/mi300x.machine" > small.machine
made=0
for f in "$source/tests/targets/e2e/usual_pad.etg" "$source/tests/passes/pipeline/segments.etg"; do
    for how in "" --resident --schedule=kernels; do
        "$bin/etcc" "$f" --machine=./small.machine --widths=2,4 $how -v -o made.hsaco 2> said
        for most in 2 4; do
            grep -q "variant.* on $most to $most workgroups" said || die "$f $how: no variant for $most"
        done
        dim=$(sed -n 's/^dim \([A-Za-z]*\) in .*/\1/p' "$f" | head -1)
        hi=$(sed -n 's/^dim [A-Za-z]* in [0-9]*\.\.\([0-9]*\).*/\1/p' "$f" | head -1)
        "$check" "$f" made.hsaco --runs 1 --set "$dim=1" --set "$dim=$hi" --workgroups 1 --workgroups 2 --workgroups 3 --workgroups 4 \
            --workgroups 8 --device emu:gfx942:cus=8 > told || { cat told; die "$f $how"; }
        made=$((made + 1))
    done
done
[ $made = 6 ]

# ---- what is refused
refuse() { # TEXT OPTION...
    text=$1
    shift
    ! "$bin/etcc" "$@" -o none.hsaco 2> said || die "$* is accepted"
    grep -q -- "$text" said || { cat said; die "$*: not told: $text"; }
    [ ! -e none.hsaco ]
}
f=$source/tests/targets/e2e/usual_pad.etg
refuse "--widths: 8 are not fewer CUs than the 8" "$f" --machine=./small.machine --widths=8
refuse "as many on each of its 8 dies" "$f" --machine=MI300X --widths=9
refuse "more than 12" "$f" --machine=./small.machine --widths=2,4,6 --variants=3
refuse "past stage graph" chosen.eti --machine=./small.machine --widths=2
refuse "each has its part" "$f" "$source/tests/passes/pipeline/segments.etg" --machine=./small.machine --widths=2
for wrong in 4,2 0 2, x 1,2,3,4; do
    ! "$bin/etcc" "$f" --machine=./small.machine --widths=$wrong -o none.hsaco 2> said || die "--widths=$wrong is accepted"
done
