#!/bin/sh
# common_waits.sh ETCC ETRUN ETFILL FOLDER: what all tiles of a grid wait for, a workgroup waits for once: its further tiles have no
# more barriers than where there is nothing to wait for, and the results are the same from one workgroup and from many.
set -eu
etcc=$1 etrun=$2 etfill=$3 dir=$4/common_waits
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
cat > waits.etg << 'X'
model waits
dim N in 1..64
input x : bf16[64, 128]
weight b : bf16[8, 128] = "b"
input w : bf16[N * 16, 64]
a = x @ b.T
output y : f32[N * 16, 8] = w @ a
X
sed 's/^model waits/model none/; s/^input x .*/input a : f32[64, 8]/; /^weight/d; /^a = /d' waits.etg > none.etg
"$etfill" b.safetensors 'b:bf16[8,128]:-1:1'
barriers() { # MODEL N WORKGROUPS: of one launch, counted by waves
    rows='x:bf16[64,128]:-1:1'
    [ "$1" = waits ] || rows='a:f32[64,8]:-1:1'
    weights=
    [ "$1" = none ] || weights='--weights b.safetensors'
    "$etfill" in.safetensors "$rows" "w:bf16[$(($2 * 16)),64]:-1:1"
    # shellcheck disable=SC2086
    "$etrun" "$1.hsaco" --set "N=$2" --in in.safetensors $weights --out "$1.$2.$3.safetensors" \
        --device emu:gfx942:cus=8:xcds=1 --workgroups "$3" --stats > said 2>&1 || { cat said >&2; exit 1; }
    sed -n 's/^waits: .* \([0-9]*\) barriers.*/\1/p' said
}
for m in waits none; do "$etcc" $m.etg --variants=1 -o $m.hsaco; done
"$etcc" waits.etg --variants=1 --to=scheduled -o waits.eti
grep -q '^ *wait %a' waits.eti || { echo 'there is nothing to wait for' >&2; exit 1; }
waits=$(($(barriers waits 64 1) - $(barriers waits 32 1)))
none=$(($(barriers none 64 1) - $(barriers none 32 1)))
[ "$none" -gt 0 ] && [ "$waits" -eq "$none" ] || { echo "32 tiles more: $waits barriers, where nothing is waited for $none" >&2; exit 1; }
barriers waits 64 8 > /dev/null
cmp waits.64.1.safetensors waits.64.8.safetensors
