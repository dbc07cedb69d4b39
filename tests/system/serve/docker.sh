#!/bin/sh
# Usage: docker.sh BIN SRC WORK. The Dockerfile, which is not built here: what it copies and runs is in the tree, the packages
# that it installs are those of the libraries that etllm needs, and its entry point takes its options.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2
work=$3/docker
mkdir -p "$work"
file=$src/examples/llm/serve/Dockerfile
steps=$(sed -e ':a' -e '/\\$/{N;s/\\\n */ /;ba' -e '}' -e '/^#/d' "$file")
of() { # INSTRUCTION: what follows it, a line each
    printf '%s\n' "$steps" | sed -n "s/^$1 //p"
}

# What is copied from the tree, and the scripts that are run in it.
of COPY | grep -v -- '^--from=' | while read -r from _; do
    [ -e "$src/$from" ] || die "COPY $from: not in the tree"
done
of COPY | sed -n 's/^--from=\([^ ]*\) .*/\1/p' | while read -r stage; do
    of FROM | grep -q " AS $stage\$" || die "COPY --from=$stage: there is no such stage"
done
scripts=$(of RUN | grep -o 'sh [./a-z_-]*' | cut -d' ' -f2)
[ -n "$scripts" ] || die 'no script is run'
for s in $scripts; do
    [ -f "$src/$s" ] || die "RUN sh $s: not in the tree"
done
prefix=$(of RUN | sed -n 's/.*--prefix \([^ ]*\).*/\1/p')
of COPY | grep -q -- "^--from=[a-z]* $prefix /usr/local\$" || die "what is installed in $prefix is not copied to /usr/local"

# Packages: those of the libraries that it is linked with, and no others.
installed=$(of RUN | sed -n 's/.*--no-install-recommends \([^&]*\).*/\1/p')
[ -n "$installed" ] || die 'no packages are installed'
needed=$(readelf -d "$bin/etllm" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
for library in $needed; do
    case $library in libasan* | libubsan* | libtsan* | libclang_rt*) continue ;; esac
    package=$(dpkg -S "*/$library" | cut -d: -f1 | sort -u)
    for p in $package; do
        case " $installed libc6 libgcc-s1 " in *" $p "*) continue 2 ;; esac
    done
    die "etllm needs $library, of $(echo $package), which is not installed"
done
# What is opened when it runs has no line in the program.
opened=libhsa-runtime64-1
for p in $installed; do
    [ "$p" != $opened ] || continue
    status=$(dpkg-query -W -f '${db:Status-Status}' "$p" 2> /dev/null) || die "$p is no package of this Debian"
    [ "$status" = installed ] || die "$p is not what etllm was built with"
    for f in $(dpkg -L "$p" | grep '\.so\.[0-9]*$'); do
        case " $(echo $needed) " in *" ${f##*/} "*) continue 2 ;; esac
    done
    die "$p is installed, but etllm does not need it"
done

# The entry point is a tool that is there, with options that it has.
entry=$(of ENTRYPOINT | tr -d '[]",')
# shellcheck disable=SC2086
set -- $entry
[ -x "$bin/$1" ] || die "ENTRYPOINT: no $1"
"$bin/$1" "$2" --help > "$work/help"
for o; do
    case $o in --*) grep -q -e "$o" "$work/help" || die "$1 $2 has no $o" ;; esac
done
