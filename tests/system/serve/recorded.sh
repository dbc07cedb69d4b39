#!/bin/sh
# Requests as the openai and anthropic clients for Python sent them: answered with what these need, or refused
# as they expect. Each file of recorded/ has the path in its first line, then the body; NN.want has the status,
# then words that the answer has.
. "$(dirname "$0")/lib.sh"
start --tool-parser hermes --reasoning
for file in "$src"/tests/system/serve/recorded/*.txt; do
    sed 1d "$file" > body
    ask "$(head -n 1 "$file")" @body
    want=${file%.txt}.want
    [ "$code" = "$(head -n 1 "$want")" ] || die "$file: status $code: $(cat answer)"
    sed 1d "$want" > words
    while IFS= read -r word; do
        has "$word"
    done < words
done
stop
[ $status -eq 0 ] || die "exit status $status"
