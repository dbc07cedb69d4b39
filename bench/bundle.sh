# What scripts share that make a folder to be run on another machine, with a GPU and without LLVM; read with
# `. "$(dirname "$0")/.../bundle.sh"`. They have $bin, the folder of tools, and $src, the sources, and are in the new folder.
# shellcheck shell=sh

# bundle_target MACHINE: the target of that machine, for which everything is there that etcc needs.
bundle_target() {
    _target=$("$bin/etcc" --list-machines | awk -v m="$1" '$1 == m { print $2 }')
    case $_target in
    '') echo "${0##*/}: 'etcc --list-machines' has no $1" >&2; return 1 ;;
    sm_*)
        PATH=$PATH:/usr/local/cuda/bin command -v ptxas > /dev/null ||
            { echo "${0##*/}: there is no ptxas, the assembler of a CUDA toolkit" >&2; return 1; }
        ;;
    esac
    echo "$_target"
}

# bundle_folder FOLDER: makes it; its whole name.
bundle_folder() {
    [ ! -e "$1" ] || { echo "${0##*/}: $1 is there already" >&2; return 1; }
    mkdir -p "$1" && (cd "$1" && pwd)
}

# bundle_tools TOOL...: into bin/, without what only debuggers read, and into lib/ what they link beyond libc.
bundle_tools() {
    mkdir -p bin lib
    for _tool; do
        strip -o "bin/$_tool" "$bin/$_tool"
        ldd "$bin/$_tool" | awk '$2 == "=>" { print $3 }' | grep -v -E '/(libc|libm|libdl|libpthread|ld-linux[^/]*)\.so' || true
    done | sort -u | while read -r _library; do cp -L "$_library" lib/; done
}

# bundle_about TARGET [MACHINE]: what is in it, for the file `about`.
bundle_about() {
    echo "target $1"
    [ -z "${2:-}" ] || echo "machine $2"
    echo "commit $(git -C "$src" rev-parse --short HEAD 2> /dev/null || echo unknown)"
    echo "compiled $(date -u +%Y-%m-%dT%H:%MZ) by $("$bin/etcc" --version)"
}

# bundle_done MOST FOR: how large it is, in MB; an error where it has MOST or more.
bundle_done() {
    _size=$(du -sm . | cut -f1)
    echo "$PWD: $_size MB, $(find . -type f | wc -l) files for $2"
    [ "$_size" -lt "$1" ] || { echo "${0##*/}: that is too much" >&2; return 1; }
}

# ---- where the folder is run

# bundle_open [FOLDER [RESULTS]]: goes there, by default where the script is, with $bundle, $results, a new folder unless it is
# there, and $work, which goes when the script ends; $target, and when it $began.
bundle_open() {
    bundle=$(cd "${1:-$(dirname "$0")}" && pwd) || return 2
    results=${2:-$bundle/results}
    mkdir -p "$results" && results=$(cd "$results" && pwd) && work=$(mktemp -d) && cd "$bundle" || return 2
    trap 'rm -rf "$work"' EXIT
    target=$(sed -n 's/^target //p' about)
    began=$(date +%s)
    : > "$results/logs.txt"
}

# bundle_device ETRUN: $device, $ETCC_DEVICE or the first GPU that runs $target, as `ETRUN --devices` lists them.
bundle_device() {
    "$@" --devices > "$work/devices" 2>&1
    device=${ETCC_DEVICE:-$(awk -v t="$target" 'NR > 1 && $2 == t && $1 != "emu" { print $1; exit }' "$work/devices")}
    [ -n "$device" ] || { cat "$work/devices"; echo "FAIL: no GPU here runs $target"; return 1; }
}
