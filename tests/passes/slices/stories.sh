#!/bin/sh
# stories.sh BIN SRC FOLDER: trained models in slices, on incoherent caches, whatever dies their workgroups find
# themselves on: the reference's text and logits, each launch in an order of its own; and not with the fences of
# a die where those of the device are needed.
set -eu
bin=$1 src=$2 folder=$3
stories=$bin/../checkpoints/stories-llama golden=$bin/../checkpoints/llama
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
fail() {
    echo "stories.sh: $*" >&2
    exit 1
}

# Text, a token a launch; logits, some tokens a launch.
"$bin/etimport" "$stories" -o stories.etg > /dev/null
told() { # SLICES DEVICE
    "$bin/etllm" generate --kernel "stories_$1.hsaco" --model "$stories" --device "emu:gfx942:coherence=model:$2" \
        -p 'A fox and a turtle' -n 12 > text.txt 2> log || fail "in $1 slices on $2: $(cat log)"
    "$bin/check_text" prefix "$stories" 2 text.txt > log || fail "in $1 slices on $2: another text"
    [ -e "text_$1.txt" ] || cp text.txt "text_$1.txt"
    cmp text.txt "text_$1.txt" || fail "in $1 slices: another text on $2"
}
for slices in 2 8; do
    "$bin/etcc" stories.etg --slices=$slices -o stories_$slices.hsaco -d place > placed.eti
    grep -q '^# events in .*[1-9] of the die' placed.eti ||
        fail "nothing in $slices slices is of a die"
done
told 2 cus=16:xcds=4:seed=11
told 2 cus=6+2+4:map=shuffle-5:seed=12
told 2 cus=16:xcds=4:map=fill-2:seed=13
told 8 cus=24:xcds=8:map=shuffle-6:seed=14
told 8 cus=3:xcds=1:seed=16
"$bin/etllm" score --kernel stories_8.hsaco --model "$stories" --tokens "$stories/reference.safetensors" --chunk 16 \
    --device emu:gfx942:cus=16:xcds=4:map=shuffle-7:coherence=model:seed=15 --out score.safetensors > log 2>&1 ||
    fail "$(cat log)"
"$bin/etllm" compare --ref "$stories/reference.safetensors" --out score.safetensors --tolerance 1e-2 --gap 0.1

# By rows, the bits of no slices.
score() { # SLICES DEVICE: to SLICES.safetensors
    "$bin/etcc" stories.etg --slices="$1" -o by.hsaco -d place > placed.eti
    "$bin/etllm" score --kernel by.hsaco --model "$stories" --tokens "$stories/reference.safetensors" --chunk 16 \
        --device "emu:gfx942:coherence=model:$2" --out "$1.safetensors" > log 2>&1 || fail "$(cat log)"
}
score none cus=4:xcds=2:seed=17
score rows:2 cus=16:xcds=4:map=shuffle-7:seed=18
grep -q '^# events in .*[1-9] of the die' placed.eti || fail "nothing by rows is of a die"
cmp none.safetensors rows:2.safetensors || fail "other bits by rows"

# The same bits in every order.
"$bin/etimport" "$golden" -o golden.etg > /dev/null
"$bin/etcc" golden.etg --variants=1 --slices=2 --to=scheduled -o intact.eti
order() { # KERNEL DEVICE LAUNCHES right|wrong
    printf '%s on %s: ' "$1" "$2"
    "$bin/interleavings" "$1" "$golden" "emu:gfx942:coherence=model:$2" "$3" "$4"
}
"$bin/etcc" intact.eti -o intact.hsaco
order intact.hsaco cus=16:xcds=4:seed=21 24 right
order intact.hsaco cus=7+1+3+2:map=shuffle-8:seed=22 6 right
order intact.hsaco cus=12:xcds=4:firstdie=3:seed=23:starve=5 6 right

# An event of the device that is said to be of the die, one at a time.
n=0
for event in $(sed -n 's/^event %\([a-z_0-9.]*\).* scope device .*/\1/p' intact.eti); do
    sed "/^event %$event\[/s/scope device/scope die/" intact.eti > narrow.eti
    ! "$bin/etcc" narrow.eti -o narrow.hsaco 2> said || fail "the verifier takes $event for one of the die"
    grep -q 'may run on another die' said || fail "of $event: $(cat said)"
    "$bin/etcc" narrow.eti --unverified -o narrow.hsaco
    if order narrow.hsaco cus=16:xcds=4:seed=24 3 wrong; then n=$((n + 1)); fi
done
echo "$n events narrowed to the die give wrong logits"
test $n -ge 3
