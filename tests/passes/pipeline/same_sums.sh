#!/bin/sh
# same_sums.sh BIN SRC FOLDER: --same-sums gives a row the same bits however many rows a launch has, of products and of norms that are
# added up by other lanes and waves where there are more rows; without it they differ.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1
fresh "$3"
bits() { # FILE: its tensors, without the header
    tail -c +$((9 + $(od -An -t u8 -N 8 "$1"))) "$1"
}

# A row that 256 lanes share, and the same by fewer lanes as if there were 256; by fewer alone it has another sum.
cat > one.etg << 'END'
model one
dim N in 1..1
input x : f32[N, 5120]
output y : f32[N] = sum(x)
END
"$bin/etcc" one.etg --to scheduled -o one.eti
vector=$(sed -n 's/^ *plan lanes 256 vector \([0-9]*\) .*/\1/p' one.eti)
[ -n "$vector" ] || die 'no 256 lanes share the row'
sums() { # LANES [as 256]: what several rows add up to
    sed "s/^\( *plan\) lanes .*/\1 lanes $1 vector $vector unroll 4${2:+ $2}/" one.eti > changed.eti
    "$bin/etcc" changed.eti -o changed.hsaco
    for seed in 1 2 3 4 5 6; do
        "$bin/etfill" one.st --seed=$seed 'x:f32[1,5120]:-1:1'
        "$bin/etrun" changed.hsaco --set N=1 --in one.st --out y.st --device emu:gfx942
        bits y.st | od -An -t x4
    done
}
all=$(sums 256)
for lanes in 64 128; do
    [ "$(sums $lanes 'as 256')" = "$all" ] || die "$lanes lanes do not add up as 256 do"
done
[ "$(sums 64)" != "$all" ] || die 'any lanes add up to the same: this test sees nothing'

# Rows of launches of every variant.
cat > mlp.etg << 'END'
model mlp
dim N in 1..160
input x : bf16[N, 1536]
weight g : bf16[1536]
weight u, v : bf16[1024, 1536]
weight w : bf16[256, 1024]
h = rmsnorm(x, g, eps=1e-5)
output y : f32[N, 256] = bf16(silu(h @ u.T) * (h @ v.T)) @ w.T
END
"$bin/etfill" w.st g:bf16[1536]:0.5:1.5 u:bf16[1024,1536]:-0.1:0.1 v:bf16[1024,1536]:-0.1:0.1 w:bf16[256,1024]:-0.1:0.1
first() { # KERNEL N: the first row
    "$bin/etfill" x.st "x:bf16[$2,1536]:-1:1"
    "$bin/etrun" "$1" --set N="$2" --in x.st --weights w.st --out y.st --device "emu:$target"
    bits y.st | head -c 1024 | cksum
}
for target in gfx942 gfx1100; do
    for sums in '' --same-sums; do
        # shellcheck disable=SC2086
        "$bin/etcc" mlp.etg --target=$target --variants=4 $sums -o mlp.hsaco
        # shellcheck disable=SC2086
        "$bin/etcc" mlp.etg --target=$target --variants=4 $sums --to scheduled -o mlp.eti
        [ "$(grep -c '^variant ' mlp.eti)" -gt 1 ] || die "mlp for $target has one variant"
        rows=$(for n in 1 5 40 160; do first mlp.hsaco $n; done | sort -u | wc -l)
        [ -z "$sums" ] || [ "$rows" = 1 ] || die "$target: $rows different rows with $sums"
        [ -n "$sums" ] || [ "$rows" -gt 1 ] || die "$target: rows are the same without --same-sums: this test sees nothing"
    done
    grep -q '^ *plan lanes .* as ' mlp.eti || die "$target: no norm is added up as by more lanes"
done

# With warpgroup MMA the others have its steps, and it adds up parts of k as the waves do that share k in these.
for sums in '' --same-sums; do
    # shellcheck disable=SC2086
    "$bin/etcc" mlp.etg --target=sm_90 --variants=4 $sums --to scheduled -o sm_90.eti
    steps=$(grep -c '^ *plan rows .* in_steps' sm_90.eti || true) spans=$(grep -c '^ *plan rows pipeline .* spans 8 span 96' sm_90.eti || true)
    [ -z "$sums" ] || { [ "$steps" -gt 1 ] && [ "$spans" -gt 1 ]; } || die "sm_90 has $steps products in steps and $spans with spans"
    [ -n "$sums" ] || [ "$steps$spans" = 00 ] || die "sm_90 has $steps products in steps and $spans with spans, unasked"
done
for edit in 's/spans 8/spans 3/' 's/span 96/span 48/' 's/ span 96//' 's/in_steps/in_steps row_packed 4/' 's/rows pipeline/& in_steps/'; do
    sed "s/^variant .*/&/; $edit" sm_90.eti > changed.eti
    cmp -s sm_90.eti changed.eti && die "$edit changes nothing"
    if "$bin/etcc" changed.eti --target=sm_90 -o changed.cubin 2> said; then die "sm_90: $edit was taken"; fi
    grep -q 'error: ' said || die "$edit: $(cat said)"
done
