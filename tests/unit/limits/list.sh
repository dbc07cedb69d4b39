#!/bin/sh
# list.sh SRC: the table of frontend/LIMITS.md says what the source does.
set -u
cd "$1" || exit 2
ran=0 failed=0
# One line for a limit: its name, what the table says.
while read -r name told; do
    ran=$((ran + 1))
    # "NAME = 8 << 3," in an enum, or "#define NAME ((size_t)8 << 3)".
    is=$(grep -rhE "(^|[^A-Za-z_])$name( =|) +[(0-9]" --include='*.h' --include='*.c' frontend ir passes |
        sed -nE "s/.*(^|[^A-Za-z_])$name( =)? +([^,;}/]*).*/\3/p" | sed 's/(size_t)//g' | head -n 1)
    [ -n "$is" ] && [ "$(($is))" = "$told" ] && continue
    echo "FAIL $name: LIMITS.md says $told, the source '$is'"
    failed=$((failed + 1))
done <<EOF
$(sed -nE 's/^\| .* \| ([0-9]+) \| `([A-Z_]+)` \|$/\2 \1/p' frontend/LIMITS.md)
EOF
echo "$ran limits, $failed wrong"
[ $failed -eq 0 ] && [ $ran -gt 15 ]
