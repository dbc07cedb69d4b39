#!/bin/sh
# prepare.sh BIN OUT [TARGET [few]]
# Everything that run.sh needs on a machine with a GPU, into the new folder OUT: the tools of BIN (build/bin, built with
# tests) and what they link beyond libc, kernels for TARGET (sm_90) in every schedule, models, inputs and what is right.
# `few`: one of everything. RANDOM_PROGRAMS: how many of them (60). DECODERS: which (all; `goldens.sh` has golden checkpoints as well).
# MODELS=no leaves the checkpoints out, where run.sh is to unpack those of a checkout of the sources. Under 100 MB, 33 of them when packed with xz.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$1" && pwd) src=$(cd "$here/../../.." && pwd) target=${3:-sm_90} few=${4:-}
. "$here/../../../bench/bundle.sh"
out=$(bundle_folder "$2")
. "$here/../../support/lib.sh"
cd "$out"
mkdir bin lib kernels models programs random language broken mix small pruned

# ---- tools, without what only debuggers read
bundle_tools etrun etllm etfill etsame check_kernel check_mix check_stories check_text device_play random_weights runtime_launch runtime_model runtime_session
cp "$here/run.sh" "$here/../../../bench/bundle.sh" "$here/row.sh" "$src/examples/models/unpack.sh" .
cp "$bin/../tests/unit/runtime/probe.hsaco" "$bin/../tests/unit/runtime/probe.ptx" small/
bundle_about "$target" > about

schedules='static dynamic hybrid'
if [ -n "$few" ]; then
    decoders='llama' programs='examples/mlp/mlp.etg'
else
    decoders=${DECODERS-llama llama3 qwen3 mixtral qwen3_moe stories-llama stories-moe}
    programs=$(cd "$src" && ls examples/*/*.etg tests/passes/pipeline/*.etg)
fi

# ---- decoders
for m in $decoders; do
    if [ "${MODELS:-yes}" = no ]; then
        case $m in stories-*) from=examples/models ;; *) from=tests/golden ;; esac
        echo "$from/$m.tar.xz" > "models/$m"
    else
        mkdir "models/$m"
        cp "$bin/../checkpoints/$m"/*.json "$bin/../checkpoints/$m"/*.safetensors "models/$m/"
    fi
    for how in $schedules; do
        cp "$(kernel "$bin/etcc" "$(imported "$bin" "$src" "$m")" "$target" $how)" "kernels/$m.$how"
    done
done

# ---- what can be left out, where that is other code
if [ -e models/stories-llama ]; then
    for feature in $("$bin/etcc" --list-features | awk '{ print $1 }'); do
        other=$(kernel "$bin/etcc" "$(imported "$bin" "$src" stories-llama)" "$target" static --without="$feature")
        cmp -s "$other" kernels/stories-llama.static || cp "$other" "kernels/stories-llama.without-$feature"
    done
fi

# ---- small programs
for p in $programs; do
    cp "$src/$p" programs/
    name=$(basename "$p" .etg)
    for how in $schedules; do
        cp "$(kernel "$bin/etcc" "$src/$p" "$target" $how)" "kernels/$name.$how"
    done
    # Where weights stream, other waves may have a part of k under a static schedule: sums of another order.
    for how in static dynamic; do
        "$bin/etcc" "$src/$p" --target="$target" --schedule=$how --to=tiled -o tiled
        sed -n 's/^  contract .* over \(k < .*\) by \([0-9]* waves\)\( [0-9* ]*\).*/\1 \2\3/p' tiled > order.$how
    done
    cmp -s order.static order.dynamic || : > "programs/$name.apart"
    rm tiled order.*
    dims 2 "$src/$p" | tr '\n' ' ' > "programs/$name.low"
    dims 3 "$src/$p" | tr '\n' ' ' > "programs/$name.high"
done

# ---- what goes through the driver's compiler at load
case $target in sm_*) "$bin/etcc" "$src/examples/mlp/mlp.etg" --target="$target" -o small/mlp.ptx ;; esac

# ---- several models in one kernel, and each alone as it is cut there
for how in $schedules; do
    for m in mlp moe; do
        "$bin/etcc" "$src/examples/$m/$m.etg" --target="$target" --variants=1 --schedule=$how -o mix/$m.$how
    done
    "$bin/etcc" "$src/examples/mlp/mlp.etg" "$src/examples/moe/moe.etg" "$src/examples/mlp/mlp.etg" \
        --target="$target" --variants=1 --weight=moe=2 --schedule=$how -o mix/mix.$how
done
if [ -e models/stories-llama ] && [ -e models/stories-moe ]; then
    "$bin/etcc" "$src/tests/unit/import/stories-llama.etg" "$src/tests/unit/import/stories-moe.etg" \
        --target="$target" -o mix/stories
fi

# ---- a wait that can never be satisfied
cat > broken/m.etg <<'ETG'
model m
dim N in 1..32
weight w : bf16[64, 64] = "w"
input x : f32[N, 64]
y = relu(x @ w.T)
@dynamic output z = y @ w.T
ETG
"$bin/etfill" broken/w.safetensors 'w:bf16[64,64]:-1:1'
"$bin/etfill" broken/x.safetensors 'x:f32[5,64]:-1:1'
for how in $schedules; do
    "$bin/etcc" broken/m.etg --target="$target" --schedule=$how --break-event=y -o broken/bad.$how
    "$bin/etcc" broken/m.etg --target="$target" --schedule=$how -o broken/good.$how
done

# ---- weights of which all, some or no matrices are 2:4, read packed where they are
cp "$src/tests/passes/sparse/mlp.etg" pruned/
(cd pruned && . "$src/tests/passes/sparse/weights.sh")
"$bin/etfill" pruned/none.st --seed 7 - < pruned/mlp.weights
"$bin/../tests/passes/sparse/two_of_four" pruned/none.st pruned/all.st 7 ''
"$bin/../tests/passes/sparse/two_of_four" pruned/none.st pruned/some.st 7 layers.1.down
for n in 1 7 16 24; do
    "$bin/etfill" pruned/$n.in --seed $n "x:bf16[$n,512]:-1:1"
    for w in all some none; do
        "$bin/etinterp" pruned/mlp.etg --stage=graph --set N=$n --in pruned/$n.in --weights pruned/$w.st --out pruned/$n.$w.want
    done
done
for how in $schedules; do
    "$bin/etcc" pruned/mlp.etg --target="$target" --schedule=$how --sparse=2:4 -o pruned/$how
done

# ---- random programs
"$bin/stress" --record random --target "$target" --programs "${RANDOM_PROGRAMS:-60}"
"$bin/programs" --record language --target "$target" --programs "${RANDOM_PROGRAMS:-60}"

bundle_done 100 "$target"
