#!/bin/sh
# ahead.sh BIN WORK TARGET MACHINE: tiles of products of many rows ask for the first of their weights before their waits, where few
# tiles read the same of them, and not where many do. Those of experts ask for the first of theirs before their waits where the wait
# for whose they are is implied by others. Attention knows before its waits where its keys are, and which of its rows have the same.
# A norm's weights are loaded before its waits, and what it scales once, 16 bytes at a time.
set -eu
bin=$1 work=$2 target=$3 machine=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
die() {
    echo "ahead.sh: $target: $*" >&2
    exit 1
}
ptx() { # LEAST MOST [OPTIONS]: rows
    cat > ahead.etg << X
model ahead
dim N in $1..$2
input x : bf16[N, 2048]
weight wa : bf16[4096, 2048]
weight wb : bf16[2048, 4096]
y = relu(x @ wa.T)
output z : f32[N, 2048] = y @ wb.T
X
    shift 2
    "$bin/etcc" ahead.etg --machine="$machine" --target="$target" --variants=1 --unstreamed -o ahead.ptx "$@"
}
ptx 33 64
# The first of them come before the first look at a counter.
awk '/prefetch\.global\.L2/ { asked++ } /ld\.relaxed\.gpu\.global/ { exit } END { exit !asked }' ahead.ptx || die 'nothing is asked for'
# So do the first copies of them, 32 KB at most, which are the first to leave the L2; rows are not.
once='cp\.async\.cg\.shared\.global\.L2::cache_hint\.L2::256B .*, 16, %r'
first=$(awk -v once="$once" '$0 ~ once { n++ } /wgmma/ { n = 0 } /ld\.relaxed\.gpu\.global/ { exit } END { print n + 0 }' ahead.ptx)
[ "$first" -gt 0 ] && [ "$first" -le 8 ] || die "$first copies of weights by each work-item before the first look at a counter"
grep -q 'cp\.async\.cg\.shared\.global\.L2::256B \[' ahead.ptx || die 'rows leave the L2 first, too'
ptx 33 64 --without=once
! grep -q "$once" ahead.ptx || die 'weights leave the L2 first where they are not to'
ptx 1025 2048
! grep -q 'prefetch\.global\.L2' ahead.ptx || die 'what many tiles read is asked for'

cat > experts.etg << 'X'
model experts
input x : bf16[1, 2048]
input scores : f32[1, 64]
weight up : bf16[64, 768, 2048]
weight down : bf16[64, 2048, 768]
w, expert = topk(softmax(scores), 4)
rows, place, owner, first = group(expert, 64)
h = bf16(silu(grouped(gather(x, idiv(rows, 4)), up, owner)))
y = grouped(h, down, owner)
output out = sum(reshape(w, [1, 4, 1]) * gather(reshape(y, [size(rows, axis=0) * size(rows, axis=1), 2048]), place), axis=1)
X
# (Where no stream brings them once the choice is known.)
"$bin/etcc" experts.etg --machine="$machine" --target="$target" --variants=1 --unstreamed -o experts.ptx
awk '/ld\.global\.v4\./ { n++ } /mma\.sync|bar\.sync/ { n = 0 } /ld\.relaxed\.gpu\.global/ { if (n >= 8) found = 1; n = 0 } END { exit !found }' \
    experts.ptx || die 'no weights of experts are asked for before a wait'

cat > know.etg << 'X'
model know
dim N in 1..1
input x : bf16[N, 512]
input slots, positions : i32[N]
weight wq : bf16[512, 512]
state kc : bf16[4, 8, 64, 64]
state vc : bf16[4, 8, 64, 64]
q = reshape(x @ wq.T, [N, 8, 64])
output y : f32[N, 8, 64] = attention(q, kc, vc, slots, positions, scale=1/8)
X
"$bin/etcc" know.etg --machine="$machine" --target="$target" --variants=1 -o know.ptx
awk '/ld\.global\.nc\.b32/ { known++ } /ld\.relaxed\.gpu\.global/ { before = known } END { exit !(before == 2 && known == 2) }' know.ptx ||
    die 'positions and slots are loaded after a wait'

# Of rows of queries no position is left to be loaded after a wait but those of the rows after the first that have the same keys.
sed 's/1\.\.1$/33..64/; s/4, 8, 64, 64/1, 8, 64, 64/' know.etg > rows.etg
"$bin/etcc" rows.etg --machine="$machine" --target="$target" --variants=1 -o rows.ptx
awk '/ld\.global\.b32/ { known++ } /ld\.relaxed\.gpu\.global/ { before = known } /wgmma/ { exit } END { exit !(before >= 3 && known == before) }' rows.ptx ||
    die 'which positions rows have is loaded after a wait'

cat > norm.etg <<'X'
model norm
dim N in 33..64
input x : bf16[N, 2048]
weight w : bf16[H, 2048]
weight g : bf16[H]
output y : f32[N, H] = x @ w.T
output z : bf16[N, H] = bf16(rmsnorm(y, g, eps=1e-5))
X
for h in 2048 4096; do
    sed "s/H/$h/g" norm.etg > norm.$h.etg
    "$bin/etcc" norm.$h.etg --machine="$machine" --target="$target" --variants=1 -o norm.ptx
    awk -v need=$((h / 2048)) '
        /bar\.sync/ && !polled { n = 0 }
        /ld\.global\.v4/ { if (polled) rows++; else n++ }
        /ld\.global\.b32/ && polled { alone++ }
        /ld\.relaxed\.gpu\.global/ { weights = n; polled = 1; rows = alone = 0 }
        END { exit !(weights == need && rows == 2 * need && !alone) }' norm.ptx || die "a norm of $h is loaded otherwise"
done
