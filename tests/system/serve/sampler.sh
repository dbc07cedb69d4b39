#!/bin/sh
# Tokens that a kernel chooses are those that the sampler of etllm chooses from its logits.
. "$(dirname "$0")/lib.sh"

# The logits are rows of a table, of a vocabulary that is no multiple of anything, of one that is, and of one whose rows are many blocks.
for v in 777 1024 10007; do
    rows=$v
    [ $v != 10007 ] || rows=40
    mkdir -p "table.$v"
    printf '{"architectures":["TableForCausalLM"],"num_hidden_layers":1,"num_key_value_heads":1,"head_dim":1,"vocab_size":%d,"intermediate_size":%d}' \
        $v $rows > "table.$v/config.json"
    "$bin/etfill" "table.$v/model.safetensors" --seed 3 "table:f32[$rows,$v]:-6:6"
    "$bin/etimport" "table.$v" -o "table.$v.etg" --template "$src/tests/system/serve/table/table.etg.in" --sample all --context 64 --slots 16
    "$bin/etcc" "table.$v.etg" -o "table.$v.hsaco"
    "$bin/test_sampler" "table.$v.hsaco" "table.$v" || die "table of $v"
done

# Rows with NaN, infinities and zeros of both signs in every place: -1 of what is not a number, or where nothing may come; and the likeliest
# ones are those that the host finds.
samples='all greedy'
for v in 777 1024; do
    if [ -n "${ETCC_LONG-}" ]; then
        targets='gfx90a gfx942 gfx950 gfx1100 gfx1201'
    elif [ $v = 777 ]; then # one of each
        targets=gfx942 samples=all
    else
        targets=gfx1100 samples=greedy
    fi
    mkdir -p "odd.$v"
    sed '' "table.$v/config.json" > "odd.$v/config.json"
    "$bin/nan_rows" $v $v "odd.$v/model.safetensors" table
    for target in $targets; do
        for sample in $samples; do
            "$bin/etimport" "odd.$v" -o odd.etg --template "$src/tests/system/serve/table/table.etg.in" --sample $sample --context 64 --slots 16
            "$bin/etcc" odd.etg --target="$target" -o odd.hsaco
            "$bin/test_sampler" odd.hsaco "odd.$v" --every || die "$target, $sample: odd table of $v"
        done
    done
done

# A classifier has no next token.
refuses 1 'does not say what the next token is' "$bin/etimport" "$bin/../checkpoints/vit" -o vit.etg --sample all
refuses 2 'sample' "$bin/etimport" "$stories" -o x.etg --sample some
