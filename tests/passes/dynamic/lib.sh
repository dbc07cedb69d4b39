# What the scripts here share.

# mix SEED IN.eti OUT.eti EARLY: a scheduled program with tasks made dynamic at random, early with
# chance EARLY among those, and half of the others claimed.
mix() {
    awk -v seed="$1" -v early="$4" '
        BEGIN { state = seed * 7919 + 1 }
        function chance() { # of its own, since awks differ in theirs
            state = (state * 16807) % 2147483647
            return state / 2147483647
        }
        /^schedule / { sub(/ (static|dynamic|hybrid|claimed)/, "") }
        /^ *task / {
            sub(/ dynamic.*/, "")
            chance()
            if (chance() < 0.6) $0 = $0 " dynamic" (chance() < early ? " early" : "")
            else if (!/ (streamed|range|slice|order) / && chance() < 0.5) $0 = $0 " order claimed"
        }
        { print }' "$2" > "$3"
}

# mixed ETCC IN.eti SEED OUT.hsaco [OPTION...]: compile a mix; where early tasks could block what they
# wait for, which etcc tells, one without them.
mixed() {
    _etcc=$1 _in=$2 _seed=$3 _out=$4
    shift 4
    mix "$_seed" "$_in" mix.eti 0.5
    "$_etcc" mix.eti -o "$_out" "$@" 2> mix.err && return
    grep -q early mix.err
    mix "$_seed" "$_in" mix.eti 0
    "$_etcc" mix.eti -o "$_out" "$@"
}
