#!/bin/bash
# interrupt.sh BIN SRC WORK: every tool that writes files, ended by signals at moments of all kinds, leaves what was there
# and its complete outputs, and nothing else. So does one that is killed, but for captures and etbench's own folder.
set -u
bin=$(cd "$1" && pwd) src=$(cd "$2" && pwd) work=$3
rm -rf "$work"
mkdir -p "$work" || exit 2
cd "$work" || exit 2
times=1
[ -z "${ETCC_LONG-}" ] || times=15
failed=0 ended=0 state=12345

random() { # BELOW: into $drawn, the same ones every time
    state=$(((state * 1103515245 + 12345) & 0x7fffffff))
    drawn=$(((state >> 8) % $1))
}

model=$bin/../checkpoints/stories-llama
"$bin/etimport" "$model" -o stories.etg || exit 2
"$bin/etcc" stories.etg -o stories.hsaco || exit 2
"$bin/etfill" in.safetensors 'tokens:i32[8]:0:1000' 'positions:i32[8]:0:63' 'slots:i32[8]:0:15' || exit 2
"$bin/etfill" ids.safetensors 'input_ids:i32[2,8]:0:1000' || exit 2
mlp=$src/examples/mlp/mlp.etg

# ended NAMES COMMAND...: what may be there after it
interrupted() {
    local names=" $1 " tool=$2 i signal all from to name
    shift 2
    rm -rf run
    mkdir run
    from=$(date +%s%N)
    (cd run && TMPDIR=$PWD exec "$bin/$tool" "$@") > said 2>&1 < /dev/null || { echo "FAIL $tool $*"; tail -3 said; failed=1; }
    to=$(date +%s%N)
    all=$(((to - from) / 1000)) # microseconds
    for ((i = 0; i < times; i++)); do
        rm -rf run
        mkdir run
        random 5
        signal=$(echo INT TERM HUP PIPE KILL | cut -d' ' -f$((drawn + 1)))
        [[ $signal != KILL || $tool != etbench && $names != *captured* ]] || signal=TERM
        random $((all * 11 / 10))
        (cd run && TMPDIR=$PWD exec timeout -s $signal "$(printf '%d.%06d' $((drawn / 1000000)) $((drawn % 1000000)))" \
            "$bin/$tool" "$@") > said 2>&1 < /dev/null
        case $? in 124 | 137) ended=$((ended + 1)) ;; esac
        for name in $(ls -A run); do
            [[ $names = *" $name "* ]] || { echo "FAIL SIG$signal after $drawn us left $name: $tool $*"; failed=1; }
        done
    done
}

here=$work
interrupted o.hsaco etcc "$here/stories.etg" -o o.hsaco
interrupted 'o.hsaco o.html' etcc "$mlp" -o o.hsaco --explain=o.html
interrupted 'o.gfx942.hsaco o.gfx90a.hsaco' etcc "$mlp" -o o.hsaco --target=gfx942,gfx90a
interrupted o.etg etimport "$model" -o o.etg
interrupted o.safetensors etfill o.safetensors 'x:f32[4000,1000]:0:1'
interrupted o.safetensors etinterp "$here/stories.etg" --in "$here/ids.safetensors" --weights "$model" --out o.safetensors
interrupted o.safetensors etrun "$here/stories.hsaco" --set N=8 --in "$here/in.safetensors" --weights "$model" --out o.safetensors
interrupted captured etrun "$here/stories.hsaco" --set N=8 --in "$here/in.safetensors" --weights "$model" --capture captured
interrupted o.safetensors etllm score --kernel "$here/stories.hsaco" --model "$model" --tokens "$here/ids.safetensors" --out o.safetensors
interrupted 'o.json o.svg o.md' etbench "$mlp" --device emu:gfx942:cus=4 --no-tasks -q --repeat 1 --json o.json --plot o.svg --markdown o.md
interrupted 'o.hsaco o.prof' etbench --tune "$mlp" --device emu:gfx942:cus=4 -q --repeat 1 -o o.hsaco
interrupted 'o.json o.html' etbench "$mlp" --device emu:gfx942:cus=4 --no-tasks -q --repeat 1 --trace o.json --html o.html
export ETRT_CAPTURE=captured
interrupted captured etrun "$here/stories.hsaco" --set N=8 --in "$here/in.safetensors" --weights "$model"
interrupted 'captured o.safetensors' etllm score --kernel "$here/stories.hsaco" --model "$model" --tokens "$here/ids.safetensors" --out o.safetensors

[ $ended -ge $((times * 3)) ] || { echo "FAIL only $ended were ended by a signal"; failed=1; }
echo "$ended interruptions"
[ $failed -ne 0 ] || rm -rf "$work"
exit $failed
