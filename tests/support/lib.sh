# What test scripts share; read with `. "$(dirname "$0")/../../support/lib.sh"`.
# shellcheck shell=sh

# kernel ETCC FILE TARGET SCHEDULE [OPTION...]: the path of FILE's code object. All tests share the one in
# kernels/ of the build folder; whoever comes first compiles it, again when etcc or FILE is newer.
kernel() {
    _etcc=$1 _file=$2 _target=$3 _schedule=$4
    shift 4
    _folder=$(dirname "$_etcc")/../kernels
    _key=$(printf '%s\n' "$_file" "$@" | cksum)
    _out=$_folder/$(basename "$_file" .etg).$_target.$_schedule.${_key%% *}.hsaco
    mkdir -p "$_folder"
    (
        flock 9
        [ "$_out" -nt "$_etcc" ] && [ "$_out" -nt "$_file" ] && exit
        "$_etcc" "$_file" --target="$_target" --schedule="$_schedule" "$@" -o "$_out" >&2
    ) 9> "$_out.lock" || return
    printf '%s\n' "$_out"
}

# dims BOUND FILE.etg: --set for every dim, at its lower (2) or upper (3) bound.
dims() {
    sed -n "s/^ *dim  *\([A-Za-z_0-9]*\)  *in  *\([0-9]*\)\.\.\([0-9]*\).*/--set \1=\\$1/p" "$2"
}

# imported BIN SRC MODEL: the .etg that etimport makes of a demo or golden checkpoint. tests/unit/import holds it to be
# that, but for two models: which experts a router chooses hangs on differences of any size, and their references
# are met where the frequencies are theirs and the caches precise. Their texts lie beside the kernels.
imported() {
    case $3 in
    mixtral | qwen3_moe)
        mkdir -p "$1/../kernels"
        _etg=$1/../kernels/$3.precise.etg
        [ "$_etg" -nt "$1/etimport" ] ||
            "$1/etimport" "$1/../checkpoints/$3" -o "$_etg" --rope-frequencies bf16 --cache f16 >&2 || return
        printf '%s\n' "$_etg"
        ;;
    *) printf '%s\n' "$2/tests/unit/import/$3.etg" ;;
    esac
}

# die WORDS...: they go to standard error with the name of the script, which ends.
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# fresh FOLDER: it is empty, and where the test is.
fresh() {
    rm -rf "$1"
    mkdir -p "$1"
    cd "$1"
}

# refuses STATUS WORDS COMMAND...: the command's exit status, and words in what it says, which is in $refused then.
refuses() {
    _want=$1 _words=$2 _status=0
    shift 2
    refused=$("$@" 2>&1) || _status=$?
    [ $_status -eq "$_want" ] || die "status $_status, not $_want, from: $* ($refused)"
    case $refused in
    *"$_words"*) ;;
    *) die "no \"$_words\" in what $* says: $refused" ;;
    esac
}
