#!/bin/sh
# run.sh [--few|--full] BUILD-DIR: Spin searches the programs below for deadlocks and failed assertions and
# must find some in every mutant. --few takes three of them, --full the large ones (minutes).
# $SPIN_MB: memory for each (4000); $SPIN_JOBS: how many at once (2); $SPIN_FLAGS: more for pan.c.
# run.sh case BUILD-DIR VERDICT PROGRAM OPTIONS...: one of them; verdict right, ends or wrong.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

# `right`: no deadlock, no failed assertion. `ends`: polling without end does not keep the workgroups
# from leaving, if each of them gets its turns. `wrong`: Spin finds a deadlock or a failed assertion.
suite='
right ring
right ring -DDIE_SLOTS=2 -DTASKS=4
right fan
right route
right gather
right early
right side
right side -DABORTS
right route -DTOGETHER
right early -DTOGETHER
right hybrid
right hybrid -DEARLY -DONCE
right early -DABORTS
right hybrid -DABORTS
right flags
right flags -DNOBODY_WAITS
wrong flags -DMUTANT_TAKEN_AS_IT_IS
wrong flags -DMUTANT_STORED_AS_IT_COMES
wrong flags -DMUTANT_READERS_OVERTAKEN
wrong flags -DMUTANT_TAG_OF_ANY_LAUNCH
wrong flags -DMUTANT_TAG_OF_ANY_ITERATION
right devices
wrong devices -DMUTANT_ONE_PLACE
wrong devices -DMUTANT_TAKEN_AS_IT_IS
wrong devices -DMUTANT_TAG_OF_ANY_LAUNCH
wrong devices -DMUTANT_BEGINS_ALONE
right claims
right claims -DABORTS
wrong claims -DMUTANT_COUNTED_BY_LOAD_AND_STORE
wrong claims -DMUTANT_SHARED_BEFORE_ALL_HAVE_READ
wrong claims -DMUTANT_NEXT_GRID_SHARED_EARLY
wrong claims -DMUTANT_CLAIMED_OUT_OF_ORDER
right exchange
wrong exchange -DMUTANT_NO_RELEASE
wrong exchange -DMUTANT_FIRST_TELLS
wrong exchange -DMUTANT_OWN_FLAG
wrong exchange -DMUTANT_FLAG_OF_ANY_LAUNCH
ends hybrid -DPOLLING
wrong hybrid -DPOLLING -DMUTANT_BLIND_TO_THE_DEVICE
wrong ring -DMUTANT_SLOT_OVERWRITTEN
wrong ring -DMUTANT_TAKEN_BY_LOAD_AND_STORE
wrong ring -DDIE_SLOTS=2 -DTASKS=4 -DMUTANT_RESERVATION_KEPT
wrong fan -DMUTANT_TAKEN_UNPUBLISHED
wrong fan -DMUTANT_PUBLISHED_BY_LOAD_AND_STORE
wrong fan -DMUTANT_NOT_UNDONE
wrong fan -DMUTANT_CLAIMED_BY_LOAD_AND_STORE
wrong fan -DMUTANT_NOT_CLAIMED
wrong fan -DMUTANT_LOOKS_BEFORE_IT_ARRIVES
wrong fan -DMUTANT_LOOKS_FOR_LAST_EVENT
wrong fan -DMUTANT_LOOKS_AT_ONE
wrong side -DMUTANT_ROOM_FOR_ONE_LANE
wrong side -DMUTANT_LOSERS_PUT
wrong side -DMUTANT_CLAIMED_BY_LOAD_AND_STORE
wrong side -DMUTANT_LOOKS_BEFORE_IT_ARRIVES
wrong gather -DMUTANT_LOOKS_BEHIND_UNMET
wrong early -DMUTANT_NO_WAIT_IN_PLACE
wrong hybrid -DEARLY
wrong hybrid -DMUTANT_CLAIMED_FOR_ALL_INSTANCES
wrong hybrid -DMUTANT_TAKEN_WHERE_IT_STANDS
wrong ring -DABORTS -DMUTANT_PUTTER_DEAF
wrong ring -DABORTS -DMUTANT_TAKER_DEAF
wrong hybrid -DABORTS -DMUTANT_WAIT_DEAF
wrong hybrid -DABORTS -DMUTANT_REGION_DEAF
'
few='
right side
right flags
right devices
right claims
wrong claims -DMUTANT_SHARED_BEFORE_ALL_HAVE_READ
wrong flags -DMUTANT_STORED_AS_IT_COMES
wrong ring -DMUTANT_SLOT_OVERWRITTEN
wrong fan -DMUTANT_NOT_CLAIMED
'
large='
right ring -DABORTS
right ring -DDIE_SLOTS=2 -DTASKS=4 -DABORTS
right ring -DDIE_SLOTS=2
right fan -DDIE_SLOTS=2
right route -DFULL
right gather -DFULL
ends early -DPOLLING
right early -DWGS=4
right hybrid -DWGS=4 -DABORTS
'

one() {
    dir=$1/$(echo "$*" | cut -d ' ' -f 2- | tr -c 'A-Za-z0-9\n' _)
    expected=$2 program=$3
    shift 3
    mkdir -p "$dir"
    cd "$dir"
    spin -a "$@" "$here/$program.pml" > spin.out 2>&1 || { cat spin.out; return 1; }
    case " $* " in
    *POLLING*) mode='' run='-a -f' ;;
    *) mode=-DSAFETY run= ;;
    esac
    level=-O1
    [ "$expected" = wrong ] && level=-O0 # done long before the search is
    # shellcheck disable=SC2086
    gcc $level -w $mode ${SPIN_FLAGS:-} -DMEMLIM="${SPIN_MB:-4000}" -DNFAIR=3 -o pan pan.c
    # shellcheck disable=SC2086
    ./pan -m100000 $run > pan.out 2>&1 || :
    found=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.out)
    states=$(sed -n 's/ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out)
    rm -f pan pan.?
    if grep -qi -e 'search not completed' -e 'search depth too small' -e 'truncated' pan.out && [ "$expected" != wrong ]; then
        verdict='not decided: out of memory or depth'
    elif [ "$found" = 0 ]; then
        verdict=right
    else
        verdict=wrong
    fi
    [ "$expected" = ends ] && [ "$verdict" = right ] && verdict=ends
    printf '%-8s %-10s %s (%s states)\n' "$verdict" "$program" "$*" "${states:-?}"
    [ "$verdict" = "$expected" ] && return 0
    echo "spin: expected: $expected; see $dir/pan.out, and there: spin -t -p $* $here/$program.pml"
    return 1
}

if [ "$1" = case ]; then
    shift
    one "$@"
    exit
fi
cases=$suite
case $1 in
--full) cases=$large && shift ;;
--few) cases=$few && shift ;;
esac
build=$1
rm -rf "$build"
mkdir -p "$build"
build=$(cd "$build" && pwd)

# The steps that the model names are functions of codegen.
for step in $(sed -n 's/^inline \([a-z_]*\)(.*/\1/p' "$here/protocol.pml" "$here/flags.pml" "$here/devices.pml" "$here/claims.pml" "$here/exchange.pml" |
    grep -v -x -e arrives -e stored); do
    grep -rq "^[a-z][a-z_ ]*[ *]$step(cg \*g" "$here/../../../codegen" && continue
    echo "spin: the model's step $step is no function of codegen"
    exit 1
done
echo "$cases" | grep . | xargs -P "${SPIN_JOBS:-2}" -L 1 sh "$0" case "$build" || exit 1
