#!/bin/sh
# texts.sh ETCC FOLDER OPTIONS FILE...: the text of every stage of every program, compiled with OPTIONS, reads back as the same text,
# stage after stage, each made from the text of the one before; the last is the one that is made without text in between.
# There are programs of several variants among them, or none with --variants=1.
set -u
etcc=$1 dir=$2 options=$3
shift 3
rm -rf "$dir"
mkdir -p "$dir" && cd "$dir" || exit 1
failed=0 several=0
fail() {
    echo "FAIL $f $options: $*"
    failed=$((failed + 1))
}
# shellcheck disable=SC2086
to() { "$etcc" "$2" $options --to "$1" -o "$3"; } # STAGE FROM OUT

check() {
    from=$f
    for stage in fused tiled evented placed scheduled; do
        to $stage "$from" $stage.eti || { fail "no text of stage $stage"; return; }
        to $stage $stage.eti again.eti || { fail "the text of stage $stage is refused"; return; }
        cmp $stage.eti again.eti || { fail "the text of stage $stage is another when read and printed"; return; }
        from=$stage.eti
    done
    to scheduled "$f" want.eti || { fail 'not compiled'; return; }
    cmp want.eti scheduled.eti || fail 'another program, by the texts of its stages'
    ! grep -q '^variant' want.eti || several=$((several + 1))
}
for f; do check; done
echo "$# programs, $several with variants, $failed failed"
case " $options " in
*' --variants=1 '*) [ $several -eq 0 ] || failed=1 ;;
*) [ $several -gt 0 ] || failed=1 ;;
esac
[ $failed -eq 0 ]
