#!/bin/sh
# run.sh [--all]: from a fresh Debian 12 to a verdict. It installs what is needed, builds Release, and runs the
# tests that a change most likely breaks; what reads bytes from outside is built and tested with the address
# and undefined-behaviour sanitizers too. --all runs every test at its full length, builds everything a second time,
# with the sanitizers and assertions, tests that at the usual length without what takes longest there, asks a server
# that is built with the thread sanitizer, and lets every fuzz target run for a while. The last line is "N passed, N failed".
# $ETCC_BUILD: where to build (build/ in the source tree); $ETCC_JOBS: how many at once (all cores);
# $ETCC_FUZZ_SECONDS: how long each fuzz target runs (60).
set -u
src=$(cd "$(dirname "$0")/.." && pwd) || exit 1
build=${ETCC_BUILD:-$src/build}
jobs=${ETCC_JOBS:-$(nproc)}
passed=0 failed=0

verdict() {
    printf '%s passed, %s failed\n' "$passed" "$failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
    exit
}

# A stage that does not come to its tests counts as one failure.
broken() {
    printf 'run.sh: %s\n' "$*" >&2
    failed=$((failed + 1))
}

number() { # ATTRIBUTE FILE: its value in a JUnit file, where the totals come first
    sed -n "s/.*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p" "$2" | head -n 1
}

slowest() { # FILE: the ten tests of a JUnit file that took longest
    printf '== the slowest of them, in seconds\n'
    sed -n 's/.*<testcase name="\([^"]*\)".* time="\([0-9.]*\)".*/\2 \1/p' "$1" | sort -rn | head -n 10 |
        awk '{ printf "%8.1f  %s\n", $1, $2 }'
}

# FOLDER TARGET CTEST-OPTIONS CMAKE-OPTIONS...: configure, build TARGET, test. Whatever did not pass has failed,
# tests that could not run among it. $borrowed: programs of the build before this that its tests need; $around: what
# ctest is run by.
stage() {
    folder=$1 target=$2 select=$3
    shift 3
    printf '== configuring and building in %s\n' "$folder"
    cmake -S "$src" -B "$folder" -G Ninja -DETCC_TESTS=ON "$@" || { broken "cmake failed in $folder"; return; }
    ninja -C "$folder" -j "$jobs" "$target" || { broken "the build in $folder failed"; return; }
    for tool in ${borrowed:-}; do
        cp "$build/bin/$tool" "$folder/bin/" || { broken "there is no $tool"; return; }
    done
    printf '== testing in %s\n' "$folder"
    rm -f "$folder/tests.xml"
    # Servers and time limits are waited for: one test more than there are cores.
    # shellcheck disable=SC2086
    ${around:-} ctest --test-dir "$folder" -j $((jobs + 1)) --output-on-failure --timeout "$limit" --no-tests=error \
        --output-junit "$folder/tests.xml" $select
    status=$?
    [ -s "$folder/tests.xml" ] || { broken "ctest did not run in $folder"; return; }
    slowest "$folder/tests.xml"
    total=$(number tests "$folder/tests.xml") bad=0
    for kind in failures disabled skipped; do
        bad=$((bad + $(number $kind "$folder/tests.xml")))
    done
    if [ $status -ne 0 ] && [ $bad -eq 0 ]; then
        broken "ctest failed in $folder"
    fi
    passed=$((passed + total - bad)) failed=$((failed + bad))
}

# Not with the sanitizers, which make them several times slower: whole models on other GPUs and long runs
# at random, whose code the tests that remain also go through (verify.texts.more that of verify.texts, with twenty times the mutants,
# eti.texts.flags.models that of eti.texts.flags and eti.texts.models: over 900 s each); and what runs no code of ours.
long='-LE slow -E ^spin$|^tree$|^rooms$|^dynamic.gfx|^targets_|^isa_(corpus|random)_|^verify.mutants|^verify.texts.more$|^eti.stages$|^eti.texts.flags.models$'

# Seconds a test may take. At full length some take three minutes of a machine that does nothing else.
limit=300
case $#$* in
0) ;;
1--all) export ETCC_LONG=1 && limit=1200 ;;
*) echo 'usage: sh tests/run.sh [--all]' >&2 && exit 2 ;;
esac
sh "$src/.ci/packages" tests || { broken 'packages are missing'; verdict; }
if [ $# -eq 0 ]; then
    stage "$build" all '-LE long' -DCMAKE_BUILD_TYPE=Release -DETCC_SANITIZE=OFF
    stage "$build/outside" outside '-L outside' -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DETCC_EMU_OPTIMISE=-O0 \
        -DETCC_SANITIZE=ON
    verdict
fi
stage "$build" all '' -DCMAKE_BUILD_TYPE=Release -DETCC_SANITIZE=OFF
unset ETCC_LONG
stage "$build/sanitized" all "$long" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG='-O1 -g' -DETCC_SANITIZE=ON
# The server under load with the thread sanitizer, which new kernels' randomisation of addresses leaves no room for.
borrowed='etcc etimport etfill' around='setarch -R'
stage "$build/threads" threads '-L threads' -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG='-O1 -g' -DETCC_SANITIZE_THREADS=ON
borrowed='' around=''

# Each fuzz target for a minute; all of them are one test here.
printf '== fuzzing\n'
if ETCC_BUILD=$build ETCC_JOBS=$jobs sh "$src/tests/by_hand/fuzz/run.sh" "${ETCC_FUZZ_SECONDS:-60}"; then
    passed=$((passed + 1))
else
    broken 'fuzzing found something'
fi
verdict
