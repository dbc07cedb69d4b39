# Read by run.sh: templates that are not built in, and a large checkpoint.
# shellcheck shell=sh

# A model of the embedding alone. $1: lines in front of it; the rest comes on standard input.
template() {
    {
        printf '%s\n' "$1"
        cat
    } > mine.etg.in
}
small() {
    template "$1" << 'END'
%field H = hidden_size : int 1..4096
%field V = vocab_size : int 1..4096
model $name
dim N in 1..$max_tokens
input tokens : i32[N]
weight embed : auto[$V, $H] = "model.embed_tokens.weight"
output y : f32[N, $V] = f32(gather(embed, tokens)) @ embed.T
END
}
options='--template mine.etg.in'
every='%unused model.layers.* model.norm.*
%ignore intermediate_size max_position_embeddings num_attention_heads num_hidden_layers num_key_value_heads
%ignore rms_norm_eps tie_word_embeddings'
small "%architecture LlamaForCausalLM llama
$every"
"$bin/etimport" plain -o mine.etg --template mine.etg.in || fail 'a template of its own'
grep -q 'weight embed : bf16\[53, 24\] = ' mine.etg || fail 'the type of embed'
small '%architecture LlamaForCausalLM llama'
refuses plain 'field "intermediate_size" may change what is computed' 'field "rms_norm_eps" may change'
small "%architecture OtherForCausalLM other
$every"
refuses plain 'mine.etg.in: error: no line "%architecture" names "LlamaForCausalLM"'

# What is wrong in a template is told with its line.
bad_template() { # LINE PATTERN...
    line=$1
    shift
    small "%architecture LlamaForCausalLM llama
$every
$line"
    refuses plain "$@"
}
bad_template '%let x = 1 +' 'mine.etg.in:5: error: expected a name'
bad_template '%let x = y' "mine.etg.in:5: error: there is no variable 'y'"
bad_template '%let x = 1 / 0' 'a division by zero'
bad_template '%let x = 9223372036854775807 + 1' 'an integer that is too large'
bad_template '%let x = [1, 2][2]' 'item 2 of a list of 2'
bad_template '%let x = sqrt("a")' "there is no function 'sqrt' that takes this"
bad_template '%let x = run([1, 2], 2)' 'run takes a list and the place of one of its items'
bad_template '%let x = count([1])' 'count takes a list of true and false'
bad_template '%let x = normal_quantile(1)' 'normal_quantile has no value here'
bad_template '%field x = rope.$missing.theta : real 0..1' "there is no variable 'missing' that may stand here"
bad_template '%let a = blocks([1, 1, 1, 2, 3, 3, 2, 3, 3, 2, 3, 3, 4])
%error if len(a) == 3 and a[0] == [0, 1, 3] and a[1] == [3, 3, 3] and a[2] == [12, 1, 1] : cut' 'plain/config.json: error: cut'
bad_template '%let a = blocks([false, false, true, false, false, true, false])
%error if len(a) == 2 and a[0] == [0, 3, 2] and a[1] == [6, 1, 1] and len(blocks([])) == 0 : cut' 'plain/config.json: error: cut'
bad_template '%let k = "hidden_size"
%field x = $k : real 100..200' 'field "hidden_size" is 24, expected 100 to 200'
bad_template '%error if run([1, 1, 2], 0) == 2 and count([true, false, true]) == 2 : both' 'plain/config.json: error: both'
bad_template '%error if normal_quantile(0.95) > 1.644853 and normal_quantile(0.95) < 1.644854 : so' 'plain/config.json: error: so'
bad_template '%if 1' 'a block without its %end'
bad_template '%if 1
%end' "'if' takes true or false, not an integer"
bad_template '%field x = hidden_size : number' 'a type is int LO..HI'
bad_template '%field x = hidden_size : one of a b' 'field "hidden_size" is an integer, expected a string'
bad_template '%include nothing' "there is no template 'nothing'"
bad_template '%include mine' 'include each other too deeply'
bad_template '%frobnicate' 'not a line of a template'
bad_template '%error if true : it is $missing' "there is no variable 'missing'"
bad_template '%error if true : hidden is wrong' 'plain/config.json: error: hidden is wrong'
bad_template '%field x = architectures : list
# ${x[0]}' 'text of config.json is not written into a model'
bad_template '%for i in 0..16384
%for j in 0..16384
%let x = i
%end
%end' 'the template takes too long'
bad_template 'model twice' "what the template gives is no model that etcc takes"
options=''
# One that includes another beside it.
mkdir -p beside
small "%architecture LlamaForCausalLM llama
%include part"
mv mine.etg.in beside/
printf '%s\n' "$every" > beside/part.etg.in
"$bin/etimport" plain -o mine.etg --template beside/mine.etg.in || fail 'a part beside a template'

# 16 GB of which only the headers are read: with 64 MB of memory and in 2 s of a processor's time.
hollow() { # DIR: lines of NAME TYPE BITS SIZES as its tensors, all of them holes
    awk -v file="$1/bytes" 'BEGIN { printf "{" }
    {
        n = split($4, d, ","); bytes = $3 / 8
        for (i = 1; i <= n; i++) bytes *= d[i]
        printf "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%.0f,%.0f]}", (NR > 1 ? "," : ""), $1, $2, $4, at, at + bytes
        at += bytes
    }
    END { printf "}"; printf "%.0f", at > file }' > "$1/header"
    header=$(wc -c < "$1/header")
    {
        for byte in $((header % 256)) $((header / 256 % 256)) $((header / 65536)) 0 0 0 0 0; do
            # shellcheck disable=SC2059
            printf "\\$(printf %03o $byte)"
        done
        cat "$1/header"
    } > "$1/model.safetensors"
    truncate -s $((8 + header + $(cat "$1/bytes"))) "$1/model.safetensors"
}
layers() { # COUNT: tensors beside the projections, and NAME ROWS COLUMNS of these
    printf 'model.embed_tokens.weight BF16 16 128256,4096\nlm_head.weight BF16 16 128256,4096\nmodel.norm.weight BF16 16 4096\n'
    for l in $(seq 0 $(($1 - 1))); do
        p=model.layers.$l
        printf '%s.input_layernorm.weight BF16 16 4096\n%s.post_attention_layernorm.weight BF16 16 4096\n' $p $p
        printf '%s.self_attn.q_proj 4096 4096\n%s.self_attn.o_proj 4096 4096\n' $p $p
        printf '%s.self_attn.k_proj 1024 4096\n%s.self_attn.v_proj 1024 4096\n' $p $p
        printf '%s.mlp.gate_proj 14336 4096\n%s.mlp.up_proj 14336 4096\n%s.mlp.down_proj 4096 14336\n' $p $p $p
    done
}
large='"hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "tie_word_embeddings": false, "num_hidden_layers":'
mkdir -p large large_codes
config "$large 32" > large/config.json
layers 32 | awk '/_proj/ { $0 = $1 ".weight BF16 16 " $2 "," $3 } 1' | hollow large
# Where columns have an order of their own, that is read, and nothing around it.
config "$large 125, \"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 128, \"desc_act\": true}" > large_codes/config.json
layers 125 | awk '/_proj/ {
        print $1 ".qweight I32 32 " $3 / 8 "," $2; print $1 ".qzeros I32 32 " $3 / 128 "," $2 / 8
        print $1 ".scales F16 16 " $3 / 128 "," $2; print $1 ".g_idx I32 32 " $3; next
    } 1' | hollow large_codes
limit='ulimit -d 65536' # which the sanitizers, whose memory is no smaller, do not live with
(ulimit -d 65536 && "$bin/etimport" --version) > /dev/null 2>&1 || limit=:
for m in large large_codes; do
    [ "$(cat $m/bytes)" -gt 16000000000 ] || fail "$m: $(cat $m/bytes) bytes"
    ($limit && ulimit -t 2 && "$bin/etimport" $m -o $m.etg) || fail $m
done
grep -q 'const L     = 32 ' large.etg || fail 'large.etg'
