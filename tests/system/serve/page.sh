#!/bin/sh
# The page at "/" in a browser: it shows the model and its slots, and a conversation works: several turns, an answer that is stopped, text that looks
# like markup. $4: the browser.
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
typed() { # SCRIPT: what is done once the page is there
    awk -v at="$address" -v what="$1" '{
        sub("fetch\\(.\\/v1", "fetch(\"" at "\" + \047/v1"); sub("fetch\\(p,", "fetch(\"" at "\" + p,"); print
        if (/^watch\(\);/) print "$(\047temperature\047).value = 0;\n" what
    }' "$src/examples/llm/serve/page.html" > typed.html
}
# The browser's own time may be over before a busy machine has answered: it is asked again then.
shows() { # WHAT...: all of these are in the page
    for _ in 1 2 3 4 5; do
        look "file://$work/typed.html" > dom
        missing=
        for _what; do grep -q -e "$_what" dom || missing=$_what; done
        [ "$missing" ] || return 0
    done
    die "no '$missing': $(grep -o 'id="talk".*' dom | head -c 600)"
}
say="const say = (text, most) => { \$('say').value = text; \$('most').value = most; return send(new Event('submit')); };"
typed "$say say('Once upon a time', 200);"
shows 'turn user">Once upon a time' 'turn assistant">, '
# Stopped once something of the first answer is there; what was said until then is part of the second question.
typed "$say const halt = setInterval(() => { if (document.querySelector('.assistant')) { clearInterval(halt); \$('halt').click(); } }, 1);
say('Once upon a time', 200).then(() => { say('<img src=x onerror=\"turn(1)\">', 4); turn('roles', talk.map(t => t.role).join()); });"
shows 'turn bad">stopped<' 'turn user">&lt;img src=x onerror' 'turn roles">user,assistant,user<' 'turn assistant">x'
! grep 'id="talk"' dom | grep -q '<img' || die 'text became markup'
stop
