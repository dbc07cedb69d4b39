# plan_edits.sh: for scripts that change plans in a text; they read it behind support/lib.sh and say in $compile how etcc compiles the
# text, in $kind what comes (hsaco, or ptx, which does not run here), and in $check on what and how it runs.
# Without $ETCC_LONG one change in $every is tried: neighbouring values of one decision are changed in turn, so some of each are.
made=0 refused=0 changes=0 every=${ETCC_LONG:+1}
every=${every:-5}

# Of all changes at least MADE give kernels, and REFUSED are refused; of those that are tried half as many in proportion.
least() { # MADE REFUSED
    part=$((every > 1 ? 2 * every : 1))
    [ $made -ge $(($1 / part)) ] && [ $refused -ge $(($2 / part)) ] || die 'hardly any plan was made, or refused'
}

# The plans of MODEL.eti that begin so, changed by a command of sed. What etcc makes of that computes what the graph interpreter does with
# MODEL.etg; or it is refused in the words REFUSAL. Nothing happens where nothing changes.
edit_plans() { # MODEL BEGINNING EDIT REFUSAL
    sed "/^ *plan $2/{ $3
}" "$1.eti" > changed.eti
    ! cmp -s changed.eti "$1.eti" || return 0
    changes=$((changes + 1))
    [ $((changes % every)) -eq 0 ] || return 0
    status=0
    # shellcheck disable=SC2086
    "$bin/etcc" changed.eti $compile -o changed.$kind 2> said || status=$?
    case $status in
    0)
        made=$((made + 1))
        # shellcheck disable=SC2086
        [ $kind = ptx ] || "$bin/check_kernel" "$1.etg" changed.hsaco $check || die "$1 with $3 is wrong"
        ;;
    1)
        refused=$((refused + 1))
        grep -q "$4" said || die "$1 with $3: $(cat said)"
        ;;
    *) die "$1 with $3 ends with $status: $(cat said)" ;;
    esac
}
