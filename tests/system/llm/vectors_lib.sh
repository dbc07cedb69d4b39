# Read by the scripts that compare vectors and scores: $check is check_vectors.
# shellcheck shell=sh disable=SC2154
of() { # MODEL COMMAND [OPTION...]: the command of etllm, with its model and a cache of this test
    _model=$(checkpoint "$1") _command=$2
    shift 2
    "$bin/etllm" "$_command" --model "$_model" --device "$device" --cache cache "$@"
}
texts() { # MODEL: those of its reference, a line each
    "$check" "$(checkpoint "$1")/vectors.json"
}
compare() { # MODEL KEY TOLERANCE COMMAND [OPTION...]
    _name=$1 _key=$2 _off=$3
    shift 3
    of "$_name" "$@" --truncate --file texts > lines 2> log || die "$_name: $(cat log)"
    "$check" "$(checkpoint "$_name")/vectors.json" "$_key" "$_off" < lines || die "$_name, $_key"
}
lie() { # WORDS FILE SED: $liar with another line in one of its files, which etllm refuses
    falsify "$2" "$3"
    refuses "$1" "$bin/etllm" embed --model lie --cache cache -p x
}
falsify() { # FILE SED
    rm -rf lie
    cp -r "$(checkpoint "$liar")" lie
    chmod -R u+w lie
    sed -i "$2" "lie/$1"
}
