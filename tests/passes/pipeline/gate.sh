#!/bin/sh
# gate.sh ETCC STEPS.etg: in a loop around others one task waits for the iteration before, those behind it do not.
. "$(dirname "$0")/../../support/lib.sh"
waits() { # OPTION...: the tasks that wait for an earlier step
    "$etcc" "$program" --to evented -o - "$@" | awk '/^ *task @/ { task = $2 } /wait .*step - 1/ { print task }' | sort -u | tr '\n' ' '
}
etcc=$1 program=$2
for schedule in static dynamic; do
    [ "$(waits --schedule=$schedule)" = '@x ' ] || die "$schedule: not one task waits for the step before: $(waits --schedule=$schedule)"
done
