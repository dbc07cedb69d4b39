#!/bin/sh
# occupancy.sh BIN SRC WORK: kernels of --occupancy=2 take half of a CU's LDS and waves, give PyTorch's logits under each schedule, and
# two of them run beside each other on all CUs with the answers they give alone; their texts say it, and read back to the same code.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2
fresh "$3"

field() { # NAME FILE: a number of the manifest's kernel
    strings -n 8 "$2" | tr '{,' '\n\n' | sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" | head -n 1
}

golden=$bin/../checkpoints/llama
scored() { # KERNEL TARGET
    "$bin/etllm" score --kernel "$1" --model "$golden" --device "emu:$2:cus=6" --chunk 7 \
        --tokens "$golden/golden.safetensors" --out logits.safetensors
    "$bin/etllm" compare --ref "$golden/golden.safetensors" --out logits.safetensors --tolerance 1e-2 --gap 0.1
}
for each in gfx942:static gfx1100:static gfx942:hybrid; do
    target=${each%:*}
    k=$(kernel "$bin/etcc" "$src/tests/unit/import/llama.etg" "$target" "${each#*:}" --occupancy=2)
    [ "$(field workgroup "$k")" -eq 128 ] || die "$each: $(field workgroup "$k") work-items"
    [ "$(field lds_bytes "$k")" -le 32256 ] || die "$each: $(field lds_bytes "$k") bytes of LDS"
    scored "$k" "$target"
done

# ---- as text, in which it stands
mlp=$src/examples/mlp/mlp.etg
for target in gfx942 sm_90; do
    "$bin/etcc" "$mlp" --target=$target --occupancy=2 --unoptimised --emit-llvm=want.ll
    "$bin/etcc" "$mlp" --target=$target --occupancy=2 --to=scheduled -o text.eti
    grep -q '^ *workgroup 128 occupancy 2$' text.eti || die "$target: the text does not say it"
    for options in '' --occupancy=2; do
        # shellcheck disable=SC2086
        "$bin/etcc" text.eti --target=$target $options --unoptimised --emit-llvm=got.ll
        cmp want.ll got.ll || die "$target: other code from the text"
    done
done
grep -q '"nvvm.minctasm"="2"' want.ll || die "registers of one workgroup alone"
refuses 1 'the text is for 2 on a CU' "$bin/etcc" text.eti --target=sm_90 --occupancy=1 --emit-llvm=none.ll
refuses 2 '' "$bin/etcc" "$mlp" --occupancy=3 --emit-llvm=none.ll

# ---- tiles are for as many CUs as there are workgroups where weights stream, and else for all halves
"$bin/etimport" "$src/bench/models/llama-3.2-1b" --config-only --max-tokens 8 --name decoder -o decoder.etg
cp "$src/bench/models/mixer/mixer.etg" images.etg
tiles() { awk -v on="$1" '/^variant/ { p = / on / == on; next } p' text.eti | grep -E '^ *(contract|task|ring) '; }
for m in decoder:0 images:1; do
    "$bin/etcc" "${m%:*}.etg" --machine=H200 --occupancy=2 --widths=132 --variants=1 --to=scheduled -o text.eti
    tiles 1 > each && tiles 0 > chosen
    differ=0
    cmp -s each chosen || differ=1
    [ $differ = "${m#*:}" ] || die "${m%:*}: tiles of $(cat chosen), where those for 132 workgroups are $(cat each)"
done

# ---- beside each other
for m in mlp encoder; do
    "$bin/etcc" "$src/examples/$m/$m.etg" --occupancy=2 -o $m.hsaco
    "$bin/etcc" "$src/examples/$m/$m.etg" -o $m.own.hsaco
done
"$bin/etshare" --device emu:gfx942:cus=6 --check --seconds 0.2 --load none -p turns=turns:mlp.hsaco,encoder.hsaco \
    -p beside=streams:mlp.hsaco,encoder.hsaco -p chosen=plans:mlp.own.hsaco+mlp.hsaco,encoder.own.hsaco+encoder.hsaco --json=table.json > table ||
    die "other answers beside each other"
[ "$(grep -o '"half_launches": *[1-9]' table.json | wc -l)" -eq 2 ] || die "not tried beside each other: $(cat table.json)"
