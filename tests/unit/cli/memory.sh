#!/bin/sh
# memory.sh BIN SRC WORK: etcc with less and less memory compiles or says that there is too little;
# nothing but complete outputs is left.
set -eu
bin=$(cd "$1" && pwd) model=$(cd "$2" && pwd)/tests/unit/import/llama.etg
rm -rf "$3"
mkdir -p "$3" && cd "$3"
short=0
for kilobytes in 400000 350000 320000 290000 270000; do
    rm -rf run
    mkdir run
    status=0
    (ulimit -v $kilobytes && cd run && TMPDIR=$PWD exec "$bin/etcc" "$model" -o o.hsaco) > said 2>&1 ||
        status=$?
    case $status in
    0) test "$(ls -A run)" = o.hsaco ;;
    127) continue ;; # not enough for the libraries
    1)
        grep -q '^error: out of memory\|error: .*[Cc]annot allocate memory' said
        test -z "$(ls -A run)"
        short=$((short + 1))
        ;;
    *) cat said && exit 1 ;;
    esac
done
test $short -gt 0
