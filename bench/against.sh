#!/bin/sh
# against.sh OTHER [BIN]: this tree against another one, in one run on this machine: what etcc takes, what
# its kernels take on the emulator, how fast the emulator is, how big the files are. Prints a table.
# OTHER: a commit, which is built in a scratch folder, or the folder with the tools of a build.
# BIN: the tools of this tree; default build/bin. Runs alternate between the two, five of each or $RUNS; figures
# are medians.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
other=$1
bin=$(cd "${2:-$src/build/bin}" && pwd)
runs=${RUNS:-5}
dir=$(mktemp -d)
tree=$dir/tree
git() {
    command git -C "$src" -c safe.directory='*' "$@"
}
clean_up() {
    [ ! -d "$tree" ] || git worktree remove --force "$tree"
    rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

tools='etcc etrun etimport etmeasure etfill etemu etrt_shared etrt'
if [ -x "$other/etcc" ]; then
    old=$(cd "$other" && pwd) name=$other
else
    name=$(git rev-parse --short "$other^{commit}")
    git worktree add -q --detach "$tree" "$other"
    cmake -S "$tree" -B "$dir/build" -G Ninja -DCMAKE_BUILD_TYPE=Release > "$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
    # shellcheck disable=SC2086
    cmake --build "$dir/build" --target $tools > "$dir/log" 2>&1 || { tail "$dir/log" >&2; exit 1; }
    old=$dir/build/bin
fi

stories=$bin/../checkpoints/stories-llama
cd "$dir"
for n in 1 16 64; do
    "$bin/etfill" "in$n.safetensors" "tokens:i32[$n]:0:1000" "positions:i32[$n]:0:63" "slots:i32[$n]:0:15"
done

# One run of everything with the tools in BIN; a line "WHAT: NUMBER" for each figure.
once() { # BIN KIND
    "$1/etimport" "$stories" -o "$2.etg"
    set -- "$1" "$2" "$("$bin/etmeasure" "$1/etcc" "$2.etg" -o "$2.hsaco")"
    echo "etcc, stories model, s: ${3% *}"
    echo "etcc, stories model, MB: ${3#* }"
    echo "stories.hsaco, bytes: $(wc -c < "$2.hsaco")"
    for n in 1 16 64; do
        "$1/etrun" "$2.hsaco" --device emu:gfx942:cus=16:xcds=2 --set "N=$n" --in "in$n.safetensors" \
            --weights "$stories" --repeat 5 --stats > "$2.stats"
        sed -n "s/^instructions: \([0-9]*\) .*/kernel, $n tokens, instructions in 5 launches: \1/p
                s/^memory: \([0-9]*\) bytes read.*/kernel, $n tokens, bytes read in 5 launches: \1/p" "$2.stats"
    done
    sed -n 's/^speed: \([0-9.]*\) .*/emulator, million instructions a second and core: \1/p' "$2.stats"
    for file in libetrt.so libetrt.a libetemu.so; do
        echo "$file, bytes: $(wc -c < "$1/../lib/$file")"
    done
}

for run in $(seq "$runs"); do
    [ ! -t 2 ] || printf '\rrun %d of %d ' "$run" "$runs" >&2
    once "$bin" new >> new.figures
    once "$old" old >> old.figures
done
[ ! -t 2 ] || printf '\r\033[K' >&2

echo "This tree ($(git rev-parse --short HEAD 2> /dev/null || echo unknown)) against $name, on $(nproc) cores of $(
    sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(date -u +%F); medians of $runs runs in turn."
echo
echo '| | this | other | this / other |'
echo '| --- | --- | --- | --- |'
awk -F': ' '
    function median(kind, what,    n, i, k, v) {
        n = count[kind, what]
        for (i = 1; i <= n; i++) v[i] = value[kind, what, i]
        for (i = 2; i <= n; i++)
            for (k = i; k > 1 && v[k - 1] > v[k]; k--) { t = v[k]; v[k] = v[k - 1]; v[k - 1] = t }
        return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
    }
    {
        kind = FILENAME == "new.figures" ? "new" : "old"
        if (!($1 in seen)) { seen[$1] = 1; order[++rows] = $1 }
        value[kind, $1, ++count[kind, $1]] = $2 + 0
    }
    END {
        for (i = 1; i <= rows; i++) {
            a = median("new", order[i]); b = median("old", order[i])
            printf "| %s | %.10g | %.10g | %s |\n", order[i], a, b, (b > 0 ? sprintf("%.3f", a / b) : "-")
        }
    }' new.figures old.figures
