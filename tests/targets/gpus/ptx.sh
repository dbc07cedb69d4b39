#!/bin/sh
# ptx.sh BIN SRC WORK TARGET PTX_VERSION: the PTX for TARGET has its matrix instruction, clock, naps, fences with their
# scope, wide loads, the manifest, and calls of large functions of f32 alone, no local memory, no atomic of another scope than the device.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 target=$4 version=$5
rm -rf "$work"
mkdir -p "$work"
cd "$work"

processor=$target
[ "$target" != sm_90 ] || processor=sm_90a # which has wgmma
release=release acquire=acquire
[ "$target" != sm_80 ] || release=acq_rel acquire=acq_rel # it has none that does one of them

die() {
    echo "ptx.sh: $target: $*" >&2
    exit 1
}
has() { # WHAT (a pattern): in $ptx
    grep -qE "$1" "$ptx" || die "$ptx: no $1"
}
lacks() {
    ! grep -nE "$1" "$ptx" >&2 || die "$ptx: $1"
}
count() {
    grep -cE "$1" "$ptx" || true
}

for schedule in static dynamic; do
    for model in examples/mlp/mlp tests/unit/import/stories-llama; do
        ptx=$(basename "$model").$schedule.ptx
        "$bin/etcc" "$src/$model.etg" --target="$target" --schedule=$schedule -o "$ptx"
        has "^\.version $version\$"
        has "^\.target $processor\$"
        has '^\.visible \.entry'
        has '^\.reqntid 256$'
        has '^\.minnctapersm 1$'
        has '^\.extern \.shared \.align 1024 \.b8 lds\[\];'
        has '^\.visible \.global \.align 1 \.b8 etcc_manifest\['
        "$bin/etrun" "$ptx" --list > list.txt
        grep -q "for $target, compiled by etcc" list.txt || die "$ptx: $(head -1 list.txt)"
        has 'ld\.relaxed\.gpu\.global\.b32' # polls
        has "fence\.$release\.gpu"
        has "fence\.$acquire\.gpu"
        has "fence\.$release\.sys" # before a report
        has 'st\.relaxed\.sys\.global'
        has 'mov\.u64.*%globaltimer'
        has 'nanosleep\.u32'
        has '%smid'
        has 'bar\.warp\.sync'
        has 'ld\.shared\.v4\.'
        ! grep -E '^[[:space:]]*call' "$ptx" | grep -vE ' etcc_(sin|cos|pow),' >&2 || die "$ptx: a call"
        lacks '\.local'
        lacks '\.ptr'
        # What says no scope is of the device, relaxed: so PTX has it.
        lacks '(atom|red)\..*\.(cta|cluster|sys|acquire|release|acq_rel)\.'
        lacks 'fence\.(acq_rel|release|acquire|sc)\.(cta|cluster)'
        [ $acquire = acq_rel ] || lacks 'fence\.acq_rel' # which waits for stores where it is to acquire, too
        lacks 'div\.rn|sqrt\.rn'
        # Warps meet before they meet each other, as the barrier is the one for those that are together.
        awk '/bar\.sync/ && last !~ /bar\.warp\.sync/ { exit 1 } { last = $0 }' "$ptx" ||
            die "$ptx: a barrier without bar.warp.sync"
        case $model in
        */mlp) ;; # f32
        *)
            has 'ld\.global\.v4\.b32'
            has 'mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.bf16\.bf16\.f32'
            ;;
        esac
    done
done

# Names that PTX keeps to itself.
for name in WARP_SZ _; do
    sed "s/^model mlp/model $name/" "$src/examples/mlp/mlp.etg" > name.etg
    ptx=name.ptx
    "$bin/etcc" name.etg --target="$target" -o $ptx
    has "^\.visible \.entry ${name}_\("
    "$bin/etrun" $ptx --list | grep -q "^kernel ${name}_:" || die "$name: the manifest has another name"
done

# A fence goes with each event: without those of one event there are fewer.
"$bin/etcc" "$src/tests/unit/import/llama.etg" --target="$target" -o all.ptx
for how in release acquire; do
    eval fence=\$$how
    ptx=all.ptx
    all=$(count "fence\.$fence\.gpu")
    ptx=$how.ptx
    "$bin/etcc" "$src/tests/unit/import/llama.etg" --target="$target" -o $ptx --weaken=$how:x
    [ "$(count "fence\.$fence\.gpu")" -lt "$all" ] || die "--weaken=$how:x takes no fence away"
done

# Products of many rows, of operands that are copied and that are computed: four warps multiply together, between the fence that
# makes what was stored seen, a barrier, and the wait for what they began; the registers of sums are nobody else's meanwhile.
cat > many.etg <<'ETG'
model many
dim N in 65..300
weight w : bf16[4096, 320] = "w"
weight v : bf16[4096, 320] = "v"
weight u : f16[520, 4096] = "u"
input x : bf16[N, 320]
input y : f16[N, 4096]
output p = (x @ w.T) * silu(x @ v.T)
output q = f16(y * 2) @ u.T
ETG
ptx=many.ptx
"$bin/etcc" many.etg --target="$target" -o $ptx
if [ "$target" != sm_90 ]; then
    lacks wgmma
else
    has 'wgmma\.mma_async\.sync\.aligned\.m64n[0-9]+k16\.f32\.bf16\.bf16'
    has 'wgmma\.mma_async\.sync\.aligned\.m64n[0-9]+k16\.f32\.f16\.f16'
    has "or\.b64.*, $((0x4000004000010000));" # chunks of 128 bytes of a row: the swizzle of as many, and the next eight rows 1024 bytes on
    order=$(awk '/fence\.proxy\.async/ { print "F" } /bar\.sync/ { print "B" } /wgmma\.fence/ { print "W" }
        /wgmma\.mma_async/ { print "M" } /wgmma\.commit_group/ { print "C" } /wgmma\.wait_group/ { print $2 + 0 }' $ptx |
        tr -d '\n')
    times=$(echo "$order" | grep -o F | grep -c .)
    [ "$times" -ge 2 ] || die "$ptx: $times loops of wgmma"
    for part in FB 'WM*C1' 0; do
        [ "$(echo "$order" | grep -oE "$part" | grep -c .)" -eq "$times" ] || die "$ptx: not $times times $part in $order"
    done
    [ "$(echo "$order" | tr -dc M)" = "$(echo "$order" | grep -oE 'WM+C' | tr -dc M)" ] || die "$ptx: products outside of a lot in $order"
fi

# Weights and where all operands are come before the waits, whose counters are loaded together; then rows, then products.
cat > early.etg << 'ETG'
model early
dim N in 257..2048
weight v : bf16[4096, 4096] = "v"
input x : f32[N, 4096]
h = bf16(softmax(x))
output y = h @ v.T
ETG
ptx=early.ptx
if [ "$target" = sm_90 ]; then
    "$bin/etcc" early.etg --target="$target" --without=boxes -o $ptx
    lacks 'cp\.async\.bulk|tensormap'
    order=$(awk '/cp\.async\.cg/ { print "C" } /ld\.relaxed\.gpu\.global\.b32/ { print "P" } /membar|fence\.acquire/ { print "A" }
        /wgmma\.mma_async/ { print "M" }' $ptx | tr -d '\n')
    echo "$order" | grep -qE 'CC+P+.*A.*CC+.*M' || die "$ptx: weights do not come before the waits: $order"
fi

# By rectangles: their maps are made first, and slots' barriers; in
# the loop the slot is refilled behind the barrier of all, then the chunk is waited for. Fences order rows before copies, and none is the device's.
if [ "$target" = sm_90 ]; then
    "$bin/etcc" early.etg --target="$target" --variants=1 -o $ptx
    has 'cp\.async\.bulk\.tensor\.2d\.shared::cluster\.global\.tile\.mbarrier::complete_tx::bytes'
    has 'tensormap\.replace\.tile\.swizzle_mode\.shared::cta\.b1024\.b32 \[%r[0-9]+\], 3;'
    lacks 'cp\.async\.cg|fence\.proxy\.async;'
    [ "$(grep -c cp_fenceproxy $ptx)" -eq 2 ] || die "$ptx: not a map for each of two operands"
    order=$(awk '/cp_fenceproxy/ { print "T" } /mbarrier\.init/ { print "I" } /fence\.proxy\.async\.global/ { print "F" } /bar\.sync/ { print "B" }
        /mbarrier\.expect_tx/ { print "e" } /arrive\.expect_tx/ { print "E" } /bulk\.tensor/ { print "C" }
        /ld\.relaxed\.gpu\.global\.b32/ { print "P" } /membar|fence\.acquire/ { print "A" }
        /try_wait/ { print "L" } /wgmma\.mma_async/ { print "M" }' $ptx | tr -d '\n')
    echo "$order" | grep -qE 'TTI+FB.*F(eC+)+P+A+BF(EC+)+LM+BEC+' || die "$ptx: copies are not in their order: $order"
fi

# Rows that are gathered are copied by work-items; weights of a group may come by rectangles all the same, in the same loop, where the plan says so.
cat > gathered.etg << 'ETG'
model gathered
dim N in 1024..1024
input x : bf16[N, 1024]
input i : i32[N]
weight w : bf16[4, 1024, 1024] = "w"
rows, place, owner, first = group(i, 4, pad=128)
y = grouped(gather(x, rows), w, owner)
output z = gather(reshape(y, [size(rows, axis=0) * size(rows, axis=1), 1024]), place)
ETG
ptx=gathered.ptx
if [ "$target" = sm_90 ]; then
    "$bin/etcc" gathered.etg --target="$target" --to=scheduled -o gathered.eti
    sed 's/^    plan rows pipeline.*/& boxes weights/' gathered.eti > boxes.eti
    ! cmp -s gathered.eti boxes.eti || die 'gathered.eti: rows of groups have no pipeline'
    "$bin/etcc" boxes.eti --target="$target" -o $ptx
    ! "$bin/etcc" boxes.eti --target="$target" --without=boxes -o no.ptx 2> said || die 'a plan with boxes was taken without any'
    sed 's/^    plan rows pipeline.*/& boxes all/' gathered.eti > boxes.eti
    ! "$bin/etcc" boxes.eti --target="$target" -o no.ptx 2> said || die 'gathered rows came as boxes'
    grep -q 'cannot come as TMA boxes' said || die "gathered rows as boxes: $(cat said)"
    order=$(awk '/cp\.async\.cg/ { print "c" } /bar\.sync/ { print "B" } /arrive\.expect_tx/ { print "E" } /bulk\.tensor/ { print "C" }
        /fence\.proxy\.async/ { print "F" } /try_wait/ { print "L" } /wgmma\.mma_async/ { print "M" }' $ptx | tr -d '\n')
    echo "$order" | grep -qE 'F(EC)+c+LM+FBc+EC' || die "$ptx: rows and weights are not in their order: $order"
fi

# Blocks of a group are as large as a part of most groups, 144 rows here: each group of waves has 64 of a tile's columns, or twice 64, and all
# of its rows. Tiles of the same weights are not at the same chunk, so these are not the first to leave the L2.
cat > blocks.etg << 'ETG'
model blocks
dim N in 4096..4096
input x : bf16[N, 1024]
input i : i32[N]
weight w : bf16[16, 2048, 1024] = "w"
rows, place, owner, first = group(i, 16)
y = grouped(gather(x, rows), w, owner)
output z = gather(reshape(y, [size(rows, axis=0) * size(rows, axis=1), 2048]), place)
ETG
ptx=blocks.ptx
if [ "$target" = sm_90 ]; then
    "$bin/etcc" blocks.etg --target="$target" --variants=1 -o $ptx
    has 'wgmma\.mma_async\.sync\.aligned\.m64n144k16'
    lacks 'mma\.sync|L2::cache_hint'
    "$bin/etcc" blocks.etg --target="$target" --variants=1 --to=scheduled -o blocks.eti
    grep -q 'm < 144 .*n < 256 ' blocks.eti || die 'blocks.etg: tiles of 144 rows have other than 256 columns'
fi

# Rows of queries: those are in registers, keys are rows in shared memory, and values are read across rows there.
cat > rows.etg << 'ETG'
model rows
const NH=8, NKV=2, D=64, SLOTS=2, CTX=576
dim N in 257..512
input q : bf16[N, NH, D]
input slots, positions : i32[N]
state kc, vc : bf16[SLOTS, NKV, CTX, D]
output y = attention(q, kc, vc, slots, positions, scale=1/8)
ETG
ptx=rows.ptx
"$bin/etcc" rows.etg --target="$target" -o $ptx
if [ "$target" != sm_90 ]; then
    lacks wgmma
else
    has 'redux\.sync\.or\.b32' # of N, which parameters are not known to be the same in all lanes for
    has 'setp\.ne\.b32 p, 0, 0; wgmma\.mma_async\.sync\.aligned\.m64n[0-9]+k16\.f32\.bf16\.bf16 .*\}, \{(%r[0-9]+, ){3}%r[0-9]+\}, %rd[0-9]+, p, 1, 1, 0;'
    has 'setp\.eq\.b32 p, 0, 0; wgmma\.mma_async\.sync\.aligned\.m64n64k16\.f32\.bf16\.bf16 .*\}, \{(%r[0-9]+, ){3}%r[0-9]+\}, %rd[0-9]+, p, 1, 1, 1;'
    has 'mma\.sync\.aligned\.m16n8k16' # a run of one row is done as one by itself
    has 'cp\.async\.cg\.shared\.global'
    # What stays the same in a loop is made anew there: ptxas 13.0 would give its registers to the weights.
    held=$(sed -n 's/.*p, 0, 0; wgmma.*}, {\(%r[0-9]*\), .* p, 1, 1, 0; }.*/\1/p' $ptx)
    [ -n "$held" ] || die "$ptx: no rows of queries in registers"
    for reg in $held; do
        grep -A4 'begin inline asm' $ptx | grep -q "xor\.b32 $reg, " || die "$ptx: $reg, of a row of queries, is the same in all of a loop"
    done
fi
