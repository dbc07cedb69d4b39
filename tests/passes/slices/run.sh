#!/bin/sh
# run.sh ETCC CHECK_KERNEL FILE.etg SLICES FOLDER [DIM=VALUE]: the kernel of FILE in SLICES slices gives what the graph
# says, and the same bits on any number of CUs and dies, however workgroups are spread over them, with caches that
# only the fences that the kernel has keep coherent.
set -eu
etcc=$1 check=$2 etg=$3 slices=$4 folder=$5 set=${6:+--set $6}
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
"$etcc" "$etg" --slices="$slices" -o k.hsaco
devices=
for spec in cus=1:xcds=1 cus=3:xcds=1 cus=2:xcds=2 cus=11:xcds=3:map=block:coherence=model:seed=1 \
    cus=16:xcds=8:coherence=model:seed=2 cus=16:xcds=8:map=5:coherence=model:seed=3 \
    cus=24:xcds=8:map=shuffle-1:coherence=model:seed=4 cus=7+1+3+2:map=shuffle-2:coherence=model:seed=5 \
    cus=1+6:map=fill-1:coherence=caches:l1=1:l2=2:seed=6 cus=12:xcds=4:firstdie=3:coherence=model:seed=7 \
    cus=8:xcds=4:coherence=model:seed=8:starve=5 cus=8:xcds=2:coherence=model:seed=9:slow=1; do
    devices="$devices --device emu:gfx942:$spec"
done
"$check" "$etg" k.hsaco $devices $set
