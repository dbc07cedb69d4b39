#!/bin/sh
# The command line of etcc: cli.sh ETCC.
set -u
etcc=$1
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 2
failed=0

expect() { # STATUS PATTERN ARGUMENTS...
    want=$1 pattern=$2
    shift 2
    "$etcc" "$@" >out 2>&1 <"$tmp/good.etg"
    status=$?
    if [ $status -ne "$want" ] || { [ -n "$pattern" ] && ! grep -q -e "$pattern" out; }; then
        echo "FAIL etcc $*: status $status, wanted $want and '$pattern'"
        head -5 out
        failed=1
    fi
}

printf 'model good\ninput x : f32[4]\noutput y : f32[4] = x + 1\n' >good.etg
printf 'model bad\noutput y : f32[4] = x + 1\n' >bad.etg
mkdir dir

expect 0 'usage: etcc' --help
expect 0 'usage: etcc' -h
expect 0 'etcc [0-9]' --version
expect 2 'no model given'
expect 2 'nothing to make' good.etg
expect 1 'bad.etg:2:21: error: unknown name' good.etg bad.etg -d graph
expect 2 'unknown option --nonsense' --nonsense good.etg
expect 2 'needs a value: FILE' good.etg -o
expect 2 'greedy: write static|dynamic|hybrid|kernels' --schedule=greedy good.etg -o y.hsaco
expect 0 'output %y' good.etg -d graph
expect 0 'output %y' -d graph -
expect 1 'No such file' nothing.etg -d graph
expect 1 'dir: is a folder, not a regular file' dir -d graph
expect 1 'would replace the input' good.etg -o good.etg
expect 1 'would replace the input' good.etg -o ./dir/../good.etg
expect 2 'gfx9000: .*gfx942' good.etg -o y.hsaco --target=gfx9000
expect 2 'fold: write graph|all|fuse' good.etg -d fold
expect 1 "bad.etg:2:21: error: unknown name 'x'" bad.etg -o bad.hsaco
expect 1 "nothing.hsaco" good.etg -o dir/none/nothing.hsaco

# A value may begin with a dash; a name that is only a dash is standard input or output.
expect 0 '' good.etg -o -x.hsaco
[ -s ./-x.hsaco ] || { echo "FAIL -o -x.hsaco wrote nothing"; failed=1; }
"$etcc" - -o - <good.etg | cmp - ./-x.hsaco || { echo "FAIL etcc - -o - differs"; failed=1; }
cat good.etg | "$etcc" --to scheduled -o - - | grep -q '^eti 1 scheduled' || { echo "FAIL --to -o -"; failed=1; }
expect 2 'only one result' good.etg -o - --explain
expect 0 'TIME: a launch' good.etg --explain
expect 0 '' good.etg --explain=said.txt
grep -q 'TIME: a launch' said.txt || { echo "FAIL --explain=FILE"; failed=1; }
expect 0 'came out static' good.etg --schedule=hybrid --to=scheduled -o said.txt
rm -f ./-x.hsaco said.txt

echo old >old.hsaco
expect 1 'unknown name' bad.etg -o old.hsaco
[ "$(cat old.hsaco)" = old ] || { echo "FAIL an output was touched in spite of errors"; failed=1; }
left=$(ls)
[ "$left" = "$(printf 'bad.etg\ndir\ngood.etg\nold.hsaco\nout')" ] || { echo "FAIL left behind: $left"; failed=1; }

# What a file cannot replace is written to.
mkfifo pipe
for how in '' '--to=scheduled'; do
    # shellcheck disable=SC2086
    "$etcc" good.etg $how -o plain && { cat pipe >piped & "$etcc" good.etg $how -o pipe; }
    wait
    { [ -p pipe ] && [ -s plain ] && cmp plain piped; } || { echo "FAIL etcc $how -o pipe"; failed=1; }
done
expect 1 'dir: Is a directory' good.etg -o dir

head -c 70000000 /dev/zero >huge.etg
expect 1 'larger than 64 MB' huge.etg -d graph
[ $failed -eq 0 ] && echo "command line: as expected"
exit $failed
