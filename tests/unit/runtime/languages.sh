#!/bin/sh
# languages.sh LIBETRT.A CC CLANG RUNTIME CODE sanitized|plain
# etrt.h in C99 and in C++11, without a warning; a C++ program on libetrt.a, which needs none of C++'s library.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
archive=$1 cc=$2 clang=$3 runtime=$4 code=$5 kind=$6
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '#include <etrt.h>\nint main(void) { return etrt_version() == 0; }\n' > "$dir/main.c"
strict='-Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only'
# shellcheck disable=SC2086
"$cc" -std=c99 $strict -I"$runtime" "$dir/main.c" || die 'etrt.h is not C99'
# shellcheck disable=SC2086
"$clang" -x c++ -std=c++11 $strict -I"$runtime" "$here/program.cc" || die 'etrt.h is not C++11'
[ "$kind" = plain ] || exit 0
"$clang" -x c++ -std=c++11 -fno-exceptions -fno-rtti -I"$runtime" -c "$here/program.cc" -o "$dir/program.o"
"$cc" "$dir/program.o" "$archive" -o "$dir/program"
"$dir/program" "$code" || die 'the C++ program fails'
