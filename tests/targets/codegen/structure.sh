#!/bin/sh
# What the machine code of a real model looks like. Usage: structure.sh ETCC MODEL.etg WORK LLVM_BIN
set -eu
. "$(dirname "$0")/../../support/lib.sh"
etcc=$1 model=$2 work=$3 llvm=$4
mkdir -p "$work"
cd "$work"
"$etcc" "$model" -o structure.hsaco
"$llvm/llvm-readelf" --dyn-syms --wide structure.hsaco > symbols.txt
"$llvm/llvm-readelf" --notes --sections --wide structure.hsaco > notes.txt
"$llvm/llvm-objdump" -d --no-show-raw-insn structure.hsaco > code.txt

[ "$(grep -c ' FUNC ' symbols.txt)" = 1 ] || die "not exactly one function: $(cat symbols.txt)"
[ "$(grep -c ' OBJECT .*\.kd$' symbols.txt)" = 1 ] || die "not exactly one kernel descriptor"
[ "$(grep -c 'UND' symbols.txt)" = 1 ] || die "undefined symbols"
grep -q 'private_segment_fixed_size: 0$' notes.txt || die "the kernel uses scratch"
grep -q 'vgpr_spill_count: *0$' notes.txt || die "registers are spilled"
lds=$(sed -n 's/.*group_segment_fixed_size: *//p' notes.txt)
[ "$lds" -gt 32768 ] || die "two workgroups fit on a CU: $lds bytes of LDS"
! grep -q 'hidden_' notes.txt || die "hidden arguments"
grep -E '\.etcc\.manifest +PROGBITS' notes.txt | grep -qv ' A ' || die "no manifest, or it is loaded"
grep -q v_mfma_f32_16x16x16_bf16 code.txt || die "no matrix instructions"
! grep -qE 'scratch_|s_swappc|s_call' code.txt || die "scratch accesses or calls"

# The weights of the first contraction are loaded, 16 bytes at a time, before its tile polls an event.
awk '
    $1 == "global_load_dwordx4" { split($2, part, "[^0-9]+"); line[part[2] + 0] = NR }
    $1 == "s_memrealtime" { poll = NR }
    $1 ~ /^v_mfma/ {
        split($3, part, "[^0-9]+")
        from = line[part[2] + 0]
        if (!from) { print "the weights are not loaded 16 bytes at a time"; exit 1 }
        if (from > poll) { print "the weights are loaded after the wait"; exit 1 }
        found = 1
        exit 0
    }
    END { if (!found) exit 1 }' code.txt || die "weights"
