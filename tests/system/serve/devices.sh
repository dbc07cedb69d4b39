#!/bin/sh
# Two devices serve one model: the texts are one device's, one by one and several at once, whole and with seeds; an answer that is
# given up frees its slot; a device that is not there is refused. The other tools take the same device.
. "$(dirname "$0")/lib.sh"
m='"model":"stories-llama"'
"$bin/etllm" generate --kernel "$kernel" --model "$stories" -p 'Once upon a time' -n 12 > one 2> generate.log
model=$(imported "$bin" "$src" stories-llama)
kernel=$(kernel "$bin/etcc" "$model" gfx942 static --devices=2)
two=emu:gfx942:cus=4:agents=2
"$bin/etllm" generate --kernel "$kernel" --model "$stories" --device $two -p 'Once upon a time' -n 12 > both 2> generate.log
cmp one both || die 'two devices generate another text'
"$bin/etrun" "$kernel" --device $two --list > listed
"$bin/etbench" "$kernel" --device $two --set N=1 --repeat 1 --warmup 1 --no-tasks --no-predictions --no-unfused --quiet --markdown bench.md
grep -q '^bytes read' bench.md || die 'etbench measured nothing'
# A model of two devices does not open on one, nor on three.
for device in emu:gfx942:cus=4 emu:gfx942:cus=4:agents=3; do
    ! "$bin/etllm" serve --kernel "$kernel" $option "$folders" --port 0 --device $device 2> refused || die "served by $device"
    grep -q 'compiled for 2 devices' refused || die "$(cat refused)"
done

start --device $two
good /v1/completions "{$m,\"prompt\":\"Once upon a time\",\"temperature\":0,\"max_tokens\":12,\"echo\":true}" "\"text\":\"$(cat one)\""
seeded="{$m,\"prompt\":\"Once upon a time\",\"max_tokens\":8,\"seed\":5,\"n\":2}"
ask /v1/completions "$seeded"
sed 's/.*"choices"/"choices"/; s/"usage".*//' answer > first
# Four at once have the texts that each has alone.
for i in 1 2 3 4; do
    curl -sS -m 60 -o "at.once.$i" --data-binary "$seeded" "$address/v1/completions" &
    clients="${clients:-} $!"
done
for client in $clients; do
    wait "$client" || die 'a client failed'
done
for i in 1 2 3 4; do
    sed 's/.*"choices"/"choices"/; s/"usage".*//' "at.once.$i" | cmp - first || die "at once, another text ($i)"
done
good /health '' ok
stop
[ $status = 0 ] || die "ended with $status"

# Where the devices choose the next tokens, of logits that each has a part of: the same texts.
for s in all greedy; do
    "$bin/etimport" "$stories" -o $s.etg --sample $s
    kernel=$(kernel "$bin/etcc" "$work/$s.etg" gfx942 static --devices=2 --gather=always)
    start --device $two
    ask /v1/completions "$seeded"
    sed 's/.*"choices"/"choices"/; s/"usage".*//' answer | cmp - first || die "another text where devices choose ($s)"
    good /v1/completions "{$m,\"prompt\":\"Once upon a time\",\"temperature\":0,\"max_tokens\":12,\"echo\":true}" "\"text\":\"$(cat one)\""
    stop
done
