#!/bin/sh
# same_code.sh BEFORE_BIN AFTER_BIN [--quick] [--ir] [--cache=DIR] [--jobs=N] [--keep=DIR] [--only=PATTERN]
# Do two builds of etcc make the same code objects, to the byte? Compiles every model and small program of the tree with both, for
# all targets (NVIDIA's as PTX, which needs no assembler), and compares what comes out with cmp; of sources that are refused, the
# messages. Static schedules for all, other schedules and options for a sample that takes each of them to each target.
#   --quick          a dozen models, under a minute and a half of processor time
#   --ir             compare the LLVM IR before LLVM's passes in place of objects: a fifth of the time, and the same answer where both builds
#                    have the same LLVM and no change in what comes after (codegen/object.c, package and link_math of the families)
#   --cache=DIR      keep what BEFORE_BIN made in DIR, and take it from there next time
#   --keep=DIR       leave files that differ in DIR, as NAME.before and NAME.after
#   --only=PATTERN   only cases whose line (source, target, options) matches the extended regular expression
# Prints the cases that differ and a line of counts; exit status 1 if any differs. The sources are those of the tree this script is in.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
self=$src/bench/same_code.sh

# How this script runs itself for one case: FILES TARGET OPTIONS, in the folder with the sources.
if [ "${1:-}" = --case ]; then
    # shellcheck disable=SC2086
    set -- $2
    sources=$(echo "$1" | tr , ' ') target=$2
    shift 2
    case $target in sm_*) kind=ptx ;; *) kind=hsaco ;; esac
    name=$(echo "$sources $target $*" | sed 's/[^A-Za-z0-9_.=+-]/-/g')
    made=$same_work/made.$$
    mkdir -p "$made"
    compile() { # BIN OUT OPTION...: an object, or what was said and the exit status
        bin=$1 out=$2 status=0
        shift 2
        # shellcheck disable=SC2086
        if [ -n "$same_ir" ]; then
            "$bin/etcc" $sources --target="$target" "$@" --unoptimised --emit-llvm="$made/object.$kind" > "$made/said" 2>&1 || status=$?
        else
            "$bin/etcc" $sources --target="$target" "$@" -o "$made/object.$kind" > "$made/said" 2>&1 || status=$?
        fi
        if [ $status -eq 0 ]; then mv "$made/object.$kind" "$out"; else
            echo "exit status $status" >> "$made/said"
            mv "$made/said" "$out"
        fi
    }
    if [ -n "$same_cache" ]; then
        # shellcheck disable=SC2086
        key=$({ echo "$same_before_hash $same_ir $sources $target $*" && cat $sources; } | sha256sum)
        before=$same_cache/${key%% *}
        if [ ! -e "$before" ]; then
            compile "$same_before" "$before.new.$$" "$@"
            mv "$before.new.$$" "$before"
        fi
    else
        before=$made/before
        compile "$same_before" "$before" "$@"
    fi
    compile "$same_after" "$made/after" "$@"
    what=object
    case $(tail -n 1 "$before") in 'exit status '*) what=message ;; esac
    if cmp -s "$before" "$made/after"; then echo "same $what"; else
        echo "differs: etcc $sources --target=$target $*"
        if [ -n "$same_keep" ]; then
            cp "$before" "$same_keep/$name.before"
            cp "$made/after" "$same_keep/$name.after"
        fi
    fi
    rm -r "$made"
    exit 0
fi

usage() {
    sed -n '2s/^# /usage: /p' "$self" >&2
    exit 2
}
same_before='' same_after='' same_cache='' same_keep='' same_ir='' quick='' jobs=$(nproc) only=.
for argument; do
    case $argument in
    --quick) quick=yes ;;
    --ir) same_ir=yes ;;
    --cache=*) same_cache=${argument#*=} ;;
    --keep=*) same_keep=${argument#*=} ;;
    --jobs=*) jobs=${argument#*=} ;;
    --only=*) only=${argument#*=} ;;
    -*) usage ;;
    *) if [ -z "$same_before" ]; then same_before=$argument; elif [ -z "$same_after" ]; then same_after=$argument; else usage; fi ;;
    esac
done
for tool in "$same_before/etcc" "$same_before/etimport" "$same_after/etcc"; do [ -x "$tool" ] || usage; done
same_before=$(cd "$same_before" && pwd) same_after=$(cd "$same_after" && pwd)
same_before_hash=$(sha256sum < "$same_before/etcc")
same_work=$(mktemp -d)
trap 'rm -rf "$same_work"' EXIT
trap 'exit 1' INT TERM
for folder in "$same_cache" "$same_keep"; do [ -z "$folder" ] || mkdir -p "$folder"; done
[ -z "$same_cache" ] || same_cache=$(cd "$same_cache" && pwd)
[ -z "$same_keep" ] || same_keep=$(cd "$same_keep" && pwd)
export same_before same_after same_before_hash same_cache same_keep same_ir same_work

# ---- sources, side by side in one folder, so that messages name them alike everywhere
mkdir "$same_work/sources"
cd "$same_work/sources"
flat() { echo "$1" | sed 's|/|-|g'; }
take() { # LIST FILE...: copied here, named in LIST
    list=$1
    shift
    for file; do
        name=$(flat "${file#"$src"/}")
        cp "$file" "$name"
        echo "$name" >> "$same_work/$list"
    done
}
take models "$src"/tests/targets/models/*.etg "$src"/tests/unit/import/*.etg "$src"/examples/*/*.etg "$src"/bench/models/*/*.etg
small() { find "$src/tests" \( -name '*.etg' -o -name '*.eti' \) ! -path '*/fuzz/*' ! -path '*/models/*' ! -path '*/import/*' | sort; }
# shellcheck disable=SC2046
take programs $(small) "$src"/examples/eti/*.eti

# Published models, and of one of them the formats of weights: NAME CONFIG TOKENS [OPTION...]
published() {
    name=$1 config=$2 tokens=$3
    shift 3
    "$same_before/etimport" "$config" --config-only --name=m --context 640 --slots 4 --max-tokens "$tokens" "$@" -o "$name.etg"
    echo "$name.etg" >> "$same_work/models"
}
for folder in "$src"/bench/models/*/; do
    [ -f "$folder/config.json" ] || continue
    for tokens in 1 32 512; do published "$(basename "$folder").$tokens" "$folder" $tokens; done
done
llama=$src/bench/models/llama-3.2-1b
quantised() { # NAME FIELDS [OPTION...]
    mkdir -p "$1"
    sed "1s/{/{\"quantization_config\": {$2},/" "$llama/config.json" > "$1/config.json"
    folder=$1
    shift 2
    for tokens in 1 32; do published "llama.$folder.$tokens" "$folder" $tokens "$@"; done
}
groups() { # LAYOUT WEIGHTS
    printf '"quant_method": "compressed-tensors", "format": "%s", "config_groups": {"group_0": {"weights": {%s}}}' "$1" "$2"
}
quantised fp8_block '"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]'
quantised fp8_rows '"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]' --activations fp8
quantised fp8_channel "$(groups float-quantized '"type": "float", "num_bits": 8, "strategy": "channel"')"
quantised int8_channel "$(groups int-quantized '"type": "int", "num_bits": 8, "strategy": "channel"')"
quantised int4_128 "$(groups pack-quantized '"type": "int", "num_bits": 4, "strategy": "group", "group_size": 128')"
quantised int4_32 "$(groups pack-quantized '"type": "int", "num_bits": 4, "strategy": "group", "group_size": 32')"
quantised gptq '"quant_method": "gptq", "bits": 4, "group_size": 128'
quantised awq '"quant_method": "awq", "bits": 4, "group_size": 128' --products f16

# ---- cases: FILES TARGET OPTIONS
targets='gfx90a gfx942 gfx950 gfx1100 gfx1201 sm_80 sm_90 sm_100'
features=$("$same_before/etcc" --list-features | awk '{ print $1 }' | paste -sd, -)
{
    echo --schedule=dynamic
    echo --schedule=hybrid
    echo --schedule=kernels
    echo --sparse
    echo --flag-in-data=all
    echo --sparse=2:4
    echo --variants=1
    echo --variants=4
    echo --unstreamed
    echo --slices=auto
    echo --slices=rows:2
    echo --placement=all
    echo --profile-kernel
    echo --without="$features"
    echo --schedule=hybrid --slices=2 --flag-in-data=none
} > "$same_work/options"
static() { # each FILES of the list for each target
    for target in $targets; do sed "s/\$/ $target/" "$1"; done
}
# Each FILES of LIST once with each of the first COUNT options, for a target that moves on.
sample() { # LIST COUNT
    awk -v targets="$targets" -v most="$2" '
        BEGIN { n = split(targets, target, " ") }
        FILENAME ~ /options$/ { if (options < most) option[options++] = $0; next }
        { for (i = 0; i < options; i++) print $1, target[(row + i * 3) % n + 1], option[i]; row++ }' "$same_work/options" "$1"
}
cat > "$same_work/mixes" << 'EOF'
tests-unit-import-stories-llama.etg,tests-unit-import-stories-moe.etg
tests-targets-models-int4_packed.etg,tests-targets-models-mxfp4.etg,examples-mlp-mlp.etg
tests-targets-models-vit.etg,tests-targets-models-bert.etg
llama.int4_128.32.etg,qwen3-0.6b.32.etg
EOF
cd "$same_work"
if [ -z "$quick" ]; then
    static models
    sample models 99
    static programs
    sample programs 5
    static mixes
    sample mixes 3
    "$same_before/etcc" --list-machines | awk '$2 ~ /^(gfx|sm_)/ {
        print "llama-3.2-1b.32.etg", $2, "--machine=" $1
        print "llama.fp8_block.32.etg", $2, "--machine=" $1
    }'
else
    for name in tests-unit-import-stories-llama tests-unit-import-mixtral tests-targets-models-linear tests-targets-models-int4_packed tests-targets-models-mxfp4 \
        tests-targets-models-fp8_block.fp8 tests-targets-models-gemma3 tests-targets-models-vit examples-mlp-mlp tests-passes-pipeline-split llama.awq.1 \
        llama-3.2-1b.1; do
        echo $name.etg
    done > dozen
    targets='gfx942 sm_90'
    static dozen
    targets='gfx950 sm_100 gfx1100 sm_80 gfx90a gfx1201 gfx942 sm_90'
    sample dozen 99 | awk 'NR % 13 == 1'
    echo llama-3.2-1b.512.etg sm_90
    echo "$(sed -n 1p mixes) gfx942"
    echo "$(sed -n 2p mixes) sm_90 --schedule=hybrid"
fi | grep -E -e "$only" > cases || { echo "same_code.sh: no case matches $only" >&2; exit 2; }

cd sources
xargs -d '\n' -P "$jobs" -n 1 sh "$self" --case < ../cases > ../results
grep '^differs' ../results | sort || true
objects=$(grep -c '^same object' ../results || true) messages=$(grep -c '^same message' ../results || true)
differ=$(grep -c '^differs' ../results || true)
echo "$objects code objects and $messages messages are the same, $differ differ"
[ $((objects + messages + differ)) -eq "$(wc -l < ../cases)" ] || { echo 'same_code.sh: not every case came to an end' >&2; exit 1; }
[ "$differ" -eq 0 ] && [ "$objects" -gt 0 ]
