#!/bin/sh
# files.sh BIN WORK: what is no file where a file must be is refused at once, by its name; an output that cannot be
# written is exit 1, and no two outputs are one file, nor an output an input.
set -u
bin=$(cd "$1" && pwd) work=$2
rm -rf "$work"
mkdir -p "$work/out" "$work/ck" || exit 2
cd "$work" || exit 2
failed=0
export TMPDIR="$work"

# refused STATUS WORDS COMMAND...
refused() {
    want=$1 expected=$2
    shift 2
    timeout 60 "$@" > said 2>&1 < /dev/null
    status=$?
    [ $status -eq "$want" ] || { echo "FAIL status $status, not $want: $*"; head -3 said; failed=1; }
    grep -qF -e "$expected" said || { echo "FAIL no '$expected' from $*:"; head -3 said; failed=1; }
}

printf 'model good\ninput x : f32[4]\nweight w : f32[4] = "w"\noutput y : f32[4] = x * w + tanh(x)\n' > good.etg
"$bin/etfill" x.safetensors 'x:f32[4]:-1:1' || exit 2
"$bin/etfill" w.safetensors 'w:f32[4]:-1:1' || exit 2
"$bin/etcc" good.etg -o good.hsaco --to=scheduled || exit 2
mv good.hsaco good.eti
"$bin/etcc" good.etg -o good.hsaco || exit 2
"$bin/etrun" good.hsaco --in x.safetensors --weights w.safetensors --capture captured --out y.safetensors || exit 2
mkfifo pipe.etg
mkdir folder.etg
ln -s loop.etg loop.etg
ln -s /dev/zero device.etg
device='is a device' pipe='is a pipe' folder='is a folder' loop='Too many levels of symbolic links'

# Every option of every tool that takes a file to read.
readers() { # PATH
    p=$1
    echo "etcc $p -o o.hsaco"
    echo "etcc good.etg -o o.hsaco --profile $p"
    echo "etcc good.etg -o o.hsaco --machine ./$p"
    echo "etcc good.etg good.etg $p -o o.hsaco"
    echo "etgguf $p -o o.checkpoint"
    echo "etinterp $p --in x.safetensors --weights w.safetensors --out o.safetensors"
    echo "etrun $p --list"
    echo "etrun $p --in x.safetensors --weights w.safetensors --out o.safetensors"
    echo "etbench $p"
    echo "etbench good.etg --vs $p"
    echo "etbench good.etg --machine ./$p"
    echo "etmixes good.etg $p"
    echo "etmixes good.etg good.etg --machine ./$p"
    echo "etstudy $p N=1"
    echo "etshapes $p"
}
# Those that take folders too, which hold something else then.
folders() { # PATH
    p=$1
    echo "etinterp good.etg --in $p --weights w.safetensors --out o.safetensors"
    echo "etinterp good.etg --in x.safetensors --weights $p --out o.safetensors"
    echo "etrun good.hsaco --in $p --weights w.safetensors --out o.safetensors"
    echo "etrun good.hsaco --in x.safetensors --weights $p --out o.safetensors"
    echo "etbench good.etg --device emu --weights $p"
    echo "etllm score --kernel good.hsaco --model ck --tokens $p --out o.safetensors"
    echo "etllm compare --ref $p --out x.safetensors"
    echo "etllm compare --ref x.safetensors --out $p"
    echo "etbench good.etg --device emu --input x=$p"
}
each() { # WORDS COMMAND...
    said_words=$1 tool=$2
    shift 2
    refused 1 "$said_words" "$bin/$tool" "$@"
}
for kind in device pipe folder loop; do
    eval words=\$$kind
    readers $kind.etg > list
    [ $kind = folder ] || folders $kind.etg >> list
    while read -r line; do
        # shellcheck disable=SC2086
        each "$words" $line
    done < list
done
while read -r line; do
    # shellcheck disable=SC2086
    each 'No such file' $line
done << END
$(readers absent.etg | grep -v etbench)
$(folders absent.etg)
END

# Files that are found by other names than those that are given.
for kind in pipe device loop folder; do
    eval words=\$$kind
    rm -rf ck captured2
    mkdir ck
    ln -s "$work/$kind.etg" ck/config.json
    each "$words" etimport ck -o o.etg
    rm ck/config.json
    ln -s "$work/$kind.etg" ck/model.safetensors
    each "$words" etrun good.hsaco --in x.safetensors --weights ck --out o.safetensors
    rm ck/model.safetensors
    ln -s "$work/$kind.etg" ck/only.safetensors
    each "$words" etrun good.hsaco --in x.safetensors --weights ck --out o.safetensors
    rm ck/only.safetensors
    ln -s "$work/$kind.etg" ck/model.safetensors.index.json
    each "$words" etrun good.hsaco --in x.safetensors --weights ck --out o.safetensors
    printf '{"weight_map": {"w": "a.safetensors"}}' > ck/index
    mv ck/index ck/model.safetensors.index.json 2> /dev/null || { rm ck/model.safetensors.index.json; mv ck/index ck/model.safetensors.index.json; }
    ln -s "$work/$kind.etg" ck/a.safetensors
    each "$words" etrun good.hsaco --in x.safetensors --weights ck --out o.safetensors
    rm -rf ck
    mkdir ck
    ln -s "$work/$kind.etg" ck/tokenizer.json
    each "tokenizer.json: $words" etllm tokenize --model ck -p a
    rm ck/tokenizer.json
    ln -s "$work/$kind.etg" ck/ocml.bc
    each "ocml.bc: $words" etcc good.etg -o o.hsaco --rocm-device-lib-path ck
    for file in launch.json kernarg.bin code.hsaco tensor.x.before tensor.y.after; do
        rm -rf captured2
        cp -r captured captured2
        rm "captured2/$file"
        ln -s "$work/$kind.etg" "captured2/$file"
        each "$words" etrun --replay captured2
    done
    ETRT_EMU_LIB=$work/$kind.etg each "$words" etrun good.hsaco --device emu --in x.safetensors --weights w.safetensors
done

# Sizes are compared before anything is read, also of what is mostly holes.
cp -r captured captured3
truncate -s 1T captured3/tensor.x.before
each 'has 1099511627776 bytes, not 16' etrun --replay captured3
sed -i 's/"bytes": 16,/"bytes": 1099511627776,/' captured3/launch.json
each 'more than the limit of 17179869184' etrun --replay captured3
ETRT_CAPTURE_LIMIT=1000 ETRT_CAPTURE=captured4 each 'more than the limit of 1000' etbench good.etg --device emu --no-tasks -q
[ ! -e captured4 ] || { echo 'FAIL a capture beyond its limit is there'; failed=1; }

# ---- outputs ----

# Whatever writes one file writes it whole or says so; standard output too.
writers() { # PATH
    p=$1
    echo "etcc good.etg -o $p"
    echo "etcc good.etg --to=tiled -o $p"
    echo "etcc good.etg --emit-llvm=$p"
    echo "etcc good.etg --explain=$p"
    echo "etcc good.etg --explain=$p.html"
    echo "etinterp good.etg --in x.safetensors --weights w.safetensors --out $p"
    echo "etrun good.hsaco --in x.safetensors --weights w.safetensors --out $p"
    echo "etfill $p x:f32[1000]:0:1"
    for o in json markdown plot trace html; do
        echo "etbench good.etg --device emu --no-tasks -q --$o $p"
    done
    echo "etbench good.etg --device emu --no-tasks -q --profile $p"
    echo "etbench --tune good.etg --device emu --no-tasks -q -o $p --profile p.prof"
}
"$bin/etcc" good.etg --to=tiled -o good.tiled || exit 2
printers() {
    for tool in etcc etinterp etrun etimport etgguf etquant etbench etllm etfill etmixes etstudy etshapes; do
        for what in --help --version --man --completion; do
            echo "$tool $what"
        done
    done
    echo 'etcc good.etg --explain'
    echo 'etcc good.etg -o o.hsaco --explain'
    echo 'etcc good.etg -d all'
    echo 'etcc good.etg -d graph'
    echo 'etcc good.etg -o -'
    echo 'etcc --list-machines'
    echo 'etinterp good.etg --in x.safetensors --weights w.safetensors --out -'
    echo 'etrun good.hsaco --list'
    echo 'etrun good.hsaco --in x.safetensors --weights w.safetensors'
    echo 'etrun good.hsaco --in x.safetensors --weights w.safetensors --out -'
    echo 'etrun --replay captured'
    echo 'etbench good.etg --device emu --no-tasks'
    echo 'etbench good.etg --device none'
    echo 'etbench good.etg --device emu --no-tasks --json -'
    echo 'etfill - x:f32[1]:0:1'
    echo 'etllm compare --ref l.safetensors --out l.safetensors'
    echo 'etmixes good.etg good.etg --requests 100'
    echo 'etstudy good.etg N=1'
}
"$bin/etfill" l.safetensors 'logits:f32[2,4]:0:1'
full() { # COMMAND...: its standard output is lost
    tool=$1
    shift
    timeout 60 "$bin/$tool" "$@" > /dev/full 2> said < /dev/null
    status=$?
    [ $status -eq 1 ] || { echo "FAIL status $status to a full device: $tool $*"; head -3 said; failed=1; }
    grep -qE 'No space left|standard output' said || { echo "FAIL nothing said of a full device: $tool $*"; failed=1; }
    timeout 60 "$bin/$tool" "$@" >&- 2> said < /dev/null
    status=$?
    [ $status -eq 1 ] || { echo "FAIL status $status without standard output: $tool $*"; head -3 said; failed=1; }
}
printers > list
while read -r line; do
    # shellcheck disable=SC2086
    full $line
done < list
writers absent/o.html > list
while read -r line; do
    # shellcheck disable=SC2086
    each "absent/o.html" $line
done < list
writers folder.etg | grep -v 'etg.html' > list
while read -r line; do
    # shellcheck disable=SC2086
    each "folder.etg: Is a directory" $line
done < list
writers loop.etg | grep -v 'etg.html' > list
while read -r line; do
    # shellcheck disable=SC2086
    each "loop.etg: $loop" $line
done < list
# A pipe that nobody reads does not keep a tool waiting.
writers pipe.etg | grep -v 'etg.html' > list
while read -r line; do
    # shellcheck disable=SC2086
    each "pipe.etg" $line
done < list
# What is written to is written to, and must take all of it.
writers /dev/full | grep -v 'full.html' > list
while read -r line; do
    # shellcheck disable=SC2086
    each '/dev/full: No space left on device' $line
done < list
"$bin/etcc" good.etg --to=tiled -o /dev/stdout | cmp - good.tiled || { echo 'FAIL /dev/stdout'; failed=1; }
# A file that may not grow: SIGXFSZ is a message. (1 is half a kilobyte or a whole one.)
limited() { # COMMAND...: what it says goes through a pipe, which has no limit
    tool=$1
    shift
    { (ulimit -f 0; timeout 60 "$bin/$tool" "$@" < /dev/null 2>&1; echo "status $?") | cat; } > said
    if ! grep -q '^status 1$' said || ! grep -q '/.*File too large' said; then
        echo "FAIL with no room for a file: $tool $*"
        head -3 said
        failed=1
    fi
}
writers out/limited.html > list
echo 'etrun good.hsaco --in x.safetensors --weights w.safetensors --capture out/captured' >> list
while read -r line; do
    # shellcheck disable=SC2086
    limited $line
done < list
[ -z "$(ls -A out)" ] || { echo "FAIL left behind: $(ls -A out)"; failed=1; }

# A link is followed, not replaced.
ln -s target.eti link.eti
"$bin/etcc" good.etg --to=tiled -o link.eti && [ -L link.eti ] && [ -s target.eti ] || { echo 'FAIL a link was replaced'; failed=1; }

same() { # WORDS COMMAND...
    each "$@"
}
same 'two outputs would be one file' etcc good.etg -o a --explain=a
same 'two outputs would be one file' etcc good.etg -o a --emit-llvm=./a
same 'two outputs would be one file' etcc good.etg -o a.x --emit-llvm=../"${work##*/}"/a.x --target=gfx942,gfx90a
ln good.hsaco hard
same 'two outputs would be one file' etcc good.etg -o hard --explain=good.hsaco
same 'two outputs would be one file' etbench good.etg --json a --markdown a
same 'two outputs would be one file' etbench good.etg --trace a --html a
same 'two outputs would be one file' etbench --tune good.etg -o a --profile a
same 'would be one file' etbench --tune good.etg -o a.prof
same 'replace the input' etcc good.etg --explain=good.etg
same 'replace the input' etcc good.etg --to=tiled -o good.etg
same 'replace the input' etinterp good.etg --in x.safetensors --weights w.safetensors --out w.safetensors
same 'replace the input' etrun good.hsaco --in x.safetensors --weights w.safetensors --out x.safetensors
same 'replace the input' etrun good.hsaco --in x.safetensors --weights w.safetensors --out good.hsaco
same 'replace the input' etbench good.etg --json good.etg
same 'replace the input' etllm score --kernel good.hsaco --model ck --tokens x.safetensors --out x.safetensors
mkdir weights
cp w.safetensors weights/model.safetensors
same 'replace the input' etinterp good.etg --in x.safetensors --weights weights --out weights/model.safetensors

# "-" wherever a file is read.
piped() { # INPUT COMMAND...
    from=$1 tool=$2
    shift 2
    cat "$from" | "$bin/$tool" "$@" > said 2>&1 || { echo "FAIL $tool $* < $from"; head -3 said; failed=1; }
}
piped good.etg etcc - -o o.hsaco
piped good.etg etinterp - --in x.safetensors --weights w.safetensors --out o.safetensors
piped x.safetensors etinterp good.etg --in - --weights w.safetensors --out o.safetensors
piped w.safetensors etinterp good.etg --in x.safetensors --weights - --out o.safetensors
piped good.hsaco etrun - --list
piped w.safetensors etrun good.hsaco --in x.safetensors --weights - --out o.safetensors
piped x.safetensors etbench good.etg --device emu --no-tasks --input x=- -q
piped l.safetensors etllm compare --ref - --out l.safetensors
piped l.safetensors etllm compare --ref l.safetensors --out -
printf '# two\nx:f32[2]:0:1\n\ny:i32[3]:0:9\n' > list
piped list etfill o.safetensors -
"$bin/etfill" p.safetensors 'x:f32[2]:0:1' 'y:i32[3]:0:9'
cmp o.safetensors p.safetensors || failed=1
# A tensor without dimensions is one number, which a program reads as such.
printf 'model one\ninput y : i32\noutput z : i32 = y - 2\n' > one.etg
"$bin/etfill" y.safetensors 'y:i32[]:7:7'
"$bin/etfill" z.safetensors 'z:i32[]:5:5'
"$bin/etinterp" one.etg --in y.safetensors --out o.safetensors
cmp o.safetensors z.safetensors || { echo "FAIL etfill: a tensor without dimensions"; failed=1; }
# Two codes of four bits are a byte of the file, the first in its low half.
"$bin/etfill" c.safetensors 'c:u4[2,2]:9:9' 'e:e4m3[1,2]:2:2'
"$bin/etfill" u.safetensors 'c:u8[2,1]:153:153' 'e:e4m3[1,2]:2:2'
cmp c.safetensors u.safetensors || { echo "FAIL etfill: codes of four bits"; failed=1; }
for no in 'y:u4[2,3]:0:1' 'y:u4[]:0:1' 'y:i32[' 'y:i32[,]:1:2' 'y:i32[1,]:1:2' 'y:i32[]' 'y:i32[]]:1:2' 'y:i32:1:2'; do
    if "$bin/etfill" n.safetensors "$no" 2> said; then echo "FAIL etfill took $no"; failed=1; fi
    grep -q 'is not NAME:TYPE' said || { echo "FAIL etfill $no"; failed=1; }
done
piped good.etg etcc /dev/stdin -o o.hsaco

# Nothing but what was asked for.
left=$(find . -name '*.tmp*' -o -name 'etbench.*')
[ -z "$left" ] || { echo "FAIL left behind: $left"; failed=1; }
[ $failed -ne 0 ] || rm -rf "$work"
exit $failed
