# What several devices are refused, and how. Arguments: etcc, this folder, a folder for files, texts of models.
set -e
etcc=$1 here=$2 out=$3 models=$4
rm -rf "$out" && mkdir -p "$out"
says() { # WORDS COMMAND...: fails and says so
    words=$1 && shift
    if "$@" > "$out/text" 2>&1; then echo "passed: $*" && exit 1; fi
    grep -q -e "$words" "$out/text" || { echo "no '$words' from $*" && cat "$out/text" && exit 1; }
}
says 'no product by weights can be divided by 7' "$etcc" "$here/mlp.etg" --devices=7 -d graph
# What is exchanged is dealt, also where everything else is queued.
"$etcc" "$here/mlp.etg" --devices=2 --variants=1 --schedule=dynamic --to scheduled -o "$out/queued.eti"
grep -q '^schedule hybrid' "$out/queued.eti"
says 'sums are exchanged inside of one kernel' "$etcc" "$here/mlp.etg" --devices=2 --schedule=kernels -d unfence
says 'not supported yet' "$etcc" "$here/mlp.etg" --devices=2 --slices=2 -d unfence
says 'several models' "$etcc" "$here/mlp.etg" "$here/mlp.etg" --devices=2 -d graph
"$etcc" "$here/mlp.etg" --devices=2 --variants=1 --to scheduled -o "$out/good.eti"
"$etcc" "$out/good.eti" --to scheduled -o "$out/again.eti"
cmp "$out/good.eti" "$out/again.eti"
says 'and not after it' "$etcc" "$out/good.eti" --devices=2 -d verify
# Each iteration's words have their own place: in one place, another device may still have to read them.
sum=$(sed -n 's/^temp %\([^ ]*\) .* partial tagged.*/\1/p' "$out/good.eti")
sed "/^event/!s/%$sum\[l, /%$sum[0, /g" "$out/good.eti" > "$out/bad.eti"
if cmp -s "$out/good.eti" "$out/bad.eti"; then echo "nothing to break" && exit 1; fi
says 'stored twice in a launch' "$etcc" "$out/bad.eti" --to scheduled -o "$out/x.eti"
sed 's/ partial tagged/ partial/' "$out/good.eti" > "$out/bad.eti"
says 'partial' "$etcc" "$out/bad.eti" --to scheduled -o "$out/x.eti"
# The same of what is exchanged by rows; and no task reads rows that another device has.
"$etcc" "$here/mlp.etg" --devices=2 --variants=1 --exchange=rows --to scheduled -o "$out/rows.eti"
"$etcc" "$out/rows.eti" --to scheduled -o "$out/again.eti"
cmp "$out/rows.eti" "$out/again.eti"
"$etcc" "$here/mlp.etg" --devices=2 --variants=1 --exchange=rows --to fused -o "$out/fused.eti"
"$etcc" "$out/fused.eti" --to scheduled -o "$out/again.eti"
grep -q ' dealt 4 along i0' "$out/again.eti"
bad() { # WORDS SED-SCRIPT
    sed "$2" "$out/rows.eti" > "$out/bad.eti"
    if cmp -s "$out/rows.eti" "$out/bad.eti"; then echo "nothing to break: $2" && exit 1; fi
    says "$1" "$etcc" "$out/bad.eti" --to scheduled -o "$out/x.eti"
}
bad 'is not ordered\|no event\|cannot' 's/ scope system/ scope device/'
bad 'reads what each has its rows of' 's/ dealt 4 along i0//; s/ shared / /'
bad 'reads what each has its rows of: %h.exchange' 's/ shared / /'
bad 'no rows are\|cannot be' '/^rows /d'
bad 'do not divide' 's/^rows N by 4/rows N by 3/'
bad 'there is no j9' 's/ along i0/ along j9/'
# A large sum that one map alone reads, as what adds the residual does, is that map's: no task is between them. A sum that could not be dealt
# so, for the residual is read whole by products, has one of its own.
tasks() { # OPTION...: how many tasks take a sum
    "$etcc" "$here/mlp.etg" --devices=2 --variants=1 "$@" --to scheduled -o "$out/x.eti"
    grep -c 'task @h.exchange' "$out/x.eti" || true
}
[ "$(tasks --exchange=flags)" = 0 ] && [ "$(tasks --exchange=rows)" = 1 ]
grep -q ' dealt ' "$out/x.eti"
"$etcc" "$here/mlp.etg" --devices=2 --variants=1 --exchange=flags --to fused -o "$out/fused.eti"
"$etcc" "$out/fused.eti" --exchange=rows --to scheduled -o "$out/x.eti"
if grep -q ' dealt ' "$out/x.eti"; then echo 'rows of a text without its graph were dealt' && exit 1; fi
"$etcc" "$here/mlp.etg" --devices=2 --exchange=rows --explain="$out/text" --to scheduled -o "$out/x.eti"
grep -q 'each from the device that has its row' "$out/text"
sed '/^devices/d' "$out/good.eti" > "$out/bad.eti"
says "'devices' says before this" "$etcc" "$out/bad.eti" --to scheduled -o "$out/x.eti"
# What all devices get of each other: where it pays, wherever it can be, or nowhere.
says 'no product by weights can be divided by 2' "$etcc" "$here/all.etg" --devices=2 -d graph
says 'no product by weights can be divided by 2' "$etcc" "$here/all.etg" --devices=2 --gather=never -d graph
for how in tags flags; do
    "$etcc" "$here/all.etg" --devices=2 --variants=1 --gather=always --exchange=$how --explain="$out/text" --to scheduled -o "$out/own.eti"
    grep -q 'y.map: what each device has of .N, 2, 64. elements, one-shot: to 1 other' "$out/text"
    "$etcc" "$out/own.eti" --to scheduled -o "$out/again.eti"
    cmp "$out/own.eti" "$out/again.eti"
    sed 's/ partial own 1 / partial own 2 /' "$out/own.eti" > "$out/bad.eti"
    says 'has no dimension with an index for each device' "$etcc" "$out/bad.eti" --to scheduled -o "$out/x.eti"
    sed 's/^\( *\)%y.map\[\(.*\), j1, \(.*\) = /\1%y.map[\2, 0, \3 = /' "$out/own.eti" > "$out/bad.eti"
    if cmp -s "$out/own.eti" "$out/bad.eti"; then echo "nothing to break" && exit 1; fi
    says 'y.map' "$etcc" "$out/bad.eti" --to scheduled -o "$out/x.eti"
done
"$etcc" "$here/all.etg" --devices=4 --gather=always -d graph > "$out/own.graph"
"$etcc" "$out/own.graph" -d graph | cmp - "$out/own.graph"
sed 's/ {own=1} : f32.N, 4, 32.$/ {own=2} : f32[N, 4, 32]/' "$out/own.graph" > "$out/bad.eti"
says 'needs a dimension with an index for each device' "$etcc" "$out/bad.eti" -d graph
# All variants get the same: one for a token, and one for many.
sed 's/N in 1..9/N in 1..4096/; s/16, V/4096, V/; s/16 \* V/4096 * V/; s/V=128/V=131072/; s/H=64/H=2048/' "$here/all.etg" > "$out/large.etg"
"$etcc" "$out/large.etg" --devices=2 --to scheduled -o "$out/x.eti"
grep -q 'weight %head : bf16.65536, 2048.' "$out/x.eti"
# Weights split as asked, or not at all.
split() { # GATE DOWN ALL: a program whose three weights have these hints
    printf 'model s\ninput x : f32[4, 64]\n%s\nweight a : bf16[256, 64]\n%s\nweight b : bf16[64, 256]\n' "$1" "$2" > "$out/split.etg"
    printf '%s\nweight c : bf16[64, 64]\ny = gelu(x @ a.T) @ b.T\noutput z = y @ c.T\n' "$3" >> "$out/split.etg"
}
is() { # WORDS N: the graph of N devices says so
    "$etcc" "$out/split.etg" --devices=$2 -d graph > "$out/text"
    grep -q -e "$1" "$out/text" || { echo "no '$1'" && cat "$out/text" && exit 1; }
}
split '@split(0, 2)' '@split(1, 2)' '@split(0, 1)'
is '%c : bf16.64, 64. = "c"$' 2
is '%a : bf16.128, 64. = "a" cut 0$' 2
"$etcc" "$out/split.etg" -d graph > "$out/hints.eti"
"$etcc" "$out/hints.eti" --devices=2 -d graph > "$out/from.hints"
"$etcc" "$out/split.etg" --devices=2 -d graph | diff - "$out/from.hints"
split '' '' '@split(0, 2)'
is '%c : bf16.32, 64. = "c" cut 0 repeat 2$' 4
"$etcc" "$out/split.etg" --devices=4 --explain="$out/text" --to scheduled -o "$out/x.eti"
grep -q 'weight c: axis 0 in 2 parts of 4.1 KB, each on 2 devices' "$out/text"
grep -q 'the sum over devices of .4, 64. elements' "$out/text"
split '@split(1, 2)' '' ''
says '@split of a: what reads it' "$etcc" "$out/split.etg" --devices=2 -d graph
split '@split(0, 3)' '' ''
says 'does not have 3 equal parts' "$etcc" "$out/split.etg" -d graph
split '@split(2, 2)' '' ''
says 'the weight has no axis 2' "$etcc" "$out/split.etg" -d graph
split '' '' '@split(0, 4)'
says '2 devices do not divide by 4 parts' "$etcc" "$out/split.etg" --devices=2 -d graph
# Pieces of a weight, and parts that devices share, are read as they are printed.
"$etcc" "$models/phi3.etg" --devices=2 --variants=1 --to scheduled -o "$out/good.eti"
grep -q 'cut 1 from 224 of 448$' "$out/good.eti"
"$etcc" "$out/good.eti" --to scheduled -o "$out/again.eti"
cmp "$out/good.eti" "$out/again.eti"
sed 's/cut 1 from 224 of 448$/cut 1 from 225 of 448/' "$out/good.eti" > "$out/bad.eti"
says 'the checkpoint has less' "$etcc" "$out/bad.eti" --to scheduled -o "$out/x.eti"
sed 's/cut 1 from 224 of 448$/cut 1 repeat 2/' "$out/good.eti" > "$out/bad.eti"
says '2 devices do not have parts that 2 share' "$etcc" "$out/bad.eti" --to scheduled -o "$out/x.eti"
# Stages of layers: iterations, weights and states of each, and what is handed on.
{
    printf 'model s\ndim N in 1..8\ninput x : f32[N, 64]\ninput c : f32[N, 64]\nstate s : f32[9, 8, 64]\nweight e : bf16[64, 64]\na = gelu(x @ e.T)\nb = a * x\nr = sqrt(c)\nfor l in 2..7 {\n'
    printf '  weight w : bf16[64, 64] = "w.{l}"\n  y = a @ w.T + b * r\n  s[l, 0:N, :] = y\n  a = a + y + s[l, 0:N, :]\n}\n'
    printf 'weight h : bf16[640, 64]\noutput z : f32[N, 640] = (a + b) @ h.T\n'
} > "$out/layers.etg"
stage() { # K/N WORDS...: its graph has them
    "$etcc" "$out/layers.etg" --layers="$1" -d graph > "$out/text"
    shift
    for words; do grep -q -e "$words" "$out/text" || { echo "no '$words'" && cat "$out/text" && exit 1; }; done
}
# The head weighs as much as ten layers: with two stages it is alone but for the last iteration.
stage 1/2 '^state %s : f32.4, 8, 64.$' '^weight %w : bf16.4, 64, 64.' '^for l in 0..4 from 2 {' '^output %stage_out$' '^output %stage_out_1$' 'scalar=.l, 0, 0.'
stage 2/2 '^state %s : f32.1, 8, 64.$' '^for l in 0..1 from 6 {' '^input %stage_in_1 : f32.N, 64.$' '^output %z$' 'scalar=.0, 0, 0.' '%r = map %c'
stage 3/5 '^input %stage_in : f32' '^for l in 0..1 from 4 {' '%stage_out = ' '%stage_out_1 = '
if grep -q '%x\|%h ' "$out/text"; then echo 'a stage has what only others read' && exit 1; fi
says 'its loops have 5 iterations' "$etcc" "$out/layers.etg" --layers=1/6 -d graph
says 'write K/N' "$etcc" "$out/layers.etg" --layers=3/2 -d graph
sed 's/s\[l, /s[1, /g' "$out/layers.etg" > "$out/shared.etg"
says 'stages 1 and 2 would read and write the same of state s' "$etcc" "$out/shared.etg" --layers=1/2 -d graph
"$etcc" "$out/layers.etg" --layers=2/3 -d graph > "$out/stage.eti"
"$etcc" "$out/stage.eti" -d graph | cmp - "$out/stage.eti"
says 'it is a stage already' "$etcc" "$out/stage.eti" --layers=1/2 -d graph
"$etcc" "$models/phi3.etg" --layers=1/2 --devices=2 --variants=1 --to scheduled -o "$out/x.eti"
says 'and not after it' "$etcc" "$out/x.eti" --layers=1/2 -d verify
# What the simulator makes of a link: a slow one takes as long as the bytes that are sent do (100 a microsecond), fences of the system
# are waited for once in each of three layers, by rows twice, and with tags never.
predicted() { # GB/S US EXCHANGE
    sed "s/^link_gbs .*/link_gbs $1/; s/^system_us .*/system_us $2/; s/^name .*/name X/" "$here/../../../passes/machines/mi300x.machine" > "$out/x.machine"
    "$etcc" "$here/mlp.etg" --machine="$out/x.machine" --devices=2 --variants=1 --exchange="$3" --explain="$out/text" --to scheduled -o "$out/x.eti"
    sed -n 's/^ *N = 9: \([0-9]*\)[.0-9]* us predicted.*/\1/p' "$out/text"
}
for how in 'tags 138 0' 'flags 69 3000' 'rows 95 6000'; do
    set -- $how
    base=$(predicted 350 0 $1) slow=$(($(predicted 0.1 0 $1) - base)) fenced=$(($(predicted 350 1000 $1) - base))
    [ "$slow" -ge $(($2 - 4)) ] && [ "$slow" -le $(($2 + 4)) ] || { echo "$1 over a slow link: $slow us more, not $2" && exit 1; }
    [ "$fenced" -ge $(($3 - 1)) ] && [ "$fenced" -le $(($3 + 60)) ] || { echo "$1 with slow fences: $fenced us more, not $3" && exit 1; }
done
echo ok
