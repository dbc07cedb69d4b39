#!/bin/sh
# floor.sh ETCC SOURCE FOLDER BROWSER|-: the pages of etcc --explain=FILE.html, in a browser where there is one.
set -eu
etcc=$1 source=$2 folder=$3 browser=$4
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

long=${ETCC_LONG-}
page() { # NAME [OPTION...]: NAME.html, twice the same
    name=$1
    shift
    "$etcc" -o "$name.eti" --to=scheduled "--explain=$name.html" "$@"
    if [ -n "$long" ] || [ "$name" = ranges ]; then
        cp "$name.html" first
        "$etcc" -o "$name.eti" --to=scheduled "--explain=$name.html" "$@"
        cmp first "$name.html"
    fi
    [ "$browser" = - ] || sh "$source/tests/system/profile/page.sh" "$browser" "$name.html" "$source/tests/system/profile/drive.js"
}
lacks() { # TEXT FILE...
    ! grep -F -e "$@" >&2 || exit 1
}
refuses() { # WORDS OPTION...
    words=$1
    shift
    if "$etcc" "$@" > said 2>&1; then
        echo "floor.sh: etcc $* was expected to fail" >&2
        exit 1
    fi
    grep -qF -e "$words" said || { cat said >&2; exit 1; }
}

mlp=$source/examples/mlp/mlp.etg moe=$source/examples/moe/moe.etg ranges=$source/tests/passes/pipeline/ranges.etg
page ranges "$ranges"
[ -z "$long" ] || page dynamic "$mlp" --schedule=dynamic
page routed "$moe" --schedule=hybrid
[ -z "$long" ] || page one_die "$mlp" --target=gfx1100
page mix "$mlp" "$moe" --weight=moe=2
lacks 'is not predicted:' mix.html routed.html
if [ -n "$long" ]; then
    page mix_dynamic "$mlp" "$moe" --schedule=dynamic
    grep -q 'is not predicted: dynamic tasks of several models' mix_dynamic.html
fi
sed 's|^name .*|name </script><script>fail(1)//"\\|' "$source/passes/machines/mi300x.machine" > odd.machine
page odd "$ranges" --machine=./odd.machine
lacks '</script><script>fail' odd.html

# With a kernel too, and without any.
"$etcc" "$mlp" -o some.kernel.hsaco --explain=some.html
"$etcc" "$mlp" --explain=bare.html
cmp some.html bare.html
refuses "none at stage 'tiled'" "$mlp" --to=tiled -o x.eti --explain=x.html
[ ! -e x.eti ]
mkdir taken.html
refuses 'taken.html: ' "$mlp" --to=scheduled -o taken.eti --explain=taken.html
rm -r taken.html
[ -z "$(ls | grep tmp)" ]
