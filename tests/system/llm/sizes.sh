#!/bin/sh
# One kernel in the code object; machine code of the same size for 4 and for 64 layers, and for 4096 and
# for 65536 tokens a launch (fewer need fewer kinds of tiles); a model of Llama-3.2-1B's dimensions compiles. Weights are not needed for that.
. "$(dirname "$0")/lib.sh"

compile() { # NAME SED-SCRIPT [etimport options]: the demo's configuration, edited
    mkdir -p "sizes_$1"
    sed "$2" "$(checkpoint stories-llama)/config.json" > "sizes_$1/config.json"
    name=$1
    shift 2
    "$bin/etimport" "sizes_$name" --config-only -o "sizes_$name.etg" "$@"
    "$bin/etcc" "sizes_$name.etg" -o "sizes_$name.hsaco"
}
text_bytes() {
    # The section's size is the fourth column after its name.
    hex=$(readelf -SW "sizes_$1.hsaco" | sed -n 's/.* \.text *[A-Z]* *[0-9a-f]* *[0-9a-f]* *\([0-9a-f]*\) .*/\1/p')
    [ -n "$hex" ] || die "no .text in sizes_$1.hsaco"
    echo $((0x$hex))
}
near() { # A B: within 1%
    a=$(text_bytes "$1") b=$(text_bytes "$2")
    echo ".text of $1: $a bytes, of $2: $b bytes"
    [ $((a > b ? a - b : b - a)) -le $((a / 100)) ] || die "more than 1% apart"
}

compile base ''
kernels=$(readelf -sW sizes_base.hsaco | awk '$8 ~ /\.kd$/ { print $8 }' | sort -u | wc -l)
[ "$kernels" -eq 1 ] || die "$kernels kernel symbols"

compile deep 's/"num_hidden_layers": 4/"num_hidden_layers": 64/'
near base deep
[ -n "${ETCC_LONG-}" ] || exit 0
compile wide '' --max-tokens 4096
compile wider '' --max-tokens 65536
near wide wider

compile 1b 's/"head_dim": .*/"head_dim": 64,/
    s/"hidden_size": .*/"hidden_size": 2048,/
    s/"intermediate_size": .*/"intermediate_size": 8192,/
    s/"max_position_embeddings": .*/"max_position_embeddings": 131072,/
    s/"num_attention_heads": .*/"num_attention_heads": 32,/
    s/"num_hidden_layers": .*/"num_hidden_layers": 16,/
    s/"num_key_value_heads": .*/"num_key_value_heads": 8,/
    s/"rope_theta": .*/"rope_theta": 500000.0, "factor": 32.0, "low_freq_factor": 1.0,/
    s/"rope_type": .*/"high_freq_factor": 4.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"/
    s/"vocab_size": .*/"vocab_size": 128256/'
grep -q 'const V     = 128256 ' sizes_1b.etg || die 'not the dimensions of Llama-3.2-1B'
