#!/bin/sh
# slots.sh ETCC FILE.etg FOLDER: weights of products of many rows come in slots of the ring of weights where all of a model's products are
# such, and products with larger tiles bring their weights themselves. The program says so, is read back as it
# is written, and one whose weights nobody would bring is refused. Only compiled: no emulator runs code for these GPUs.
set -eu
etcc=$1 etg=$2 folder=$3
. "$(dirname "$0")/../../support/lib.sh"
fresh "$folder"
scheduled() { # FILE OPTION...
    file=$1
    shift
    "$etcc" "$file" --machine=H100 --variants=1 --to=scheduled -o out.eti "$@"
}
scheduled "$etg"
[ "$(grep -c ' slot$' out.eti)" = 2 ] || die "slots: $(grep 'local' out.eti)"
[ "$(grep -c ' streamed$' out.eti)" = 2 ] || die "tasks: $(grep ' task ' out.eti)"
grep -q '^ring [4-9] of 32768 flight [0-9]* prefetch ' out.eti || die "ring: $(grep '^ring' out.eti)"
"$etcc" "$etg" --machine=H100 --variants=1 -o direct.k
"$etcc" out.eti --machine=H100 -o read.k
cmp direct.k read.k || die 'another kernel of the program that was written and read'

none() { # what: of this program
    ! grep -q ' slot$' out.eti || die "$1: $(grep ' slot$' out.eti)"
}
cp out.eti slots.eti
scheduled "$etg" --without=stream_many
none 'left out'
scheduled "$etg" --unstreamed
none 'without a ring'
scheduled "$etg" --schedule=dynamic
none 'tiles that nobody can go ahead of'
sed 's/N in 33..64/N in 300..512/' "$etg" > many.etg
scheduled many.etg
none 'tiles of too many rows'

refused() { # SED-SCRIPT MESSAGE
    sed "/^ *plan rows /d; $1" slots.eti > bad.eti
    refuses 1 "$2" "$etcc" bad.eti --machine=H100 -o bad.k
}
refused 's/ streamed$//' 'its weights come in slots of a ring, and there is none for them'
refused 's/^ring [0-9]* of 32768/ring 5 of 4096/' 'its weights come in slots of a ring, and there is none for them'
refused 's/^ring .*//' 'cannot be streamed: there is no ring'
refused 's/, 128\] pitch 128 slot$/, 96] pitch 96 slot/' 'a slot holds whole chunks of 128'
refused 's/ slot$/ at 0/' 'must be bf16'
refused 's/local \$a : \(.*\) at [0-9]*$/local $a : \1 slot/' 'is a slot, but not just for the right operand of a ring'
refused 's/local \$acc0 : \(.*\) at [0-9]*$/local $acc0 : \1 slot/' 'is a slot, but not just for the right operand of a ring'
