#!/bin/sh
# ptx.sh PROBE.PTX PROBE.JSON FRAME.SH OUT: the probe's PTX with its manifest, which says what differs from the other's.
set -eu
sed 's/gfx942/sm_90/; s/"wavefront": 64/"wavefront": 32/' "$2" > "$4.json"
sh "$3" "$4.json" "$4.manifest"
{
    cat "$1"
    printf '.visible .global .align 1 .b8 etcc_manifest[%d] = {' "$(wc -c < "$4.manifest")"
    od -An -v -tu1 "$4.manifest" | sed 's/  */,/g; 1s/^,//'
    printf '};\n'
} > "$4"
rm -f "$4.json" "$4.manifest"
