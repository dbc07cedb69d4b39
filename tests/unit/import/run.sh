#!/bin/sh
# Checkpoints good and bad, made here from config.json text and random tensors, through etimport.
# $1: folder with etimport and etfill; $2: the source tree; $3: scratch folder (emptied).
set -eu
bin=$1 src=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
cd "$work"

# Counted in a file: some checks run in the subshell of a pipe.
: > failures
fail() {
    printf 'FAIL: %s\n' "$*" | tee -a failures
}

# A Llama of 2 layers, H 24, 4 heads of 6, 2 of them for keys and values. $1: fields to put in front
# (a later duplicate is an error, so fields named in $1 are left out of the rest, as is what $left_out says).
left_out=
config() {
    rest='"architectures": ["LlamaForCausalLM"]
"hidden_size": 24
"intermediate_size": 37
"max_position_embeddings": 99
"num_attention_heads": 4
"num_hidden_layers": 2
"num_key_value_heads": 2
"rms_norm_eps": 1e-05
"vocab_size": 53
"tie_word_embeddings": true'
    printf '{'
    printf '%s\n' "$rest" | while IFS= read -r line; do
        key=${line%%:*}
        case "$1 $left_out:" in *"$key:"*) ;; *) printf '%s,\n' "$line" ;; esac
    done
    printf '%s}\n' "${1:-\"model_type\": \"llama\"}"
}

# The tensors of that model, a line each. $1: type.
tensors() {
    t=$1
    echo "model.embed_tokens.weight:${t}[53,24]:-1:1"
    echo "model.norm.weight:${t}[24]:-1:1"
    for l in 0 1; do
        p=model.layers.$l
        echo "$p.input_layernorm.weight:${t}[24]:0:1"
        echo "$p.post_attention_layernorm.weight:${t}[24]:0:1"
        echo "$p.self_attn.q_proj.weight:${t}[24,24]:-1:1"
        echo "$p.self_attn.k_proj.weight:${t}[12,24]:-1:1"
        echo "$p.self_attn.v_proj.weight:${t}[12,24]:-1:1"
        echo "$p.self_attn.o_proj.weight:${t}[24,24]:-1:1"
        echo "$p.mlp.gate_proj.weight:${t}[37,24]:-1:1"
        echo "$p.mlp.up_proj.weight:${t}[37,24]:-1:1"
        echo "$p.mlp.down_proj.weight:${t}[24,37]:-1:1"
    done
}

# checkpoint DIR CONFIG_FIELDS [sed script on the list of tensors] [type]
checkpoint() {
    mkdir -p "$1"
    config "$2" > "$1/config.json"
    tensors "${4:-bf16}" | sed -E "${3:-}" > "$1/list"
    # shellcheck disable=SC2046
    "$bin/etfill" "$1/model.safetensors" $(cat "$1/list")
}

# accepts DIR PATTERN... : imports without a word, and the .etg holds each line.
accepts() {
    dir=$1
    shift
    # shellcheck disable=SC2086
    if ! "$bin/etimport" "$dir" -o "$dir.etg" ${options:-} > "$dir.out" 2>&1; then
        fail "$dir was refused: $(cat "$dir.out")"
        return
    fi
    for want in "$@"; do
        grep -qF -- "$want" "$dir.etg" || fail "$dir.etg has no \"$want\""
    done
}

# refuses DIR PATTERN... : exit 1, nothing written, and the message has each pattern.
refuses() {
    dir=$1
    shift
    rm -f "$dir.etg"
    status=0
    # shellcheck disable=SC2086
    "$bin/etimport" "$dir" -o "$dir.etg" ${options:-} > "$dir.out" 2>&1 || status=$?
    [ $status -eq "${want_status:-1}" ] || fail "$dir: status $status: $(cat "$dir.out")"
    [ -z "$(ls -d "$dir".etg* 2> /dev/null)" ] || fail "$dir: something was written"
    for want in "$@"; do
        grep -qF -- "$want" "$dir.out" || fail "$dir: no \"$want\" in: $(cat "$dir.out")"
    done
}

# The file a person would read, whole: one of each family.
golden() {
    "$bin/etimport" "$bin/../checkpoints/$1" -o "$1.etg" || fail "$1 was refused"
    if [ -n "${BLESS:-}" ]; then cp "$1.etg" "$src/tests/unit/import/$1.etg"; fi
    diff -u "$src/tests/unit/import/$1.etg" "$1.etg" || fail "$1.etg differs"
}
for m in stories-llama llama llama3 qwen3 stories-moe mixtral qwen3_moe; do
    golden $m
done

. "$src/tests/unit/import/good.sh"
. "$src/tests/unit/import/bad.sh"
. "$src/tests/unit/import/templates.sh"

[ ! -s failures ]
