#!/bin/sh
# stream.sh BIN SRC WORK TARGET: on a machine where a ring costs tasks nothing, weights come through one: a wave more, copies that a
# barrier hears of, a barrier of the other waves alone; not with --unstreamed, not in queues; and the text of the later stages makes the same code.
set -eu
bin=$1 src=$2 work=$3 target=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"

die() {
    echo "stream.sh: $target: $*" >&2
    exit 1
}
grep -lx "target  *$target" "$src"/passes/machines/*.machine > machines || die 'no machine'
sed 's/^stream_us .*/stream_us 0/' "$(head -1 machines)" > free.machine
model=$src/tests/unit/import/stories-llama.etg
compile() { # FILE OUT OPTIONS...
    file=$1 out=$2
    shift 2
    "$bin/etcc" "$file" --machine=./free.machine --variants=1 -o "$out" "$@"
}
early() { # FILE OUT OPTIONS...: the LLVM IR before LLVM's passes, which take most of the time
    file=$1 out=$2
    shift 2
    "$bin/etcc" "$file" --machine=./free.machine --emit-llvm="$out" --unoptimised "$@"
}
same() { # A B OPTIONS...: both make the same code
    a=$1 b=$2
    shift 2
    early "$a" a.ll "$@"
    early "$b" b.ll "$@"
    cmp a.ll b.ll
}

compile "$model" ring.ptx
# Where waves hand registers over four more do so together, of which one brings.
threads=288
if [ "$target" = sm_90 ]; then
    threads=384
    grep -q 'setmaxnreg\.dec' ring.ptx && grep -q 'setmaxnreg\.inc' ring.ptx || die 'no registers are handed over'
fi
for what in "^\.reqntid $threads\$" 'cp\.async\.cg\.shared\.global\.L2::cache_hint .*, 16, %' 'createpolicy\.fractional\.L2::evict_first\.b64' 'cp\.async\.mbarrier\.arrive\.noinc\.shared' \
    'cp\.async\.wait_all' 'mbarrier\.try_wait\.parity' 'bar(rier)?\.sync[^;]*1, 256;'; do
    grep -qE "$what" ring.ptx || die "no $what"
done
[ "$(grep -cE 'bar(rier)?\.sync[[:space:]]+0;' ring.ptx)" = 1 ] || die 'more than one barrier counts all waves'
"$bin/etcc" "$model" --machine=./free.machine --variants=1 -d stream > stream.txt
grep -qE '^ring [0-9]+ of 32768 flight [0-9]*( calm [0-9]*)?( prefetch [0-9]*)?$' stream.txt || die 'no ring in the text'
[ "$(grep -c ' streamed$' stream.txt)" = 7 ] || die 'not all seven products are streamed'
compile "$model" placed.eti --to placed
compile "$model" scheduled.eti --to scheduled
compile placed.eti again.ptx
cmp ring.ptx again.ptx || die 'other code from stage placed'
same placed.eti scheduled.eti || die 'other code from stage scheduled'
# A plan in the text would be refused where its ring is another. A text that asks for more than there is room for is refused; too little may be of no use.
sed '/^    plan rows /d; s/^ring .*/ring 64 of 32768 flight 65536/' scheduled.eti > much.eti
! "$bin/etcc" much.eti --machine=./free.machine -o much.ptx 2> said || die 'more slots than there is room for'
grep -q 'bytes of local memory' said || die "more slots than there is room for: $(cat said)"
sed '/^    plan rows /d; s/^ring .*/ring 2 of 128 flight 128/' scheduled.eti > little.eti
"$bin/etcc" little.eti --machine=./free.machine -o little.ptx
! grep -q 'cp\.async\.cg\.shared\.global\.L2::cache_hint' little.ptx || die 'chunks that no slot holds are brought'
# Of few rows, weights beside them are copied to LDS before the tile waits, and nothing that tasks wrote is loaded between products and stores.
sed 's/N in .*/N in 1..2/' "$model" > few.etg
compile few.etg few.ptx
compile few.etg few.eti --to scheduled
# Of few rows two chunks are in registers, not of many, and of codes where the ring has no room for all of a task's.
! grep -q ' deep' scheduled.eti || die 'registers are taken for two chunks of many rows'
[ "$(grep -c ' streamed deep\( calm\)\{0,1\}$' few.eti)" = 8 ] || die 'not all products of few rows have two chunks in registers'
same few.etg few.eti --variants=1 || die 'other code from the text of a program with two chunks in registers'
cat > deep.etg << 'END'
model deep
dim N in 1..4
input x : bf16[N, 4096]
weight w : bf16[4096, 4096]
output y : f32[N, 4096] = x @ w.T
END
compile deep.etg deep.ptx
compile deep.etg shallow.ptx --without=double_buffered
awaited() { awk '/mma\.sync/ { exit } /mbarrier\.try_wait/ { n++ } END { print n + 0 }' "$1"; } # slots, before the first product
[ "$(awaited deep.ptx)" -gt "$(awaited shallow.ptx)" ] || die 'a second chunk is not taken before the first is multiplied'
# While half of the ring is full half as many lots of 4 KB are on their way, not of products of many rows.
sed 's/^ring .*/ring 4 of 32768 flight 32768 calm 16384/; s/ streamed deep$/& calm/' few.eti > calm.eti
"$bin/etcc" calm.eti --machine=./free.machine -o calm.ptx
for what in 'mbarrier\.test_wait\.parity' 'cp\.async\.wait_group[[:space:]]*7;' 'cp\.async\.wait_group[[:space:]]*3;'; do
    grep -q "$what" calm.ptx || die "no $what where a ring is filled in a hurry or without"
done
! grep -q ' streamed.* calm$' scheduled.eti || die 'tasks of many rows are calm'
sed 's/^ring .*/ring 4 of 32768 flight 32768 calm 16384/' scheduled.eti > calm.eti
"$bin/etcc" calm.eti --machine=./free.machine -o calm.ptx
! grep -qE 'cp\.async\.wait_group[[:space:]]*3;|mbarrier\.test_wait' calm.ptx || die 'rows of many tokens wait for a calm stream, or look whether it is one'
[ "$(grep -cE '^ *\$g[0-9a-z_]*\[w\] = %' few.eti)" -ge 3 ] || die 'weights beside rows are not copied'
sed 's/\<g1\>/acc0/g' few.etg > named.etg # as another local is called
compile named.etg named.eti --to scheduled
same named.etg named.eti --variants=1 || die 'a copy that is called like another local does not read back'
grep -qE 'cp\.async\.cg\.shared\.global\.L2::256B .*, 16, ' few.ptx || die 'weights beside rows do not come ahead'
late() { awk '/mma\.sync/ { on = 1 } /st\.global/ { on = 0 } /ld\.global\.b32/ && on { n++ } END { print n + 0 }' "$1"; } # of what other tasks wrote
[ "$(late few.ptx)" = 0 ] || die "$(late few.ptx) loads between products and stores"
compile few.etg apart.ptx --unstreamed
[ "$(late apart.ptx)" -gt 0 ] || die 'what is counted is not there without a ring either'
# The wave that polls does not work out first what a position turns by: a branch leads past it.
awk '/@%p[0-9]+ bra/ { to = $NF; sub(";", "", to) } /^\$L.*:/ { sub(":", ""); seen[$1] = 1 } /cvt\.rn\.f32\.s32/ { exit }
    END { exit seen[to] }' few.ptx || die 'who polls works out angles before'
# One token has a variant of its own, beside those that costs ask for, and each variant as many slots as it has room for itself, since it has
# a kernel of its own: that for one token has as many as where there is no other.
mkdir one
sed 's/"num_hidden_layers": [0-9]*/"num_hidden_layers": 1/' "$src/bench/models/llama-3.2-1b/config.json" > one/config.json
slots() { # FILE
    echo $((($(grep -c 'mbarrier\.init' "$1") - 1) / 2))
}
"$bin/etimport" one --config-only --slots 32 --context 64 --max-tokens 32 -o many.etg
sed 's/N in 1\.\.32/N in 1..1/' many.etg > single.etg
early single.etg single.ll --variants=1
early many.etg many.ll --variants=2 -d schedule > many.txt
[ "$(grep -c '^# variant for N in' many.txt)" = 3 ] || die 'not two variants beside that of one token'
grep -q '^# variant for N in 1\.\.1$' many.txt || die 'one token has no variant of its own'
# Of more than two beside it, one ends where matrix instructions have all rows on their narrow side.
"$bin/etcc" many.etg --machine=./free.machine --variants=3 --to scheduled -o more.eti -d schedule > more.txt
grep -q '^# variant for N in 2\.\.8$' more.txt || die "no variant ends at eight tokens: $(grep '^# variant' more.txt)"
kernel() { # FILE NUMBER
    awk -v n="$2" '/^define ptx_kernel/ { at++ } at == n' "$1" > kernel.ll
}
[ "$(grep -c '^define ptx_kernel' many.ll)" = 3 ] || die 'not a kernel for each variant'
kernel many.ll 1
[ "$(slots kernel.ll)" -gt 0 ] && [ "$(slots kernel.ll)" = "$(slots single.ll)" ] || die 'variants for many tokens take slots from that for one'
kernel many.ll 3
[ "$(slots kernel.ll)" -gt 0 ] && [ "$(slots kernel.ll)" -lt "$(slots single.ll)" ] || die 'no variant has fewer slots'
# One that does not stream has no waves but those that run tasks, and what it needs of local memory.
sed 's/N in 1\.\.32/N in 1..300/' many.etg > both.etg
"$bin/etcc" both.etg --machine=./free.machine --variants=2 -o both.ptx
grep '^\.reqntid' both.ptx | tr -dc '0-9 \n' | tr '\n' ' ' | grep -q "^ $threads .* 256 $" || die "$(grep '^\.reqntid' both.ptx), where one of two variants streams"
"$bin/etrun" both.ptx --list | grep -q " $threads work-items" || die 'the kernel is not said to have the most work-items that any has'
"$bin/etcc" "$src/tests/passes/pipeline/experts.etg" --machine=./free.machine --variants=2 -d schedule > experts.txt
grep -q '^# variant for N in 1\.\.1$' experts.txt || die "one token's experts have no variant of their own"
"$bin/etcc" "$src/tests/passes/pipeline/experts.etg" --variants=2 -d schedule > experts.txt
! grep -q '^# variant for N in 1\.\.1$' experts.txt || die 'they have on a machine that has no ring'
# The less of the time is the stream's, the less of it is on its way, in a calm too.
flight() { # HBM_GBS WORD
    sed "s/^hbm_gbs .*/hbm_gbs $1/; s/^die_gbs .*/die_gbs $1/; s/^cross_gbs .*/cross_gbs $1/" free.machine > other.machine
    "$bin/etcc" few.etg --machine=./other.machine --variants=1 --to scheduled -o - | sed -n "s/^ring .* $2 \([0-9]*\).*/\1/p"
}
[ "$(flight 3 flight)" = $(($(sed -n 's/^flight_kb  *\([0-9]*\) .*/\1/p' free.machine) << 10)) ] || die "a stream that takes all the time has $(flight 3 flight) bytes on their way"
[ "$(flight 3000 flight)" -lt "$(flight 3 flight)" ] || die 'a stream that takes little time has as much on its way'
[ "$(flight 100 calm)" -gt "$(flight 300 calm)" ] || die "in a calm $(flight 100 calm) and $(flight 300 calm) bytes are on their way"
[ -z "$(flight 3 calm)" ] || die 'a stream that takes all the time is calm'
# Where it takes most of the time, what slots have no room for is asked for by one more of the waves that have handed registers over.
ask='cp\.async\.cg\.shared\.global\.L2::256B .*, 16;'
for ahead in 0 192; do
    sed "s/^prefetch_kb .*/prefetch_kb $ahead/; s/^hbm_gbs .*/hbm_gbs 3/; s/^die_gbs .*/die_gbs 3/; s/^cross_gbs .*/cross_gbs 3/" free.machine > ask.machine
    compile few.etg ask.$ahead.ptx --machine=./ask.machine
    compile few.etg ask.$ahead.eti --machine=./ask.machine --to scheduled
    same few.etg ask.$ahead.eti --machine=./ask.machine --variants=1 || die "other code from the text with $ahead KB ahead"
done
! grep -q ' prefetch ' ask.0.eti && ! grep -q "$ask" ask.0.ptx || die 'weights are asked for ahead where none are to be'
grep -q '^ring .* prefetch 196608$' ask.192.eti || die 'no weights are asked for ahead'
[ "$target" != sm_90 ] || [ "$(grep -c "$ask" ask.192.ptx)" -ge 7 ] || die 'not all seven products are asked for'
[ "$target" = sm_90 ] || ! grep -q "$ask" ask.192.ptx || die 'there is a wave too many'
"$bin/etcc" single.etg --machine=./ask.machine --variants=1 --to scheduled -o ask.eti
! grep -q ' prefetch ' ask.eti || die 'a stream that takes all the time asks ahead'
sed "s/^hbm_gbs .*/hbm_gbs 3000/; s/^die_gbs .*/die_gbs 3000/; s/^cross_gbs .*/cross_gbs 3000/; s/^prefetch_kb .*/prefetch_kb 192/" free.machine > ask.machine
"$bin/etcc" few.etg --machine=./ask.machine --variants=1 --to scheduled -o ask.eti
! grep -q ' prefetch ' ask.eti || die 'a stream that takes little time asks ahead'
# Between the two tasks take much of the time by themselves, and nothing is asked for, though the stream has all that is not hidden by it.
sed "s/^hbm_gbs .*/hbm_gbs 100/; s/^die_gbs .*/die_gbs 100/; s/^cross_gbs .*/cross_gbs 100/; s/^prefetch_kb .*/prefetch_kb 192/" free.machine > ask.machine
"$bin/etcc" few.etg --machine=./ask.machine --variants=1 --to scheduled -o ask.eti
[ "$target" != sm_90 ] || grep -q '^ring .* flight 36864\( calm [0-9]*\)\{0,1\}$' ask.eti || die "$(grep '^ring' ask.eti), where tasks take half of the time"
# Codes come through it as they are, with the scales that belong to a chunk beside them; what is made of them in pairs of bf16 is, where the target can.
cat > codes.etg << 'END'
model codes
dim N in 1..1
input x : f32[N, 1024]
weight a : e4m3[512, 1024]
weight s : bf16[512, 8]
h = x @ bf16(a * gather(s.T, idiv(iota(1024), 128)).T).T
weight b : u4[1024, 512]
weight t : bf16[1024, 4]
output y : f32[N, 1024] = h @ bf16((b - 8) * gather(t.T, idiv(iota(512), 128)).T).T
END
compile codes.etg codes.ptx
compile codes.etg codes.eti --to scheduled
[ "$(grep -c ' streamed$' codes.eti)" = 2 ] || die 'codes are not streamed, or two chunks of them are in registers'
grep -q 'cp\.async\.cg' codes.ptx || die 'codes are not brought'
same codes.etg codes.eti --variants=1 || die 'other code from the text of a model with codes'
grep -q 'mul\.rn\.bf16x2' codes.ptx || die 'codes are not computed in pairs'
# Of one row lanes load different pieces.
compile codes.etg same.ptx --without=row_packed
pieces=$(grep -c 'ld\.shared\.v4' codes.ptx) same=$(grep -c 'ld\.shared\.v4' same.ptx)
[ "$pieces" -lt "$same" ] || die "$pieces loads of 16 bytes from LDS, and $same where lanes load the same of a row"
slot=$(sed -n 's/^ring [0-9]* of \([0-9]*\) .*/\1/p' codes.eti)
[ "$slot" = $((32768 + 1024)) ] || die "slots of $slot bytes have no room for an f16 to 128 codes of 4 bits"
grep -qE 'cp\.async\.ca\.shared\.global .*, 8;' codes.ptx || die 'scales are not brought'
! grep -q 'ld\.global\.b16' codes.ptx || die 'scales that are brought are loaded'
# Not those of a slot that has no room for them, nor those that lie beside other rows' where weights are not turned.
sed "/^    plan rows /d; s/^\(ring [0-9]* of\) $slot /\1 4096 /" codes.eti > tight.eti
"$bin/etcc" tight.eti --machine=./free.machine -o tight.ptx
sed 's/t : bf16\[1024, 4\]/t : bf16[4, 1024]/; s/gather(t\.T, \(.*\))\.T)\.T$/gather(t, \1).T).T/' codes.etg > across.etg
compile across.etg across.ptx --without=relaid
for some in tight across; do
    grep -q 'cp\.async\.cg' $some.ptx || die "$some: codes are not brought"
    grep -q 'ld\.global\.b16' $some.ptx || die "$some: scales are not loaded"
done
# Where waves load rows themselves they do whatever k is a multiple of: local memory gets sums alone.
sed 's/5120/2048/g; s/11776/4096/g' "$src/tests/passes/pipeline/own_chunks.etg" > even.etg
compile even.etg even.ptx
compile "$src/tests/passes/pipeline/own_chunks.etg" odd.ptx
[ "$(grep -c 'st\.shared' odd.ptx)" = "$(grep -c 'st\.shared' even.ptx)" ] || die 'rows whose chunks do not come out even go through local memory'
# Of few rows those go straight to the registers of a wave that has a part of k to itself: nothing copies them to LDS.
sed 's/N in .*/N in 9..16/' "$src/tests/passes/pipeline/own_rows.etg" > rows.etg
compile rows.etg rows.ptx
compile rows.etg rows.eti --to scheduled
[ "$(grep -A 1 ' waves 1 \* 8 ' rows.eti | grep -c ' plan rows own .* weights stream ')" = 2 ] || die 'waves do not have parts of k to themselves'
! grep -qE 'cp\.async\.cg\.shared\.global .*, 16, ' rows.ptx || die 'rows are copied to LDS'
# Columns that are no power of two, or fewer in the last tile, stream, and the text makes the same code.
sed 's/N in .*/N in 9..16/' "$src/tests/passes/pipeline/between.etg" > between.etg
compile between.etg between.eti --to scheduled
[ "$(grep -c ' streamed$' between.eti)" = 3 ] || die 'not all columns between powers of two are streamed'
same between.etg between.eti --variants=1 || die 'other code from the text of columns between powers of two'
for none in --unstreamed --schedule=dynamic; do
    compile "$model" none.ptx $none
    grep -q '^\.reqntid 256$' none.ptx || die "$none: other waves"
    ! grep -E 'cp\.async|mbarrier' none.ptx || die "$none: streams"
done
# Weights that a router chooses stream too: the producer waits until the choice is known, and what a text leaves out of that is refused.
compile "$src/tests/passes/pipeline/routed.etg" routed.eti --to scheduled
[ "$(grep -c '^ *await %' routed.eti)" = 2 ] || die 'the producer does not wait for what routes experts'
same "$src/tests/passes/pipeline/routed.etg" routed.eti --variants=1 || die 'other code from the text of a program with routed weights'
# Where waves hand registers over, one of those that bring nothing tells others of their tiles, by two barriers more; kernels that stay have none.
inits() { # MODEL OPTION...
    m=$1
    shift
    compile "$m" inits.ptx "$@"
    grep -c 'mbarrier\.init' inits.ptx
}
routed=$src/tests/passes/pipeline/routed.etg
more=0
[ "$target" != sm_90 ] || more=2
[ "$(inits "$routed")" = $(($(inits "$routed" --resident) + more)) ] || die 'no wave of its own tells of tiles of experts'
[ "$(inits "$model")" = "$(inits "$model" --resident)" ] || die 'a wave tells of tiles that wait for no router'
# Of weights of four bits two of them bring chunks in turn, the first and the last of four, where each tile has chunks of both; and none is calm.
turns() { # MODEL OPTION...: how often it is asked whether a wave is the last
    early "$1" turns.ll --variants=1 "$2"
    grep -c 'icmp eq i32 %[0-9]*, 11$' turns.ll || true
}
short=$src/tests/targets/gpus/short.etg
sed 's/2880/512/g' "$short" > whole.etg
two=0
[ "$target" != sm_90 ] || two=2
[ "$(turns "$short" --verbose)" = $two ] || die "not $two, where two waves bring"
[ "$(turns "$short" --resident)" = 0 ] || die 'two waves bring in a kernel that stays'
[ "$(turns whole.etg --verbose)" = 0 ] || die 'two waves bring of tiles of one chunk'
[ "$(turns "$routed" --verbose)" = 0 ] || die 'two waves bring of rows that are not short'
# The program says so; a text may say another number, which is obeyed or refused.
compile "$short" short.eti --to scheduled
said=$(sed -n '/^ring/s/^[^p]*//p' short.eti)
[ "$said" = "$([ $two = 0 ] || echo 'producers 2')" ] || die "the text of two producers says '$said'"
same "$short" short.eti --variants=1 || die 'other code from the text of two producers'
producers() { # N [MODEL]: the text with so many
    compile "${2:-$short}" text.eti --to scheduled
    sed "s/^\\(ring [^p]*[^p ]\\).*/\\1 producers $1/" text.eti > given.eti
}
producers 1
[ "$(turns given.eti --verbose)" = 0 ] || die 'one producer is given, and two take turns'
producers 3
! "$bin/etcc" given.eti --machine=./free.machine -o again.ptx 2> said || die 'three producers'
grep -q 'the producers of a ring' said || die "three producers: $(cat said)"
refused() { # WHY MODEL
    producers 2 "$2"
    ! "$bin/etcc" given.eti --machine=./free.machine -o again.ptx 2> said || die "two producers, though $1"
    grep -q "cannot have the 2 producers that are given, for $target: $1" said || die "two producers, though $1: $(cat said)"
}
if [ $two = 0 ]; then
    refused 'the target has one' "$short"
else
    refused 'tiles have one chunk' whole.etg
    refused 'no task waits for what decides where its weights are' "$src/tests/passes/pipeline/between.etg"
fi
compile "$short" short.eti --to scheduled
! grep -q ' calm' short.eti || die 'weights of four bits are calm'
# Their codes are read from a stage in blocks of eight rows; of one token all tiles of gate have the same rows, which are kept though
# a tile may have no k, and not where a tensor says which they are, or nothing stages them in front of the mainloop.
early "$short" turns.ll --variants=1
grep -q 'nvvm.ldmatrix' turns.ll || die 'codes of four bits are not read in blocks'
! grep 'plan rows staged .* stream ' short.eti | grep -q reuse || die 'rows that a tensor chooses are kept'
sed 's/N in .*/N in 1..1/; s/K = 3/K = 6/; s/gather(r,/gather(x,/; s/bf16(t)/t/' "$short" > one.etg
compile one.etg one.eti --to scheduled
if [ "$target" = sm_90 ]; then
    [ "$(grep -c 'plan rows staged .* stream .* prologue staged .* reuse$' one.eti)" = 1 ] || die 'rows that all tiles have are not kept'
    # Tiles of 96 columns, whose k four waves share in chunks of 384: two of them have a part of the last one, and nothing past k is copied.
    grep -q '^  contract .* n < 96 .* waves 2 \* 4 ' one.eti && grep -q 'plan .* stream .* decode pairs chunk 384 ' one.eti || die 'k does not end in a chunk'
    compile one.eti one.ptx
    grep -q '\], 16, %r[0-9]*, %rd[0-9]*;' one.ptx || die 'what is past k is copied'
    sed 's/ chunk 384 / chunk 512 /' one.eti > part.eti
    ! "$bin/etcc" part.eti --machine=./free.machine -o again.ptx 2> said || die 'k ends in the middle of what a wave has'
    grep -q 'cannot be computed in registers so many' said || die "$(cat said)"
    # Chunks of 384 of 2880 fill slots for 32 KB in part: of one row smaller ones hold more. Powers of two fill either.
    grep -q '^ring [0-9]* of 26112 ' one.eti || die 'slots that are in part empty'
    grep -q '^ring [0-9]* of 34816 ' short.eti || die 'smaller slots of eight rows'
    sed 's/prologue staged //' one.eti > late.eti
    ! "$bin/etcc" late.eti --machine=./free.machine -o again.ptx 2> said || die 'rows are kept that a tile without k does not stage'
    grep -q 'another tile has other rows, or nothing keeps them' said || die "$(cat said)"
fi
sed '/^ *await %/d' routed.eti > unawaited.eti
! "$bin/etcc" unawaited.eti --machine=./free.machine -o again.ptx 2> said || die 'weights that nobody knows the place of are streamed'
grep -q 'decides where its weights are' said || die "$(cat said)"
# A row of 2880 e2m1 has 90 bytes of scales, at which no copy may begin: they come with the values, and no lane loads a byte of them.
cat > scales.etg << 'END'
model scales
input x : bf16[1, 2880]
weight w : e2m1[65536, 2880]
weight e : ue8m0[65536, 90]
output y : f32[1, 65536] = x @ bf16(w * reshape(gather(e.T, idiv(iota(2880), 32)).T, [65536, 2880])).T
END
compile scales.etg scales.ptx
compile scales.etg scales.eti --to scheduled
if [ "$target" = sm_90 ]; then
    grep -q '^ *plan .* weights stream .* decode pairs ' scales.eti || die "e2m1: $(grep '^ *plan ' scales.eti)"
    ! grep -q 'ld\.global.*\.[ub]8' scales.ptx || die "a lane loads scales: $(grep -m1 'ld.global.*\.[ub]8' scales.ptx)"
fi
# Integers of e4m3 go up to 448, so one more may be no bf16, and is then no scale of packed pairs; e4m3 itself is.
for scale in s '(i32(s) + 1)'; do
    cat > more.etg << END
model more
input x : bf16[1, 512]
weight u : e2m1[65536, 512]
weight s : e4m3[65536, 32]
output y : f32[1, 65536] = x @ bf16(u * gather($scale.T, idiv(iota(512), 16)).T).T
END
    compile more.etg more.eti --to scheduled
    [ "$target" != sm_90 ] || case $(grep -c ' decode pairs ' more.eti)$scale in
    1s | '0(i32(s) + 1)') ;;
    *) die "scale $scale: $(grep '^ *plan ' more.eti)" ;;
    esac
done
# A row of 192 k's of 2880 has 24 pieces of 16 bytes, which 32 lanes copy of four rows in three turns.
cat > uneven.etg << 'END'
model uneven
dim N in 1..1
input x : bf16[N, 2880]
weight w : bf16[65536, 2880]
output y : f32[N, 65536] = x @ w.T
END
compile uneven.etg uneven.eti --to scheduled
grep -q '^ *plan rows .* weights stream ' uneven.eti || die "k = 2880 does not stream: $(grep '^ *plan ' uneven.eti)"
[ "$target" != sm_90 ] || grep -q ' chunk 192 ' uneven.eti || die "k = 2880 does not stream by 192: $(grep '^ *plan ' uneven.eti)"
same uneven.etg uneven.eti --variants=1 || die 'other code from the text of a product of an uneven k'
