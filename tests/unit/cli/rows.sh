#!/bin/bash
# rows.sh BUILD WORK TOOL...
# Every row of every tool's table is in its help, its manual page and its completion; what is wrong on a
# command line is refused with status 2; what cannot be written is a failure.
set -u
build=$1 work=$2
shift 2
mkdir -p "$work"
cd "$work" || exit 2
failed=0 rows=0
fail() {
    echo "FAIL $*"
    failed=1
}
wrong() { # WORDS COMMAND...
    local words=$1 status=0
    shift
    "$@" > said 2>&1 < /dev/null || status=$?
    [ $status -eq 2 ] || fail "status $status, not 2: $*"
    grep -qF -e "$words" said || fail "no '$words' from $*: $(head -3 said)"
    grep -qF -e "Try '$tool --help'." said || fail "no word of --help: $*"
}
offers() { # WORD...: what bash offers for the last one
    COMP_WORDS=("$tool" "$@") COMP_CWORD=$#
    COMPREPLY=()
    "_${tool}_complete" 2> /dev/null
    printf '%s\n' "${COMPREPLY[@]-}"
}
closed() { # FLAG... FORM: values that such a row does not take
    local form=${*: -1}
    set -- "${@:1:$#-1}"
    wrong "$form" "$bin" $command "$@" no-such-value
    wrong "did you mean" "$bin" $command "$@" "${form%%[|[]*}x"
    [ "$(offers $command "$@" "${form%%[|[]*}" | head -1)" = "${form%%[|[]*}" ] || fail "$* is not completed"
}

for tool in "$@"; do
    bin=$build/bin/$tool
    "$bin" --help > help || fail "$tool --help"
    "$bin" -h | cmp -s - help || fail "$tool -h"
    [ "$("$bin" --version)" = "$tool $("$build/bin/etcc" --version | cut -d' ' -f2)" ] || fail "$tool --version"
    man=$build/share/man/man1/$tool.1 completion=$build/share/bash-completion/completions/$tool
    if [ ! -e "$man" ]; then # a tool that is not installed
        man=$work/$tool.1 completion=$work/$tool.completion
        "$bin" --man > "$man"
        "$bin" --completion > "$completion"
    fi
    "$bin" --man | cmp - "$man" || fail "$tool.1 is not of this tool"
    "$bin" --completion | cmp - "$completion" || fail "completion is not of this $tool"
    [ "$(awk 'length > 80' help | grep -vc usage:)" -le 2 ] || fail "$tool --help is wide"
    # shellcheck disable=SC1090
    . "$completion"
    for what in --help --version --man; do
        "$bin" $what > /dev/full 2> /dev/null && fail "$tool $what to a full device is no failure"
    done
    # A command to try options with, where there are any.
    command=$(sed -n '/^Commands:/{n;s/^ *\([a-z]*\) .*/\1/p}' help)
    wrong 'unknown option --no-such-option' "$bin" --no-such-option
    wrong 'did you mean --version' "$bin" --versoin
    wrong 'unknown option -?' "$bin" '-?'
    wrong 'takes no value' "$bin" --help=x
    while IFS=$'\037' read -r name letter kind form open lo hi _; do
        rows=$((rows + 1))
        flag=--$name
        [ -n "$name" ] || flag=-$letter
        grep -qE -e "^  (-$letter, )?$flag([^a-z-]|\$)" help || fail "$tool $flag is not in --help"
        grep -qF -e "\\fB${flag//-/\\-}\\fR" "$man" || fail "$tool $flag is not in $tool.1"
        grep -qE -e "options=\"([^\"]* )?$flag[ \"]" "$completion" || fail "$tool $flag is not completed"
        case $kind in
        flag | print) [ -z "$name" ] || wrong 'takes no value' "$bin" "$flag=x" ;;
        *) [ "$open" = optional ] || wrong 'needs a value' "$bin" $command "$flag" ;;
        esac
        case $kind in
        int)
            wrong "write a number from $lo to $hi" "$bin" "$flag" x
            wrong "write a number from $lo to $hi" "$bin" "$flag" "$((lo - 1))"
            wrong "write a number from $lo to $hi" "$bin" "$flag" "${hi}0"
            ;;
        real) wrong 'write a number' "$bin" "$flag" -1 ;;
        pairs | dims) wrong "write $form" "$bin" "$flag" no-sign ;;
        esac
        [ "$open" != closed ] || closed "$flag" "$form"
    done < <("$bin" --rows | tr '\t' '\037')
done
[ $rows -gt 100 ] || fail "only $rows rows"
[ $failed -ne 0 ] || echo "$rows rows of $# tools"
exit $failed
