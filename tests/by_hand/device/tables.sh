#!/bin/sh
# tables.sh BIN OUT TARGET: a folder OUT with programs of what is odd (../../targets/gpus/tables.sh), their kernels for TARGET,
# the tools they need and this script, which on a machine with such a GPU,
#     sh OUT/tables.sh run OUT RESULTS [DEVICE]
# writes RESULTS/tables.txt, a line for each program and kernel: reductions, softmax, top-k and choices of tokens of rows with NaN and infinities
# in every place, and all values of 16 bits and fewer through elementwise operators, against the graph interpreter, which runs there too.
# DEVICE is cuda, hsa (as TARGET says), or an emulated one, emu:gfx942:cus=8, for which LD_LIBRARY_PATH says where libetemu.so is; tokens are chosen
# on the first that runs TARGET.
# TABLES=few leaves most programs of values out, TABLES=rows all of them; NAN_COLUMNS and VOCABULARIES: other widths of rows, of logits, than
# the usual ones. Under 10 MB.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

kernels() { # NAME SCHEDULE...: of NAME.etg
    name=$1
    shift
    for how; do
        "$bin/etcc" "$name.etg" --target="$target" --schedule="$how" -o "kernels/$name.$how"
        gzip -9 "kernels/$name.$how"
    done
}

prepare() { # BIN OUT TARGET
    bin=$(cd "$1" && pwd) src=$(cd "$here/../../.." && pwd) target=$3 more=
    . "$src/bench/bundle.sh"
    . "$src/tests/targets/gpus/tables.sh"
    out=$(bundle_folder "$2")
    cd "$out"
    mkdir kernels
    bundle_tools etrun etinterp all_values nan_rows etfill test_sampler
    cp "$here/tables.sh" .
    echo "$target" > target
    : > rows
    number=0
    for columns in $nan_columns; do
        while read -r what; do
            number=$((number + 1))
            nan_program "$columns" "$what" > "nan$number.etg"
            kernels "nan$number" static dynamic
            echo "nan nan$number $columns $nan_rows $what" >> rows
        done << X
$nan_kinds
X
    done
    [ "${TABLES:-}" = few ] || more=$values_more
    for columns in $([ "${TABLES:-}" = rows ] || echo 256 257); do
        rows=$(((65535 + columns) / columns))
        set -f
        for row in $(printf '%s\n' "$values_few" "$more" | tr ' ' '|'); do
            number=$((number + 1))
            # shellcheck disable=SC2046
            set -- $(echo "$row" | tr '|' ' ')
            shift
            values_program "$@" > "values$number.etg"
            kernels "values$number" static
            echo "values values$number $columns $rows $*" >> rows
        done
        set +f
    done
    for v in ${VOCABULARIES:-777 1024}; do
        printf '{"architectures":["TableForCausalLM"],"num_hidden_layers":1,"num_key_value_heads":1,"head_dim":1,"vocab_size":%d}' $v \
            > "vocabulary.$v.json"
        for sample in all greedy; do
            name=sample$v$sample # the logits are rows of a table
            mkdir model
            cp "vocabulary.$v.json" model/config.json
            "$bin/nan_rows" $v $v model/model.safetensors table
            "$bin/etimport" model -o $name.etg --template "$src/tests/system/serve/table/table.etg.in" --sample $sample --context 64 --slots 16
            rm -r model
            kernels $name static dynamic
            rm $name.etg
            echo "sample $name $v $v $sample" >> rows
        done
    done
    bundle_done 10 "$target"
}

say() { # PASS|FAIL WORDS
    printf '%s\n' "$*" | tee -a "$results/tables.txt"
}

wanted() { # PROGRAM ROWS: what is right
    etinterp "$bundle/$1.etg" --stage=graph --set=N="$2" --in=in.st ${weights:+--weights=$weights} --out=want.st
}

compare() { # ROWS
    rm -f got.st
    etrun kernel --set=N="$1" --in=in.st ${weights:+--weights=$weights} --device="$device" --out=got.st &&
        all_values same want.st got.st
}

judge() { # KIND PROGRAM COLUMNS ROWS WORDS...
    kind=$1 program=$2 columns=$3 rows=$4 weights=
    shift 4
    case $kind in
    nan) nan_rows "$rows" "$columns" in.st ;;
    values) weights=w.st && all_values make "$columns" in.st w.st ;;
    sample)
        rm -rf odd && mkdir odd
        cp "$bundle/vocabulary.$columns.json" odd/config.json
        nan_rows "$rows" "$columns" odd/model.safetensors table
        ;;
    esac
    [ "$kind" = sample ] || wanted "$program" "$rows"
    for how in static dynamic; do
        [ -e "$bundle/kernels/$program.$how.gz" ] || continue
        gzip -dc "$bundle/kernels/$program.$how.gz" > kernel
        if [ "$kind" = sample ]; then
            test_sampler kernel odd --every > said 2>&1 && verdict=PASS || verdict=FAIL
        else
            compare "$rows" > said 2>&1 && verdict=PASS || verdict=FAIL
        fi
        [ $verdict = PASS ] && passed=$((passed + 1)) || failed=$((failed + 1))
        say "$verdict" "$kind, $columns columns, $how: $*"
        [ $verdict = PASS ] || head -n 12 said | sed 's/^/    /' | tee -a "$results/tables.txt"
    done
}

run() { # OUT RESULTS [DEVICE]
    bundle=$(cd "$1" && pwd) results=$2 passed=0 failed=0
    mkdir -p "$results"
    results=$(cd "$results" && pwd)
    : > "$results/tables.txt"
    case $(cat "$bundle/target") in sm_*) device=cuda ;; *) device=hsa ;; esac
    device=${3:-$device}
    export LD_LIBRARY_PATH="$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" PATH="$bundle/bin:$PATH"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work"
    set -f
    while read -r row; do
        # shellcheck disable=SC2086
        judge $row < /dev/null
    done < "$bundle/rows"
    say "$passed passed, $failed failed on $device"
    [ $failed -eq 0 ] && [ $passed -gt 0 ]
}

if [ "$1" = run ]; then
    shift
    run "$@"
elif [ "$1" = test ]; then # BIN OUT TARGET: both, emulated
    shift
    rm -rf "$2"
    prepare "$@"
    run "$2" "$2.results" "emu:$3:cus=8"
else
    prepare "$@"
fi
