#!/bin/sh
# explain.sh ETCC SOURCE FOLDER GLPK(ON|OFF): etcc --explain as text, and what -v says of placement.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
etcc=$1 source=$2 folder=$3 glpk=$4
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

says() { # FILE WORDS...
    file=$1
    shift
    for words in "$@"; do
        grep -qe "$words" "$file" || { cat "$file" >&2; die "no '$words' in $file"; }
    done
}
refuses() { # WORDS OPTION...
    words=$1
    shift
    if "$etcc" "$@" > said 2>&1; then die "etcc $* was expected to fail"; fi
    says said "$words"
}
# The parts of the time are all of it; no line is too long; every section that the stage has is there.
whole() { # FILE SECTION...
    file=$1
    shift
    for section in "$@"; do says "$file" "^$section"; done
    says "$file" 'is predicted' 'none is measured'
    awk -v file="$file" '
        length($0) > 100 && $0 ~ /[^ ] +[^ ]/ { print file ": " $0; bad = 1 }
        /What the time at/ { parts = 1; sum = 0; next }
        parts && (/^  [ 0-9][0-9]\. / || /^   -  /) {
            for (i = 1; i < NF; i++) if ($(i + 1) == "%") { sum += $i; break }
        }
        parts && /The same tiles with another schedule/ {
            if (sum < 99 || sum > 101) { print file ": parts add up to " sum " %"; bad = 1 }
            parts = 0; n++
        }
        END { exit bad }' "$file" || die "$file: see above"
}
all='TIME FUSION TILES EVENTS PLACEMENT'

e=$source/examples
for name in mlp encoder moe ragged; do
    "$etcc" "$e/$name/$name.etg" --explain > $name.txt
    "$etcc" "$e/$name/$name.etg" --explain=- > again.txt
    cmp $name.txt again.txt
    whole $name.txt $all
    says $name.txt 'What the time at' 'hint: ' 'all 304 CUs' 'with a tensor for everything'
done
says mlp.txt 'For MI300X, 304 CUs' 'layer2: 16 x 16 elements of layer2' 'layernorm (line 20) is computed where'
for name in pipeline experts splitk; do
    "$etcc" "$e/eti/$name.eti" --explain > $name.txt
    whole $name.txt $all
done
says experts.txt 'cannot be played'

# Models that share the kernel, and why each has what it has.
"$etcc" "$e/mlp/mlp.etg" "$e/moe/moe.etg" --weight=moe=2 --explain > mix.txt
whole mix.txt $all
! grep -q slices mix.txt || "$etcc" "$e/mlp/mlp.etg" "$e/moe/moe.etg" --slices=auto --to=placed -o placed.eti ||
    die 'a hint that mixes cannot follow'
says mix.txt 'moe gets [0-9]* CUs' 'its time counts 2 times' 'because: ' '(taken)' 'weight=mlp=2'
"$etcc" "$e/mlp/mlp.etg" "$e/moe/moe.etg" --placement=all --explain > one_by_one.txt
says one_by_one.txt 'mlp gets 304 CUs' 'All share all CUs' 'placement=all'
"$etcc" "$e/mlp/mlp.etg" "$e/moe/moe.etg" --schedule=dynamic --explain > queued.txt
"$etcc" "$e/mlp/mlp.etg" --schedule=kernels --explain > kernels.txt
says kernels.txt 'Schedule: kernels, a launch is a kernel for each task'
! grep -q slices queued.txt || die 'a hint that queues cannot follow'
says queued.txt 'Schedule: dynamic' 'cannot be played (dynamic tasks of several models'
"$etcc" "$source/tests/passes/pipeline/ranges.etg" --explain > ranges.txt
says ranges.txt 'of these, only' '(ranges)'
"$etcc" "$e/mlp/mlp.etg" --machine=rx7900xtx --explain > one_die.txt
says one_die.txt '96 CUs in 1 die '

# With the integer program, what it found and how far that may be from the best; without it, that it is missing.
"$etcc" "$e/mlp/mlp.etg" "$e/moe/moe.etg" -v --to=placed -o placed.eti 2> told.txt
if [ "$glpk" = ON ]; then
    says told.txt 'placement: .* us predicted; program: objective [0-9.]* us, LP bound [0-9.]* us, gap [0-9.]* %, [0-9]* plans, [0-9]* nodes.*; [0-9.]* s$'
    says mix.txt 'The integer program, ' 'objective [0-9.]* us' 'gap [0-9.]* %'
else
    says told.txt 'built without GLPK' 'placement: .* us predicted; [0-9.]* s$'
    "$etcc" "$e/moe/moe.etg" --to=placed -o placed.eti 2> told.txt
    says told.txt 'built without GLPK'
fi

# Quantised weights: (c - 8) * g is five operations for half a byte, with one of g, converted from f16, for 64 of c and 1/32 byte each;
# q * s three for a byte, with 4/128 byte; four tiles of rows read each weight at the largest N. Without such weights there is no such section.
cat > quantised.etg << 'END'
model codes
dim N in 1..64
const F = 1024, H = 1024
input x : bf16[N, H]
weight c : u4[F, H]
weight g : f16[F, H / 64]
weight q : e4m3[H, F]
weight s : f32[H, F / 128]
z = relu(x @ bf16((c - 8) * gather(g.T, idiv(iota(H), 64)).T).T)
output y = z @ bf16(q * gather(s.T, idiv(iota(F), 128)).T).T
END
"$etcc" quantised.etg --explain --variants=1 > quantised.txt
whole quantised.txt $all QUANTISED
says quantised.txt 'u4 of c, f16 of g for 64; 0.531 bytes and 5.02 operations a weight: 9.44 a byte, 50 % of 19$' \
    'e4m3 of q, f32 of s for 128; 1.03 bytes and 3 operations a weight: 2.91 a byte, 15 % of 19$' \
    'vector units do at most 19 operations' 'With -o, ' 'N = 64: in 4 tiles of rows each: 37.8 a byte'
! grep -q 'machine code: ' quantised.txt || die 'machine code where none was made'
! grep -q '^QUANTISED' mlp.txt || die 'quantised weights where there are none'

# A loop's iterations, and a kernel with several tilings.
"$etcc" "$source/tests/unit/import/stories-llama.etg" --explain > llama.txt
whole llama.txt $all
says llama.txt 'In each of the 4 iterations of l' '4 runs of' '^  x  *(line [0-9]*) map' 'hint: --slices=auto'
! grep -q 'holds no value' llama.txt || die 'slices where there are none'
cat > tall.etg << 'END'
model tall
dim N in 1..4096
input x : bf16[N, 4096]
weight a : bf16[4096, 4096] = "a"
weight b : f32[64, 4096] = "b"
h = relu(x @ a.T)
output y : f32[N, 64] = h @ b.T
END
"$etcc" tall.etg --explain > tall.txt
whole tall.txt $all
says tall.txt '======== N in 1\.\.' 'variants, chosen at launch' 'bound by memory' 'bound by the matrix units'

# What the program says at each stage, from text of each stage.
"$etcc" "$e/mlp/mlp.etg" --to=graph -o graph.eti
for stage in fused tiled evented placed scheduled; do
    "$etcc" graph.eti --to=$stage -o $stage.eti --explain=$stage.txt
    says $stage.txt '^FUSION' 'layernorm'
    mv $stage.txt to_$stage.txt
    "$etcc" $stage.eti --explain > from_$stage.txt
    whole from_$stage.txt $all
done
for file in to_fused.txt to_tiled.txt to_evented.txt to_placed.txt; do says $file 'at stage'; done
! grep -q '^TILES' to_fused.txt || die 'tiles before there are any'
whole to_placed.txt $all

# A hint does what it says: half the tile, twice the tiles.
cat > wide.etg << 'END'
model wide
dim N in 16..16
input x : bf16[N, 4096]
weight a : bf16[4096, 4096] = "a"
@tile(0, 128)
output y : f32[N, 4096] = x @ a.T
END
"$etcc" wide.etg --explain > wide.txt
says wide.txt 'hint: smaller tiles for more CUs: @tile(0, 64) before y (line 6)' ' 32 tiles on'
sed 's/(0, 128)/(0, 64)/' wide.etg > narrower.etg
"$etcc" narrower.etg --explain > narrower.txt
says narrower.txt ' 64 tiles on'

# The kernel is the same with and without; the text is whole or not at all.
"$etcc" "$e/mlp/mlp.etg" -o some.kernel.hsaco --explain > some.kernel.txt
"$etcc" "$e/mlp/mlp.etg" -o plain.hsaco
cmp some.kernel.hsaco plain.hsaco
cmp some.kernel.txt mlp.txt
mkdir taken.txt
refuses 'taken.txt: ' "$e/mlp/mlp.etg" --to=scheduled -o taken.eti --explain=taken.txt
rm -r taken.txt
refuses 'name a file: --explain=MODEL.html' "$e/mlp/mlp.etg" --explain=html
refuses 'only one result' "$e/mlp/mlp.etg" --to=scheduled -o - --explain
refuses "nothing is at stage 'graph'" "$e/mlp/mlp.etg" --to=graph -o x.eti --explain=x.txt
[ ! -e x.eti ] && [ ! -e x.txt ]
[ -z "$(ls | grep tmp)" ]
