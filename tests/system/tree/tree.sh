#!/bin/sh
# tree.sh SOURCE GIT CLANG-FORMAT
# Rules every tracked file keeps: names, places, sizes, form.
set -eu
cd "$1"
git=$2 format=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
list=$scratch/files

complain() { # WHAT: the offenders, a line each, come on standard input
    offenders=$(cat)
    if [ -n "$offenders" ]; then
        printf '%s:\n%s\n' "$1" "$offenders" >> "$scratch/complaints"
    fi
}

# Files in the index that are on disk too. The owner of a checkout may be another user.
"$git" -c safe.directory='*' ls-files -c | while IFS= read -r file; do
    [ ! -f "$file" ] || printf '%s\n' "$file"
done > "$list"
[ -s "$list" ] || { echo 'tree.sh: git lists no files' >&2; exit 1; }
code=$(grep -E '\.[ch]$' "$list")

names='CMakeLists.txt README.md LICENSE ir frontend passes codegen runtime examples tests bench'
cut -d/ -f1 "$list" | sort -u | while IFS= read -r name; do
    case " $names " in
    *" $name "*) ;;
    *) case $name in .*) ;; *) echo "$name" ;; esac ;;
    esac
done | complain 'top-level names the layout does not have'
for name in $names; do
    [ -e "$name" ] || echo "$name"
done | complain 'top-level names that are missing'

# A folder has a README.md, or the next one above names it or the folder it is in.
sed -n 's|/[^/]*$||p' "$list" | sort -u | grep -v '^\.' | while IFS= read -r folder; do
    [ ! -f "$folder/README.md" ] || continue
    above=$folder
    while [ "$above" != . ] && [ ! -f "$above/README.md" ]; do
        above=$(dirname "$above")
    done
    below=${folder#"$above/"}
    [ "$above" != . ] && grep -qF "\`${below%%/*}/" "$above/README.md" || echo "$folder"
done | complain 'folders that no README.md describes'

# shellcheck disable=SC2086
wc -l $code | awk '$2 != "total" && $1 > 800' | complain 'files of more than 800 lines'
# Spelled so that this file does not match itself.
xargs grep -nIE '(^|[^A-Za-z0-9_}])/[w]ork/|\.\./[s]hared|[^.A-Za-z0-9_}]/[t]mp/' < "$list" |
    cut -c1-160 | complain 'paths of one machine'
# A target's name is asked of tables: codegen/targets/ and passes/machines/ have them. Help may give examples.
{
    grep -E '^(ir|passes|codegen)/.*\.([ch]|def)$' "$list" | grep -v '^codegen/targets/' |
        xargs grep -nE 'amdgcn|amdgpu|gfx[0-9]|nvptx|sm_[0-9]' || true
    grep -E '^(frontend|bench)/.*\.[ch]$|^runtime/etrt/.*\.[ch]$' "$list" | grep -v '^runtime/etrt/hsa/' |
        xargs grep -nE '"(amdgcn|amdgpu|gfx[0-9]|nvptx|sm_[0-9])[^" ]*"' || true
} |
    complain 'names of targets outside codegen/targets/'
# shellcheck disable=SC2086
"$format" --dry-run -Werror $code 2>&1 | grep 'error:' | complain 'not as clang-format leaves it'

[ ! -s "$scratch/complaints" ] || { cat "$scratch/complaints" >&2; exit 1; }
