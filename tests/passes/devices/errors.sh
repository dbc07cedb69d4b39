# What several devices are refused, and how. Arguments: etcc, this folder, a folder for files.
set -e
etcc=$1 here=$2 out=$3
rm -rf "$out" && mkdir -p "$out"
says() { # WORDS COMMAND...: fails and says so
    words=$1 && shift
    if "$@" > "$out/text" 2>&1; then echo "passed: $*" && exit 1; fi
    grep -q -e "$words" "$out/text" || { echo "no '$words' from $*" && cat "$out/text" && exit 1; }
}
says 'no product by weights can be divided by 7' "$etcc" "$here/mlp.etg" --devices=7 -d graph
says 'needs a static schedule' "$etcc" "$here/mlp.etg" --devices=2 --schedule=dynamic -d carry
says 'not supported yet' "$etcc" "$here/mlp.etg" --devices=2 --slices=2 -d carry
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
sed '/^devices/d' "$out/good.eti" > "$out/bad.eti"
says "'devices' says before this" "$etcc" "$out/bad.eti" --to scheduled -o "$out/x.eti"
echo ok
