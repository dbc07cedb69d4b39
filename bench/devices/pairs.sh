# shellcheck shell=sh
# Sourced by predict.sh, predict_models.sh and prepare.sh: the source of a model for launches of so many tokens; and a product,
# the sum of it over devices dealt by rows, a norm and a product behind it.
# pair HIDDEN WIDTH BEHIND ROWS: WIDTH: columns of the sum, BEHIND: of the second product. What the first multiplies is made of 64 columns, which costs
# next to nothing.
pair() { # HIDDEN, of the sum, behind it, rows: what is multiplied first is made of 64 columns, which costs next to nothing
    cat << END
model pair
const H=$1, F=$2, V=$3
dim N in $4..$4
input x : bf16[N, 64]
weight g : f32[H] = "g"
weight src : bf16[F, 64] = "src"
weight down : bf16[H, F] = "down"
weight up : bf16[V, H] = "up"
h = bf16(x @ src.T) @ down.T
output z : bf16[N, V] = bf16(rmsnorm(h, g, eps=1e-5) @ up.T)
END
}
# Name, hidden, columns of the sum on one of two devices: Qwen3-8B, Qwen3-32B and Llama-3-70B.
pair_widths() {
    printf '%s\n' '8B 4096 7168' '32B 5120 12800' '70B 8192 14336'
}
# With $bin, $src and $work.
source_of() { # MODEL TOKENS CONTEXT: work/model.etg
    slots=$2 positions=640
    [ "$3" != prompt ] || { slots=1 positions=$(($2 + 64)); }
    "$bin/etimport" "$src/bench/models/$1" --config-only --name=m --slots "$slots" --context "$positions" --max-tokens "$2" -o "$work/model.etg"
    [ "$3" = prompt ] || return 0
    sed -i "s/^input tokens, positions, slots : i32\[N\]/&\ninput last : i32[1]/
            s/^output logits : f32\[N, V\] = rmsnorm(x,/output logits : f32[1, V] = rmsnorm(gather(x, last),/
            s/^\(dim N in\) .*/\1 $2..$2/" "$work/model.etg"
    grep -q 'gather(x, last)' "$work/model.etg" || { echo "$1 has other logits than were expected" >&2; return 1; }
}
