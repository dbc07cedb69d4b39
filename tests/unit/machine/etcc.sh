#!/bin/sh
# etcc.sh ETCC SOURCE_TREE - machines and profiles on etcc's command line.
set -eu
etcc=$1 source=$2 out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
model=$source/examples/mlp/mlp.etg

fail() {
    cat "$out/log" >&2
    echo "etcc.sh: $*" >&2
    exit 1
}
# works ARGUMENT... / refuses MESSAGE ARGUMENT...: exit status 1, and no output
works() { "$etcc" "$@" > "$out/log" 2>&1 || fail "not done: $*"; }
refuses() {
    message=$1 status=0
    shift
    rm -f "$out/m.eti"
    "$etcc" "$@" > "$out/log" 2>&1 || status=$?
    [ "$status" = 1 ] || fail "status $status, not 1: $*"
    grep -qF -- "$message" "$out/log" || fail "does not say '$message': $*"
    [ ! -e "$out/m.eti" ] || fail "made something: $*"
}
compile() { works "$model" --to=scheduled -o "$out/$1.eti" --schedule=hybrid $2; }

works --list-machines
for name in MI210 MI250X MI300X MI300A MI355X 'RX 7900 XTX' 'RX 9070 XT'; do
    grep -q "^$name  *gfx" "$out/log" || fail "no $name in the list"
done

# A machine chooses its target; a file is as good as a name.
works "$model" --machine=mi250x --emit-llvm="$out/m.ll"
grep -q 'gfx90a' "$out/m.ll" || fail "not for gfx90a"
cp "$source/passes/machines/mi300x.machine" "$out/mine.machine"
compile plain ''
compile named --machine=MI300X
compile file --machine="$out/mine.machine"
cmp "$out/plain.eti" "$out/named.eti" || fail "the machine of the target makes a difference"
cmp "$out/plain.eti" "$out/file.eti" || fail "the file makes a difference"
refuses 'machine MI210 is a gfx90a, the code is for gfx942' \
    "$model" --to=scheduled -o "$out/m.eti" --machine=mi210 --target=gfx90a,gfx942
refuses "unknown machine 'mi1'" "$model" --to=scheduled -o "$out/m.eti" --machine=mi1
sed 's/^cus .*/cus many/' "$out/mine.machine" > "$out/bad.machine"
refuses 'bad.machine:7:5: error: cus is a whole number' \
    "$model" --to=scheduled -o "$out/m.eti" --machine="$out/bad.machine"
for wrong in 'waves 8' 'wave_size 32' 'k_bytes 128' 'lds_bytes 32768' 'group_waves 2' \
    'local_copies 1'; do
    sed "s/^${wrong% *} .*/$wrong/" "$out/mine.machine" > "$out/bad.machine"
    refuses 'bad.machine: code for gfx942 has waves 4, wave_size 64, k_bytes 64, lds_bytes 65536, group_waves 0, local_copies 0' \
        "$model" --to=scheduled -o "$out/m.eti" --machine="$out/bad.machine"
done
sed 's/^target .*/target gfx900/' "$out/mine.machine" > "$out/bad.machine"
refuses "unknown target 'gfx900'" "$model" --to=scheduled -o "$out/m.eti" --machine="$out/bad.machine"

# What a code of four bits costs is the machine's word; 0 leaves it to its expression.
cat > "$out/codes.etg" << 'EOF'
model codes
dim N in 1..1
input x : bf16[N, 4096]
weight c : u4[8192, 4096]
weight s : bf16[8192, 32]
d = c - 8
w = bf16(d * gather(s.T, idiv(iota(4096), 128)).T)
output y : f32[N, 8192] = x @ w.T
EOF
for ops in 2:memory '0:the vector units' '20:the vector units'; do
    sed "s/^code4_ops .*/code4_ops ${ops%%:*}/" "$source/passes/machines/h100.machine" > "$out/codes.machine"
    works "$out/codes.etg" --machine="$out/codes.machine" --explain
    grep -A1 '1\. y ' "$out/log" | grep -qF "bound by ${ops#*:}" || fail "code4_ops ${ops%%:*}: not bound by ${ops#*:}"
done

# Profiles that are none, or not of this model.
refuses 'none.prof: No such file' "$model" --to=scheduled -o "$out/m.eti" --profile="$out/none.prof"
echo 'not one' > "$out/bad.prof"
refuses 'bad.prof:1: error: not a profile' \
    "$model" --to=scheduled -o "$out/m.eti" --profile="$out/bad.prof"
version=$("$etcc" --version | cut -d' ' -f2)
printf 'etcc-profile 1\ntool %s\nmachine MI300X\nmodel m\ndevice d\ntimes measured\n%s\n at 1 1\n' \
    "$version" 'task h 00000000000000a1 N=1' > "$out/bad.prof"
refuses 'bad.prof:7: stale time of task h at N=1' \
    "$model" --to=scheduled -o "$out/m.eti" --profile="$out/bad.prof"
