#!/bin/sh
# apart.sh BIN WORK: tasks whose stores to other devices are apart, and orders of tiles that go by devices, are what a text says: it reads back, is
# right on 2 and 4 emulated devices, and what cannot be so is refused.
set -eu
bin=$1 out=$2
mkdir -p "$out" && cd "$out"
cat > ordered.etg << 'END'
model ordered
dim N in 1..320
input x : bf16[N, 64]
weight up : bf16[128, 64]
weight down : bf16[64, 128]
weight g : f32[64]
weight out : bf16[96, 64]
h = bf16(x @ up.T) @ down.T
output z : f32[N, 96] = bf16(rmsnorm(h, g, eps=1e-5)) @ out.T
END
die() { echo "$*" && exit 1; }
for n in 2 4; do
    "$bin/etcc" ordered.etg --devices=$n --exchange=rows --variants=1 --target=gfx942 --to=scheduled -o plain.eti
    sed 's/^ *task @h.down = .*/& order others_first along i0 apart/; s/^ *task @h = .*/& apart/; s/^ *task @z = .*/& order own_first along i0/' plain.eti > changed.eti
    [ "$(grep -c 'along i0 apart$\|order own_first along i0$' changed.eti)" = 3 ] || die "what was $n devices' is not what was expected"
    "$bin/etcc" changed.eti --target=gfx942 --to=scheduled -o again.eti
    cmp changed.eti again.eti
    "$bin/etcc" changed.eti --target=gfx942 -o k
    for rows in 300 129 1; do
        "$bin/check_kernel" ordered.etg k --set N=$rows --device "emu:gfx942:cus=5:agents=$n:seed=$rows:links=3:coherence=model" > said 2>&1 || { cat said && exit 1; }
    done
done
says() { # WORDS, OF A TASK, WITH WHAT
    sed "s/^ *task @$2 = .*/& $3/" plain.eti > bad.eti
    if "$bin/etcc" bad.eti --target=gfx942 -o k > said 2>&1; then die "accepted: $2 $3"; fi
    grep -q -e "$1" said || { cat said && die "no '$1'"; }
}
says 'is sent apart, and its last step alone does not store what devices' h.up apart
says "'along' says by which coordinate" h.down 'order others_first'
says 'there is no j0 here' h 'order own_first along j0'
# A tile that waits for one before it of its own task: fine in the task's own order, and in no other.
sed 's/^ *notify %h.up.*/    wait %h.up[max(0, i0 - 1) .. i0 - 1]\n&/' plain.eti > turns.eti
"$bin/etcc" turns.eti --target=gfx942 -o k
sed 's/^ *task @h.up = .*/& order own_first along i0/' turns.eti > bad.eti
if "$bin/etcc" bad.eti --target=gfx942 -o k > said 2>&1; then die 'tiles that wait for each other, in an order of their own'; fi
grep -q 'no progress' said || { cat said && exit 1; }
"$bin/etcc" ordered.etg --variants=1 --target=gfx942 --to=scheduled -o one.eti
sed 's/^ *task @z = .*/& order own_first along i0/' one.eti > bad.eti
if "$bin/etcc" bad.eti --target=gfx942 -o k > said 2>&1; then die 'an order by devices on one'; fi
grep -q 'go by devices' said || { cat said && exit 1; }
echo ok
