#!/bin/sh
# reference.sh REFERENCE.AWK ETRT.H
# The reference of libetrt: a man page and a place in the HTML page for every function that etrt.h declares; and a
# header that leaves one without a comment is refused.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
script=$1 header=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
make_reference() { # HEADER
    rm -rf "$dir/man3"
    mkdir "$dir/man3"
    awk -v OUT="$dir/man3" -v HTML="$dir/etrt.html" -v VERSION=1.2.3 -f "$script" "$1"
}
make_reference "$header"
functions=$(sed -n 's/^[^*]*[ *]\(etrt_[a-z_]*\)(.*/\1/p' "$header" | grep -v '^ ' | sort -u)
[ "$(echo "$functions" | wc -l)" -gt 60 ] || die 'few functions are declared'
for name in $functions; do
    page=$(sed -n 's/^\.so //p' "$dir/man3/$name.3") || die "$name has no man page"
    grep -q "^$(echo "$name" | sed 's/-/\\\\-/g')\|[ *]$name(" "$dir/$page" || die "$page does not say what $name is"
    grep -q "id=\"$name\"" "$dir/etrt.html" || die "$name has no place in etrt.html"
done
grep -q 'etrt_sessions' "$dir/man3/etrt.3" || die 'etrt(3) does not name the other pages'
grep -q 'libetrt 1.2.3' "$dir/etrt.html" || die 'etrt.html does not tell its version'
for tag in p pre ul li h2 a body html; do
    opened=$(grep -o "<$tag[ >]" "$dir/etrt.html" | wc -l) closed=$(grep -o "</$tag>" "$dir/etrt.html" | wc -l)
    [ "$opened" -gt 0 ] && [ "$opened" -eq "$closed" ] || die "etrt.html: $opened of <$tag>, $closed of </$tag>"
done
grep -q '[^x]<etrt\|<size' "$dir/etrt.html" && die 'etrt.html: text of the header is markup'
# Where it is installed, what prints man pages has nothing to say against them.
if command -v groff > /dev/null; then
    for page in "$dir"/man3/*.3; do
        (cd "$dir" && groff -man -ww -z "$page" > said 2>&1) || die "$page: $(head -1 "$dir/said")"
        [ ! -s "$dir/said" ] || die "$page: $(head -1 "$dir/said")"
    done
fi

printf '/* etrt.h - all */\n/* ---- things ---- */\n\n/* Told. */\nint etrt_a(void);\n\nint etrt_b(void);\n' > "$dir/bad.h"
make_reference "$dir/bad.h" 2> "$dir/said" && die 'a function without a comment was taken'
grep -q 'line 7: etrt_b has no comment' "$dir/said" || die "$(cat "$dir/said")"
printf '/* etrt.h - all */\n/* ---- things ---- */\n\n/* Told. */\nint etrt_a(void\n' > "$dir/bad.h"
make_reference "$dir/bad.h" 2> "$dir/said" && die 'half a declaration was taken'
exit 0
