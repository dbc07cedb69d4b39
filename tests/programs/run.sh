#!/bin/sh
# run.sh PROGRAMS: twelve random programs, and four hundred more with ETCC_LONG.
set -eu
"$1" --programs 12 --tries 100
[ -z "${ETCC_LONG:-}" ] || "$1" --first 1000 --programs 400
