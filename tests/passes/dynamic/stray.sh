#!/bin/sh
# stray.sh BIN SRC WORK: a wait for which a tensor names counters the event does not have ends with
# an error that says so, and looks at nothing outside of the event. Static, it is the wait that ends; dynamic,
# such a task is never ready: all others have run, and a workgroup that looks for one says that it finds none.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$1
mkdir -p "$3" && cd "$3"
"$bin/etfill" right.safetensors 'x:f32[5,16]:-1:1' 't:i32[5]:0:4'
"$bin/etfill" above.safetensors 'x:f32[5,16]:-1:1' 't:i32[5]:5:2147483647'
"$bin/etfill" below.safetensors 'x:f32[5,16]:-1:1' 't:i32[5]:-2147483648:-1'

# launch KERNEL TENSORS
launch() {
    rm -f out.safetensors
    "$bin/etrun" "$1" --set N=5 --in "$2.safetensors" --out out.safetensors \
        --device emu:gfx942:cus=4:xcds=2 --wait-limit 0.3 2> err
}

for which in '%t[i]' '%t[i] .. %t[i] * 3 - %t[i] * 2'; do
    sed "s/WHICH/$which/" "$here/stray.eti" > stray.eti
    for how in static dynamic; do
        "$bin/etcc" stray.eti --schedule=$how -o $how.hsaco
        launch $how.hsaco right
        cp out.safetensors $how.safetensors
        for tensors in above below; do
            status=0
            launch $how.hsaco $tensors || status=$?
            test "$status" = 1
            test ! -e out.safetensors
            case $how in
            static) grep -q 'in task use, tile [0-9]*, waits for a counter that event done does not have' err ;;
            dynamic) grep -q 'found nothing to do for longer than 0.3 s among tasks from make on: 5 of 10 taken' err ;;
            esac
            grep -qx '  done: 5 of 8 counters at 1; below: done\[5\]=0, done\[6\]=0, done\[7\]=0' err
        done
    done
    cmp static.safetensors dynamic.safetensors
done
