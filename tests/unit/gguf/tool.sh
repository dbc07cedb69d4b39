#!/bin/sh
# tool.sh BIN TOOLS SRC WORK: etgguf as a user meets it.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 tools=$2 src=$3 work=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
"$tools/make_gguf" "$bin/../checkpoints/llama" m.gguf bf16

# What is no file, and outputs that cannot be.
mkfifo pipe
refuses 1 'pipe: is a pipe' "$bin/etgguf" pipe -o out
refuses 1 '.: is a folder' "$bin/etgguf" . -o out
refuses 1 'absent: No such file' "$bin/etgguf" absent -o out
refuses 1 'absent/out' "$bin/etgguf" m.gguf -o absent/out
mkdir full
echo mine > full/file
refuses 1 'full: is there, and has files in it' "$bin/etgguf" m.gguf -o full
refuses 1 'm.gguf: Not a directory' "$bin/etgguf" m.gguf -o m.gguf
[ "$(cat full/file)" = mine ] || die 'a file is gone'
head -c 20000 m.gguf > cut.gguf
refuses 1 'cut.gguf: tensor' "$bin/etgguf" cut.gguf -o out
[ ! -e out ] || die 'out is there'
# An empty folder may be there; slashes at the end do not matter.
mkdir empty
"$bin/etgguf" m.gguf -o empty 2> said
"$bin/etgguf" m.gguf -o new/ 2> said
cmp empty/model.safetensors new/model.safetensors
[ -f new/config.json ] || die 'no config.json'
# Nothing else is left, also where the disk is full.
(ulimit -f 100 && refuses 1 'File too large' "$bin/etgguf" m.gguf -o large)
[ ! -e large ] || die 'large is there'
# Where a value of a weight is beyond f16.
printf '\377\177' | dd of=m.gguf bs=1 seek=$(($(wc -c < m.gguf) - 2)) conv=notrunc 2> said
"$bin/etgguf" m.gguf -o nan --type f16 2> said || die "a NaN: $(cat said)"
printf '\000\177' | dd of=m.gguf bs=1 seek=$(($(wc -c < m.gguf) - 2)) conv=notrunc 2> said
refuses 1 'has values beyond what F16 holds' "$bin/etgguf" m.gguf -o inf --type f16
[ -z "$(ls -d ./*.tmp 2> said)" ] || die 'temporary files are left'

# 130 MB of weights with 24 MB of memory.
limit='ulimit -d 24576' # which the sanitizers do not live with
(ulimit -d 24576 && "$bin/etgguf" --version) > said 2>&1 || limit=:
"$tools/make_gguf" large large.gguf
($limit && "$bin/etgguf" large.gguf -o large --type bf16) 2> said || die "large: $(cat said)"
[ "$(wc -c < large/model.safetensors)" -gt 130000000 ] || die 'large is small'
rm -rf large
# As it is, it takes what the file takes.
($limit && "$bin/etgguf" large.gguf -o large) 2> said || die "large: $(cat said)"
[ "$(wc -c < large/model.safetensors)" -lt "$(($(wc -c < large.gguf) * 21 / 20))" ] || die 'large is larger'
rm -rf large large.gguf

# A story, with the tokenizer and the weights of a GGUF file alone.
"$tools/make_gguf" "$bin/../checkpoints/stories-llama" stories.gguf bf16
"$bin/etgguf" stories.gguf -o stories 2> said || die "$(cat said)"
[ ! -s said ] || die "stories: $(cat said)"
for how in "$bin/../checkpoints/stories-llama" stories; do
    "$bin/etllm" tokenize --model "$how" -p 'Once upon a time, there was a 42!' > tokens
    [ ! -e before ] || cmp before tokens || die 'other tokens'
    mv tokens before
    "$bin/etimport" "$how" -o got.etg --name stories
    [ ! -e want.etg ] || cmp want.etg got.etg || die 'another model'
    mv got.etg want.etg
done
"$tools/make_gguf" compare "$bin/../checkpoints/stories-llama" stories bf16
