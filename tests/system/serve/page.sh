#!/bin/sh
# The page at "/" in a browser: it shows the model and its slots, and a conversation works. $4: the browser.
. "$(dirname "$0")/lib.sh"
browser=$4
start --cors '*'
look() { # URL
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --user-data-dir="$work/profile" --timeout=12000 --virtual-time-budget=6000 --dump-dom "$1" 2> browser.log ||
        die "the browser failed: $(tail -3 browser.log)"
}
look "$address/" > dom
grep -q 'stories-llama on emulated' dom || die "the model is not shown: $(head -c 2000 dom)"
[ "$(grep -o 'class="bar" title="slot' dom | wc -l)" -eq 16 ] || die 'not all slots are shown'

# The same page with something typed in and sent, which no link can do.
sed -e "s#fetch('/v1#fetch('$address/v1#; s#fetch(p,#fetch('$address' + p,#" \
    -e "s#^watch();#watch(); \$('say').value = 'Once upon a time'; \$('temperature').value = 0; send(new Event('submit'));#" \
    "$src/examples/llm/serve/page.html" > typed.html
# The browser's own time may be over before a busy machine has answered: it is asked again then.
shown=
for _ in 1 2 3 4 5; do
    look "file://$work/typed.html" > dom
    grep -q 'turn user">Once upon a time' dom && grep -q 'turn assistant">, ' dom && shown=yes && break
done
[ "$shown" ] || die "no answer is shown: $(grep -o 'id="talk".*' dom | head -c 600)"
stop
