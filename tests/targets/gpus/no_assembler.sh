#!/bin/sh
# no_assembler.sh ETCC SRC WORK: without a ptxas etcc writes PTX all the same, and says so where that is not what is asked for.
set -eu
etcc=$1 src=$2 work=$3
rm -rf "$work"
mkdir -p "$work/bin"
cd "$work"
model=$src/examples/mlp/mlp.etg

refuse() { # WHAT stands in the error, then options
    what=$1
    shift
    if "$etcc" "$model" --target=sm_90 -o m.cubin "$@" 2> err; then exit 1; fi
    grep -q "$what" err || { cat err; exit 1; }
    test ! -e m.cubin
}

"$etcc" "$model" --target=sm_90 -o m.ptx --ptxas=/bin/false
test -s m.ptx
refuse '/bin/false failed' --ptxas=/bin/false
refuse 'No such file' --ptxas=./ptxas
refuse 'cannot be started' --ptxas=./err
printf '#!/bin/sh\nkill -9 $$\n' > bin/killed
chmod +x bin/killed
refuse 'ended by signal 9' --ptxas=bin/killed
printf '#!/bin/sh\necho it is broken >&2\nexit 3\n' > bin/ptxas
chmod +x bin/ptxas
refuse 'it is broken' --ptxas=bin/ptxas
PATH=$PWD/bin:$PATH refuse 'it is broken'
ls > files
printf 'bin\nerr\nfiles\nm.ptx\n' | cmp - files
