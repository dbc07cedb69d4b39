#!/bin/sh
# Models in slices in one kernel: the bits of each alone in as many slices, whoever takes part, wherever workgroups are,
# with caches that only the fences that the kernel has keep coherent; also where one model has none, where models
# share workgroups and where one's tasks go through queues.
. "$(dirname "$0")/lib.sh"
layers=$src/tests/passes/slices/layers.etg decoder=$src/tests/passes/slices/decoder.etg moe=$src/examples/moe/moe.etg
rm -rf captured
as_alone() { # MIX SLICES LAUNCHES DEVICE...
    mix=$1 slices=$2 launches=$3
    shift 3
    for device in "$@"; do
        "$bin/check_mix" emu:gfx942:$device $mix $launches 7 layers layers_$slices.hsaco decoder decoder_$slices.hsaco
    done
}
for slices in 2 4 8; do # 4: below
    for m in layers decoder; do
        "$bin/etcc" "$src/tests/passes/slices/$m.etg" --variants=1 --slices=$slices -o ${m}_$slices.hsaco
    done
    [ $slices -eq 4 ] && continue
    "$bin/etcc" "$layers" "$decoder" --variants=1 --slices=$slices -o mix.hsaco
    as_alone mix.hsaco $slices 6 cus=16:xcds=8:coherence=model:seed=1 cus=24:xcds=8:map=shuffle-1:coherence=model:seed=2 \
        cus=7+1+3+2:map=shuffle-2:coherence=model:seed=3 cus=12:xcds=4:map=fill-2:coherence=model:seed=4 \
        cus=12:xcds=4:firstdie=3:coherence=model:seed=5:starve=5 cus=3:xcds=1 cus=2:xcds=2 cus=1
done

# Only one of them comes in slices.
"$bin/etcc" "$moe" --variants=1 -o moe.hsaco
"$bin/etcc" "$moe" "$decoder" --variants=1 --slices=4 --to=scheduled -o one.eti
! grep -q '^ *task @moe.* slice ' one.eti || die 'moe is in slices: take another model'
"$bin/etcc" one.eti -o mix.hsaco
for device in cus=16:xcds=4:coherence=model:seed=1 cus=6+1+4:map=shuffle-4:coherence=model:seed=2; do
    "$bin/check_mix" emu:gfx942:$device mix.hsaco 5 7 moe moe.hsaco decoder decoder_4.hsaco
done

# Parts that overlap; in one of them the tasks that are in no slices are dynamic.
"$bin/etcc" "$layers" "$decoder" --variants=1 --slices=4 --to=scheduled -o disjoint.eti
sed -e 's/^\(part layers .*range\).*/\1 [0, 0.625]/' -e 's/^\(part decoder .*range\).*/\1 [0.375, 1]/' disjoint.eti > over.eti
grep -q 'slice' over.eti || die 'no slices'
sed -e '/slice/!s/^\( *task @layers.*\]\)$/\1 dynamic/' -e 's/^schedule static/schedule hybrid/' over.eti > hybrid.eti
! cmp -s over.eti hybrid.eti || die 'nothing is dynamic'
for mix in over hybrid; do
    "$bin/etcc" $mix.eti -o $mix.hsaco
    as_alone $mix.hsaco 4 5 cus=16:xcds=4:coherence=model:seed=6 cus=16:xcds=8:map=shuffle-5:coherence=model:seed=7 \
        cus=5+2+1:map=shuffle-6:coherence=model:seed=8
done

# The text at every stage, races, and events of the device that are said to be of a die.
set -- "$layers" "$decoder" "$layers" --slices=4
for stage in fused tiled evented placed scheduled; do
    "$bin/etcc" "$@" --placement=greedy --to=$stage -o one.eti
    "$bin/etcc" one.eti --to=$stage -o two.eti
    cmp one.eti two.eti || die "$stage: reads back as something else"
done
"$bin/etcc" "$@" --placement=greedy -o one.hsaco
"$bin/etcc" one.eti -o two.hsaco
cmp one.hsaco two.hsaco || die 'another kernel by way of text'
"$bin/etfill" weights.st --seed 1 'w1:bf16[128,64]:-0.3:0.3' 'w2:bf16[64,128]:-0.5:0.5' 'w3:bf16[128,64]:0.5:1.5' \
    'w4:bf16[64,128]:-0.5:0.5'
"$bin/etfill" in.st --seed 2 'layers.x:f32[13,64]:-2:2' 'layers_2.x:f32[20,64]:-2:2'
"$bin/etcc" "$layers" "$layers" --slices=4 --to=scheduled -o run.eti
interpret() { # FILE.eti [OPTIONS]
    "$bin/etinterp" "$@" --in in.st --weights weights.st --set layers.N=13 --set layers_2.N=20 --check-races --seed 1 \
        --orders 6 --out interpreted.st
}
interpret run.eti
narrowed=0
for event in $(sed -n 's/^event %\([a-z_0-9.]*\)\[.* scope device .*/\1/p' disjoint.eti); do
    sed "/^event %$event\[/s/scope device/scope die/" disjoint.eti > narrow.eti
    refuses 1 'may run on another die' "$bin/etcc" narrow.eti -o x.hsaco
    narrowed=$((narrowed + 1))
done
[ $narrowed -ge 5 ] || die "only $narrowed events of the device"
for event in layers.y layers_2.y; do
    sed "/^event %$event\[/s/scope device/scope die/" run.eti > narrow.eti
    refuses 1 'no event orders the two' interpret narrow.eti --unverified
done

# A wait for a model's workgroups is bounded, and tells whose.
"$bin/etcc" "$layers" "$layers" --slices=4 --placement=all -o k.hsaco
run() { # [OPTIONS]
    "$bin/etrun" k.hsaco --weights layers=weights.st --weights layers_2=weights.st --in in.st --set layers.N=13 \
        --set layers_2.N=20 "$@"
}
device=emu:gfx942:cus=16:xcds=4:coherence=model
refuses 1 'for all workgroups of layers to start:' run --device $device:slow=1:seed=1 --wait-limit 1e-6
printf '%s' "$refused" | grep -q 'to start: [0-9]* of 16 have' || die "$refused"
run --device $device --out one.st > out.txt
for workgroups in 1 2 3 7 15; do
    run --device $device:map=shuffle-$workgroups --workgroups $workgroups --out other.st > out.txt
    cmp one.st other.st || die "other results from $workgroups workgroups"
done
run --device $device --capture captured > out.txt
"$bin/etrun" --replay captured --device $device:seed=3:map=shuffle-3 > out.txt || die "$(cat out.txt)"
