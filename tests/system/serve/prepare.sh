#!/bin/sh
# One command: a checkpoint and a GGUF file are imported and compiled into a cache, once; the text is the one of a kernel
# that was made by hand.
. "$(dirname "$0")/lib.sh"
once() { # MODEL LOG: the answer to a line
    echo 'Once upon a time' | "$bin/etllm" run --model "$1" --cache cache --context 128 --slots 2 --max-tokens 12 2> "$2"
}
"$bin/etllm" generate --kernel "$kernel" --model "$stories" -p 'Once upon a time' -n 12 > generated 2> generate.log
once "$stories" first.log > said || die "$(cat first.log)"
[ "Once upon a time$(cat said)" = "$(cat generated)" ] || die "another text: $(cat said)"
grep -q 'compiling for gfx' first.log || die "nothing was compiled: $(cat first.log)"
once "$stories" second.log | cmp - said || die 'another text the second time'
[ ! -s second.log ] || die "something was done again: $(cat second.log)"

grep -aq '"name": "PICKS"' cache/kernel-*/kernel.hsaco || die 'tokens are not drawn in the kernel'

"$bin/../tests/unit/gguf/make_gguf" "$stories" tales.gguf bf16
echo 'Once upon a time' | "$bin/etllm" run tales.gguf --cache cache --context 128 --slots 2 --max-tokens 12 > said.gguf 2> gguf.log ||
    die "$(cat gguf.log)"
cmp said said.gguf || die "another text of GGUF: $(cat said.gguf)"
[ "$(find cache -maxdepth 1 | wc -l)" -eq 4 ] || die "the cache: $(find cache -maxdepth 1)"

# Sums in the same order are another kernel, where there are variants.
for sums in '' --same-sums; do
    # shellcheck disable=SC2086
    echo 'Once upon a time' | "$bin/etllm" run --model "$stories" --device emu:gfx1100 --cache "sums$sums" --context 128 --slots 2 --max-tokens 4 $sums \
        > said.sums 2> sums.log || die "$(cat sums.log)"
    grep -q 'compiling for gfx1100' sums.log || die "nothing was compiled: $(cat sums.log)"
done
[ "$(cat sums/kernel-*/kernel.hsaco | cksum)" != "$(cat sums--same-sums/kernel-*/kernel.hsaco | cksum)" ] || die 'etcc was not asked for --same-sums'
[ "$(cd sums && echo kernel-*)" != "$(cd sums--same-sums && echo kernel-*)" ] || die 'kernels with other sums have the same name'

# What fails leaves nothing that is taken for whole.
mkdir broken
cp "$stories"/*.json broken
if once broken broken.log > said; then die 'a checkpoint without weights'; fi
grep -q 'etimport failed' broken.log || die "$(cat broken.log)"
[ "$(find cache -maxdepth 1 | wc -l)" -eq 4 ] || die "left behind: $(find cache -maxdepth 1)"

# Served under its own name, and others.
kernel=
"$bin/etllm" serve tales.gguf --cache cache --context 128 --slots 2 --port 0 --alias gpt-4o,other 2> server.log &
server=$!
for _ in $(seq 400); do
    ! grep -q '^etllm: ready: ' server.log || break
    sleep 0.05
done
address=$(sed -n 's/^etllm: listening on //p' server.log)
p='"prompt":"Once upon a time","temperature":0,"max_tokens":2'
good /v1/models '' '"id":"tales"' '"max_model_len":128'
for name in tales gpt-4o other; do
    good /v1/completions "{\"model\":\"$name\",$p}" '", there"'
done
bad 404 /v1/completions "{\"model\":\"nobody\",$p}" 'model_not_found'
stop

# Without --context: what the model knows, at most 8,192, as far as there is room for its keys and values, 32 KB a position here.
cp -r "$stories" far
chmod -R u+w far
sed -i 's/"max_position_embeddings": *[0-9]*/"max_position_embeddings": 131072/' far/config.json
for row in '4096 0' '4096 100' '8192 270' '8192 9000'; do
    room=$((${row#* } * 1000000))
    [ $room -gt 0 ] && set -- --cache-room "$room" || set --
    "$bin/etimport" far -o far.etg "$@"
    grep -q "^const CTX *= ${row% *} " far.etg || die "in $room bytes: $(grep CTX far.etg)"
done
"$bin/etllm" serve --model far --cache cache --port 0 2> server.log &
server=$!
for _ in $(seq 600); do
    ! grep -q '^etllm: ready: ' server.log || break
    kill -0 $server 2> kill.log || die 'it does not start'
    sleep 0.1
done
address=$(sed -n 's/^etllm: listening on //p' server.log)
grep -q '16 slots of 8192 tokens (the model knows 131072: --context, --slots)' server.log || die 'how much it holds is not said'
good /v1/models '' '"id":"far"' '"max_model_len":8192'
good /v1/completions "{$p}" '", there"'
stop

# A lenient server takes any name, and what other servers know that changes nothing.
kernel=$(kernel "$bin/etcc" "$(imported "$bin" "$src" stories-llama)" gfx942 static)
start --lenient
good /v1/completions "{\"model\":\"nobody\",$p,\"id_slot\":3,\"samplers\":[\"top_k\"],\"repeat_penalty\":1.0}" '", there"'
bad 400 /v1/completions "{$p,\"colour\":1}" "'colour' is not known"
stop
