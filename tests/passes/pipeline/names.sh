#!/bin/sh
# names.sh ETCC SRC WORK: what tasks are called, by the rules of passes/README.md.
set -eu
etcc=$1 src=$2
mkdir -p "$3" && cd "$3"
names() { # FILE...: of its tasks, in order
    "$etcc" "$@" --variants=1 --to=scheduled -o - | sed -n 's/^ *task @\([^ ]*\) .*/\1/p' | tr '\n' ' '
}
same() { # WANT FILE...
    want=$1
    shift
    got=$(names "$@")
    [ "$got" = "$want " ] || {
        echo "tasks of $* are called $got, not $want" >&2
        exit 1
    }
}
same 'x q.rope_table attn.q kc_update vc_update a attn.o mlp.gate_up mlp.down logits' "$src/tests/unit/import/llama.etg"
cat > m.etg << 'X'
model m
dim N in 1..16
input x : f32[N, 64]
weight wq : bf16[64, 64] = "h.0.attn.q.weight"
weight wk : bf16[64, 64] = "h.0.attn.k.weight"
weight w1 : bf16[64, 64]
weight w2 : bf16[64, 64] = "lm_head.weight"
y = (x @ wq.T) * (x @ wk.T)
y = exp(y)
y = softmax(y)
y = softmax(y @ w1.T)
output z : f32[N, 64] = y @ w2.T
X
same 'attn.qk y.w1 z' m.etg
cp m.etg n.etg
sed -i 's/^model m/model n/' n.etg
same 'm.attn.qk m.y.w1 m.z n.attn.qk n.y.w1 n.z' m.etg n.etg
