#!/bin/sh
# prepare.sh BIN OUT [MACHINE [ROWS]]
# Everything that run.sh needs on a machine with a Hopper card, into the new folder OUT: kernels for the rows of ROWS (rows.txt
# beside this script) made for MACHINE (H100, or another of 'etcc --list-machines'), etbench and what it links beyond libc. The
# place of LLVM, which measuring does not need, is taken by a library of its names. Under 60 MB. Needs ptxas, gcc and binutils.
# ROWS may be features.txt: then what run.sh makes is a table of what each feature of 'etcc --list-features' is worth.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$1" && pwd) src=$(cd "$here/../.." && pwd) machine=${3:-H100} rows=$(realpath "${4:-$here/rows.txt}")
. "$here/../bundle.sh"
target=$(bundle_target "$machine")
case $target in sm_*) PATH=$PATH:/usr/local/cuda/bin ;; esac
out=$(bundle_folder "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$out"
mkdir bin lib kernels inputs models

# ---- the tools, without what only debuggers read
for tool in etbench etrun; do
    strip -o "bin/$tool" "$bin/$tool"
    ldd "$bin/$tool"
done | awk '$2 == "=>" { print $1, $3 }' | sort -u > "$work/linked"
# What LLVM alone links is left out with it.
readelf -d "$bin/etbench" "$bin/etrun" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u > "$work/direct"
glpk=$(awk '$1 ~ /^libglpk/ { print $2 }' "$work/linked")
[ -z "$glpk" ] || ldd "$glpk" | awk '$2 == "=>" { print $1 }' >> "$work/direct"
while read -r name file; do
    case $name in libc.so* | libm.so* | libdl.so* | libpthread.so* | ld-linux* | libLLVM*) continue ;; esac
    ! grep -qxF "$name" "$work/direct" || cp -L "$file" lib/
done < "$work/linked"
llvm=$(awk '$1 ~ /^libLLVM/ { print $1 }' "$work/linked")
if [ -n "$llvm" ]; then
    objdump -T "$bin/etbench" | awk '$NF ~ /^LLVM/ { print "void " $NF "(void) { __builtin_trap(); }" }' | sort -u > "$work/names.c"
    version=$(objdump -T "$bin/etbench" | sed -n 's/.*(\{0,1\}\(LLVM_[0-9.]*\))\{0,1\} .*/\1/p' | head -n 1)
    echo "${version:-LLVM} { global: LLVM*; local: *; };" > "$work/names.map"
    gcc -shared -fPIC -w -Wl,-soname,"$llvm" -Wl,--version-script="$work/names.map" -o "lib/$llvm" "$work/names.c"
fi
strip lib/*
cp "$here/run.sh" "$here/../bundle.sh" "$here/torch_rows.py" .

# ---- models: NAME.MOST[.long|.prompt][.only] is NAME for launches of at most MOST tokens, or of so many only, of 640 positions, of
# 4224, or of a prompt whose last token alone has logits; experts[.MOST][.only] is a layer of them.
field() { sed -n "s/.*\"$2\": *\([a-z0-9]*\).*/\1/p" "$1"; }

model_of() { echo "${1%.only}" | sed 's/\.[0-9]*\(\.long\|\.prompt\)\{0,1\}$//'; }

source_of() ( # KERNEL
    case $1 in
    experts*)
        most=${1%.only} least=1
        most=${most#experts} && most=${most#.}
        : "${most:=4096}"
        case $1 in *.only) least=$most ;; esac
        cp "$src/bench/models/qwen3-30b-a3b/config.json" models/experts.json
        sed "s/^\(dim N in\) .*/\1 $least..$most/" "$src/bench/models/qwen3-30b-a3b/layer.etg" > "$work/$1.etg"
        exit
        ;;
    esac
    name=${1%.only} name=${name%.prompt} name=${name%.long}
    most=${name##*.} name=${name%.*} slots=32 context=640
    [ "$most" -gt 32 ] || slots=$most
    folder=$src/bench/models/$name
    [ -d "$folder" ] || folder=$bin/../checkpoints/$name context=128
    case ${1%.only} in
    *.long) context=4224 ;;
    *.prompt) slots=1 context=$((most + 64)) ;;
    esac
    [ -f "models/$name.json" ] || cp "$folder/config.json" "models/$name.json"
    "$bin/etimport" "$folder" --config-only --name=m --slots "$slots" --context "$context" --max-tokens "$most" -o "$work/$1.etg"
    case $1 in *.only) sed -i "s/^\(dim N in\) .*/\1 $most..$most/" "$work/$1.etg" ;; esac
    case ${1%.only} in
    *.prompt)
        sed -i 's/^input tokens, positions, slots : i32\[N\]/&\ninput last : i32[1]/
                s/^output logits : f32\[N, V\] = rmsnorm(x,/output logits : f32[1, V] = rmsnorm(gather(x, last),/' "$work/$1.etg"
        grep -q 'gather(x, last)' "$work/$1.etg" || { echo "prepare.sh: $name has other logits than were expected" >&2; exit 1; }
        ;;
    esac
)

features=$("$bin/etcc" --list-features | awk '{ print $1 }')
# Columns of a row that asks for `features`: each left out alone, and all of them, and what is off unless asked for.
feature_columns() {
    # shellcheck disable=SC2086
    printf ' without-%s' $features all
    echo ' flag-in-data'
}

kernel() ( # KERNEL COLUMN
    case $2 in
    etcc) set -- "$1" "$2" ;;
    unstreamed) set -- "$1" "$2" --unstreamed ;;
    flag-in-data) set -- "$1" "$2" --flag-in-data=all ;;
    without-all) set -- "$1" "$2" --without="$(echo $features | tr ' ' ,)" ;;
    without-*) set -- "$1" "$2" --without="${2#without-}" ;;
    *) set -- "$1" "$2" --schedule="$2" ;;
    esac
    object=kernels/$1.$2 source=$work/$1.etg
    [ ! -e "$object" ] || exit 0
    case $1 in *.prompt) set -- "$@" --variants=12 ;; *.64) set -- "$@" --variants=4 ;; esac
    shift 2
    "$bin/etcc" "$source" --machine="$machine" -v "$@" -o "$object" 2> "$work/said" || { cat "$work/said" >&2; exit 1; }
)

# Bytes of weights of experts that a step of N tokens does not choose, if all choices are as likely: of E, (1 - K/E)^N of them.
unchosen() { # CONFIG N
    experts=$(field "$1" num_experts) width=$(field "$1" moe_intermediate_size) bits=16
    : "${experts:=$(field "$1" num_local_experts)}" "${width:=$(field "$1" intermediate_size)}"
    ! grep -q '"mxfp4"' "$1" || bits=4.25
    ! grep -q '"quant_method": "fp8"' "$1" || bits=8
    awk -v e="${experts:-0}" -v k="$(field "$1" num_experts_per_tok)" -v n="$2" -v f="$width" -v h="$(field "$1" hidden_size)" \
        -v l="$(field "$1" num_hidden_layers)" -v bits=$bits 'BEGIN { printf "%.0f", e ? l * e * (1 - k / e) ^ n * 3 * f * h * bits / 8 : 0 }'
}

# How many units of 64 KiB a step has to read: weights but those of experts that are not chosen and of rows of an embedding
# that is no head besides, and what is kept of the positions before. Of a layer of experts, those that N tokens choose.
units() { # KERNEL N CONTEXT
    if [ "${1%%.*}" = experts ]; then
        awk -v n="$2" 'BEGIN { printf "%.0f", 128 * (1 - (1 - 8 / 128) ^ n) * 3 * 768 * 2048 * 2 / 65536 }'
        return
    fi
    config=models/$(model_of "$1").json
    weights=$("$bin/etrun" "kernels/$1.etcc" --list | sed -n 's/^device memory: \([0-9]*\) bytes of weights.*/\1/p')
    if [ "$(field "$config" tie_word_embeddings)" = false ]; then
        weights=$((weights - 2 * $(field "$config" vocab_size) * $(field "$config" hidden_size)))
    fi
    weights=$((weights - $(unchosen "$config" "$2")))
    head=$(field "$config" head_dim)
    : "${head:=$(($(field "$config" hidden_size) / $(field "$config" num_attention_heads)))}"
    kept=$((2 * 2 * $(field "$config" num_hidden_layers) * $(field "$config" num_key_value_heads) * head))
    echo $(((weights + kept * $2 * $3 + 65535) / 65536))
}

# The numbers 0 .. N - 1 as the tensor `positions`.
positions() { # N
    head="{\"positions\":{\"dtype\":\"I32\",\"shape\":[$1],\"data_offsets\":[0,$(($1 * 4))]}}"
    # shellcheck disable=SC2059
    printf "$(printf '\\%03o' ${#head})\\000\\000\\000\\000\\000\\000\\000"
    printf '%s' "$head"
    # shellcheck disable=SC2059
    printf "$(awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "\\%03o\\%03o\\000\\000", i % 256, int(i / 256) }')"
}

# ---- rows: name|goal|kernel|N|units|columns|torch|options of etbench
sed 's/#.*//; s/ *| */|/g; /^ *$/d' "$rows" > "$work/rows"
small=1 large=1 short=
: > rows
while IFS='|' read -r name goal file n context torch more; do
    [ -f "$work/$file.etg" ] || source_of "$file"
    columns=etcc
    case $more in
    features) more=$(feature_columns) ;;
    features:*) more=without-$(echo "${more#*:}" | sed 's/,/ without-/g') ;;
    *) more="kernels $more" ;;
    esac
    for column in etcc $more; do
        kernel "$file" "$column"
        [ "$column" != etcc ] || continue
        if cmp -s "kernels/$file.etcc" "kernels/$file.$column"; then
            rm "kernels/$file.$column"
        else
            columns="$columns $column"
        fi
    done
    case $file in
    experts*) options= ;;
    *.prompt | *.prompt.only)
        positions "$n" > "inputs/positions.$n"
        options="--input positions=inputs/positions.$n --range slots=0..0 --range last=$((n - 1))..$((n - 1))"
        ;;
    *) options="--range positions=$((context - 1))..$((context - 1))" ;;
    esac
    [ "${file%%.*}" = experts ] || options="$options --range tokens=0..$(($(field "models/$(model_of "$file").json" vocab_size) - 1))"
    units=$(units "$file" "$n" "$context")
    [ "$units" -ge 8192 ] || short=yes
    if [ "$units" -lt 60000 ]; then [ "$units" -le $small ] || small=$units; else [ "$units" -le $large ] || large=$units; fi
    [ -z "$torch" ] || torch="$(model_of "$file") $n $context"
    echo "$name|$goal|$file|$n|$units|$columns|$torch|$options" >> rows
done < "$work/rows"

# ---- the plain read, of 4 GB at most and of more; and of 3 GB that stay in no cache but take the place of what is in one, between
# the launches of rows that read so little that their weights could be in the L2 or their pages known from the launch before
plain_read() { # NAME UNITS [SED]: its code changed by SED
    sed "s/UNITS/$2/; s/BYTES/$(($2 * 65536))/" "$here/read.json" > "$work/read.json"
    {
        sed "${3:-}" "$here/read.ptx"
        sum=$(gzip -c "$work/read.json" | tail -c 8 | od -An -tx1 -N4 | awk '{ print $4 $3 $2 $1 }')
        { printf 'ETCC-MANIFEST %08x %s\n' "$(wc -c < "$work/read.json")" "$sum"; cat "$work/read.json"; } > "$work/manifest"
        printf '.visible .global .align 1 .b8 etcc_manifest[%d] = {' "$(wc -c < "$work/manifest")"
        od -An -v -tu1 "$work/manifest" | sed 's/  */,/g; 1s/^,//'
        echo '};'
    } > "$work/read.ptx"
    ptxas -arch="$target" "$work/read.ptx" -o "kernels/$1"
}
case $target in sm_*) [ -z "$short" ] || plain_read flush 49152 's/ld\.global\.cs/ld.global/' ;; esac
for size in small large; do
    ! grep -q '| *features[^|]*$' "$work/rows" || break
    eval "units=\$$size"
    [ "$units" -gt 1 ] || continue
    case $target in
    sm_*) plain_read "read.$size" "$units" ;;
    *)
        printf 'model read\ndim N in 1..%d\ninput x : f32[N, 16384]\noutput y : f32[N] = max(x, axis=1)\n' "$units" > "$work/read.etg"
        "$bin/etcc" "$work/read.etg" --machine="$machine" -o "kernels/read.$size"
        ;;
    esac
done
{
    bundle_about "$target" "$machine"
    if grep -q '| *features[^|]*$' "$work/rows"; then "$bin/etcc" --list-features | sed 's/^/feature /'; fi
} > about
bundle_done 60 "$machine ($target)"
