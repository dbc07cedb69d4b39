#!/bin/sh
# h100.sh BIN [MACHINE [RESULTS]]: how fast etcc's kernels are on this machine's Hopper card, made for MACHINE (H100, H200): one
# table, of single tokens and prompts of Llama-3.2-1B, Qwen3 of 0.6 and 8 billion weights and experts, beside a plain read of as
# many bytes and PyTorch, where it is. RESULTS: a new folder for the table and what was said. bench/hopper/README.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
sh "$here/hopper/prepare.sh" "$1" "$dir/bundle" "${2:-H100}" >&2
sh "$dir/bundle/run.sh" "$dir/bundle" "${3:-$dir/results}"
