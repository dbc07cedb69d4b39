#!/bin/sh
# flags.sh BIN SRC WORK: unfenced events on emulated GPUs with incoherent caches. The kernel gives the
# interpreter's bits, launch after launch, also where no task waits for an unfenced event: each word
# shows by itself that it has come. Without looking at tags it is wrong, a tag that nothing stores
# ends with a report, and so does a launch whose words hold tags of a later one.
set -eu
bin=$1 good=$2/tests/passes/verify/good
mkdir -p "$3" && cd "$3"
"$bin/etfill" flags.in 'x:f32[37,64]:-1:1'
"$bin/etfill" handed.in 'x:f32[37,8]:-9:9'
run() { # KERNEL DEVICE OUT [options]
    kernel=$1 device=$2 out=$3
    shift 3
    "$bin/etrun" "$kernel" --set=N=37 --in="$model.in" --out="$out" --repeat=3 \
        --device="$device:coherence=model" "$@"
}
for model in flags handed; do
    "$bin/etinterp" "$good/$model.eti" --set=N=37 --in=$model.in --out=$model.want --check-races --orders=3
    targets=gfx942
    test $model = handed || targets="gfx942 gfx1100 ${ETCC_LONG:+gfx90a gfx950 gfx1201}"
    for target in $targets; do
        case $target in gfx1*) wave=32 cus=10 ;; *) wave=64 cus=9 ;; esac
        case $target in gfx942 | gfx950) dies=3 ;; *) dies=1 ;; esac
        sed "s/^model .*/&\nwave $wave/" "$good/$model.eti" > $model.eti
        "$bin/etcc" $model.eti --target=$target -o $model.hsaco
        for seed in 1 ${ETCC_LONG:+2}; do
            run $model.hsaco emu:$target:cus=$cus:xcds=$dies:seed=$seed $model.got
            cmp $model.want $model.got
        done
    done
done
weak() { # HOW EVENT [options]: on one host thread, where the order of waves is the seed's alone
    "$bin/etcc" "$good/$model.eti" -o weak.hsaco --weaken="$1:$2"
    shift 2
    run weak.hsaco emu:gfx942:cus=9:xcds=3:threads=1:seed=$seed weak.got "$@"
}
model=flags
for event in started scaled added; do
    seed=1
    weak hint $event
    cmp flags.want weak.got
    for seed in 1 ${ETCC_LONG:+2}; do
        rm -f weak.got
        status=0
        weak tag $event --wait-limit=0.05 2> weak.err || status=$?
        case $event in
        started) # other bits
            test $status = 0
            if cmp -s flags.want weak.got; then exit 1; fi
            ;;
        *) # tasks run ahead of the words they take, until one waits for what has been overwritten
            test $status = 1
            grep -q 'a wait inside the kernel ran past its bound: .* waited longer than 0.05 s in task ' weak.err
            ;;
        esac
    done
    echo "without the tags of $event: wrong in every order"
done
# Numbers of launches that fit beside 16 bits and these tags are 128: then all words are zeroed. What was
# left of the last one would be more than any tag to come, and nothing would come.
sed -e 's/tag l$/tag l * 64/' -e 's/tag l + 1$/tag (l + 1) * 64/' -e 's/tag 6$/tag 384/' "$good/flags.eti" > again.eti
"$bin/etfill" again.in 'x:f32[3,64]:-1:1'
"$bin/etcc" again.eti -o again.hsaco
grep -q '"launches": 128' again.hsaco
"$bin/etinterp" again.eti --set=N=3 --in=again.in --out=again.want
"$bin/etrun" again.hsaco --set=N=3 --in=again.in --out=again.got --repeat=130 --device=emu:gfx942:cus=2:xcds=1 --wait-limit=1
cmp again.want again.got
# A tag that is never stored: the parser and the verifier would not have it.
sed '/^func @sum/,/^}/ s/tag 6/tag 5/' "$good/flags.eti" > missing.eti
if "$bin/etcc" missing.eti -o missing.hsaco 2> missing.err; then exit 1; fi
grep -q 'task sum, step 1 (map) reads %h.*which nothing before it is shown to have written' missing.err
"$bin/etcc" missing.eti -o missing.hsaco --unverified
if run missing.hsaco emu:gfx942:cus=9:xcds=3 missing.got --wait-limit=0.1 2> missing.err; then exit 1; fi
grep -q 'in task sum, tile [0-9]*, for what step 1 takes: work-item [0-9]* finds tag 7 where 6 was to come' missing.err
echo "unfenced events: right, wrong without tags, reported where a word does not come"
