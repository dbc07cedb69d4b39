#!/bin/sh
# link.sh LIBETRT.A LIBETRT.SO CC INCLUDE plain|sanitized
# libetrt.a is small, exports only what etrt.h declares, and needs libc alone; so does libetrt.so.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
archive=$1 shared=$2 cc=$3 include=$4 kind=$5
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
declared=$(sed -n 's/.*[ *]\(etrt_[a-z_]*\)(.*/\1/p' "$include/etrt.h" | sort -u)
exported=$(nm -g --defined-only "$archive" | awk 'NF == 3 { print $3 }' | sort -u)
dynamic=$(nm -D --defined-only "$shared" | awk 'NF == 3 { print $3 }' | sort -u)
[ -n "$declared" ] || die "no functions found in etrt.h"
[ "$declared" = "$exported" ] || die "libetrt.a exports" $exported "and etrt.h declares" $declared
[ "$declared" = "$dynamic" ] || die "libetrt.so exports" $dynamic "and etrt.h declares" $declared

[ "$kind" = plain ] || exit 0
# Code and data; a linker leaves the names and relocations of the archive out.
size=$(size "$archive" | awk 'NR > 1 { bytes += $1 + $2 } END { print bytes }')
echo "libetrt.a adds $size bytes to a program"
[ "$size" -gt 0 ] && [ "$size" -lt 180000 ] || die "libetrt.a adds $size bytes to a program"

# A program with a jansson of its own must not meet ours.
cat >"$dir/program.c" <<'C'
#include <etrt.h>
const char *json_dumps(const void *a, unsigned long b);
const char *json_dumps(const void *a, unsigned long b) { return a && b ? "a" : "b"; }
int main(int argc, char **argv) {
    etrt_device *device;
    return etrt_device_open(argc > 5 ? argv[1] : "none", &device) == ETRT_INVALID && json_dumps(0, 0) ? 0 : 1;
}
C
"$cc" -I"$include" "$dir/program.c" "$archive" -o "$dir/static"
"$cc" -I"$include" "$dir/program.c" "$shared" -o "$dir/dynamic"
"$dir/static" || die "the program does not run"
LD_LIBRARY_PATH=$(dirname "$shared") "$dir/dynamic" || die "the program does not run with libetrt.so"
for file in "$dir/static" "$shared"; do
    others=$(ldd "$file" | awk '{ print $1 }' | grep -v -e linux-vdso -e ld-linux -e '^libc\.so' || true)
    [ -z "$others" ] || die "$file needs" $others
done
