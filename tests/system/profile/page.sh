#!/bin/sh
# page.sh BROWSER PAGE DRIVE.JS [SECONDS]
# Opens a timeline's page in a real browser, uses it (drive.js) and fails on any script error, on
# anything the page would fetch, and on what drive.js finds.
set -eu
browser=$1 page=$2 drive=$3 seconds=${4:-300}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Nothing in it points elsewhere.
if grep -nE '(src|href)=|https?://|@import|url\(' "$page" > "$folder/outside"; then
    cut -c1-200 "$folder/outside" >&2
    echo "page.sh: $page refers to something outside" >&2
    exit 1
fi
{
    sed '/<\/body>/,$d' "$page"
    echo '<script>'
    cat "$drive"
    echo '</script></body></html>'
} > "$folder/page.html"
HOME=$folder timeout "$seconds" "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --no-first-run --disable-background-networking --disable-component-update --disable-sync \
    --user-data-dir="$folder/profile" --window-size=1500,900 --virtual-time-budget=20000 \
    --enable-logging=stderr --dump-dom "file://$folder/page.html" > "$folder/dom" 2> "$folder/log" || {
    cat "$folder/log" >&2
    echo "page.sh: the browser gave up on $page" >&2
    exit 1
}
tag=$(grep -o '<html[^>]*>' "$folder/dom" | head -1)
bad=
! grep 'CONSOLE' "$folder/log" >&2 || bad=1
case $tag in *data-error=*) bad=1 ;; esac
case $tag in *'data-test="ok"'*) ;; *) bad=1 ;; esac
[ -z "$bad" ] || {
    printf 'page.sh: %s: %s\n' "$page" "$tag" >&2
    exit 1
}
