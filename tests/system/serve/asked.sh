#!/bin/sh
# Kernels that give logits of those tokens alone that are asked for: the texts are those of a kernel that gives all, of prompts
# that take several launches, of which the first ask for none, with guesses, in pages, where the kernel chooses too, and where it
# has fewer rows than texts are written. With `more` behind the usual arguments of scripts here: kernels and texts of each kind.
. "$(dirname "$0")/lib.sh"
again='A fox and a turtle. A fox and a turtle. A fox and a turtle. A fox'
long="$again and a turtle. $again and a turtle. $again and a turtle. $again"

texts() { # FILE [options]
    _file=$1
    shift
    "$bin/etllm" generate --model "$stories" -p "$again" -p "$long" -p 'Once upon a time' -p 'The' -n 24 "$@" > "$_file" 2> generate.log
}
asked() { # FILE [options of etimport]
    _file=$1
    shift
    "$bin/etimport" "$stories" -o "$_file.all.etg" --logits asked "$@"
    sed "${edit:-}" "$_file.all.etg" > "$_file.etg"
    kernel "$bin/etcc" "$work/$_file.etg" gfx942 static
}
all=$kernel
few=$(edit='s/^dim ROWS in 1\.\.64 /dim ROWS in 1..2 /' && asked few --sample greedy)
grep -q '^dim ROWS in 1\.\.2 ' few.etg || die 'not as few rows as expected'
"$bin/etllm" tokenize --model "$stories" -p "$long" > long.ids
[ "$(wc -w < long.ids)" -gt 64 ] || die 'the long prompt fits in a launch'
texts want.0 --kernel "$all" --temperature 0
texts got --kernel "$few" --temperature 0 --speculate 5
cmp want.0 got || die 'another text'

# A classifier has no rows to choose from.
refuses 1 'does not say whose logits' "$bin/etimport" "$bin/../checkpoints/vit" -o vit.etg --logits asked
refuses 2 'logits' "$bin/etimport" "$stories" -o x.etg --logits some
[ "${4:-}" = more ] || exit 0

plain=$(asked plain)
pages=$(asked pages --sample all --paged 8 --pages 90)
for t in 0 1.3; do
    texts "want.$t" --kernel "$all" --temperature $t
    for k in "$plain" "$few" "$pages"; do
        for n in 0 5; do
            texts got --kernel "$k" --temperature $t --speculate $n
            cmp "want.$t" got || die "another text from $k with $n guesses at temperature $t"
        done
    done
done

# The server, with many at once; and log probabilities, which want the row beside the token that the kernel chose.
job='{"model":"stories-llama","prompt":"Once upon a time","max_tokens":8,"temperature":0,"logprobs":2}'
for kernel in "$all" "$few" "$pages"; do
    start --speculate 3
    ask /v1/completions "$job"
    [ "$code" = 200 ] || die "status $code: $(cat answer)"
    sed 's/.*"choices"/"choices"/; s/"usage".*//' answer > got
    [ -s want ] || cp got want
    cmp want got || die "another answer from $kernel"
    "$bin/serve_client" together "$address" 6 16 || die 'answers differ'
    stop
    [ "$status" -eq 0 ] || die "exit status $status"
done
