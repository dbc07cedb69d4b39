#!/bin/sh
# The commands in the README of the server, as they stand there but for the port, print what stands there. The
# metrics of the dashboard are metrics of the server.
. "$(dirname "$0")/lib.sh"
readme=$src/examples/llm/serve/README.md
block() { # NUMBER: a block after the heading
    awk -v want="$1" '/^## Five commands/ { on = 1 } /^## What can/ { on = 0 }
        on && /^    / { if (!inside) n++; inside = 1; if (n == want) print substr($0, 5); next }
        { inside = 0 }' "$readme"
}
start
port=${address##*:}
stop
block 1 > commands
[ "$(wc -l < commands)" -eq 5 ] || die 'there are not five commands'
sed "s/8080/$port/g" commands > commands.sh
echo 'echo; curl -s http://127.0.0.1:'"$port"'/metrics > metrics; kill $!; wait $!' >> commands.sh
mkdir build
ln -s "$bin/../checkpoints" build/checkpoints
PATH=$bin:$PATH sh -e commands.sh > printed 2> server.log || die 'a command failed'
same() {
    sed -e 's/chatcmpl-[0-9a-f]*/ID/; s/"created":[0-9]*/WHEN/; s/"status":"ok"}{/"status":"ok"}\n{/' "$1" | grep .
}
block 2 > want
same want > want.same
same printed > printed.same
cmp want.same printed.same || die "$(cat printed.same)"
grep -o '[a-z]*[:_][a-z_0-9]*_[a-z]*' "$src/examples/llm/serve/grafana.json" | grep -E '^(vllm:|etllm_)' | sort -u > names
[ "$(wc -l < names)" -ge 10 ] || die 'the dashboard has no metrics'
while IFS= read -r name; do
    grep -q "^$name{" metrics || die "the server has no metric $name"
done < names
