#!/bin/sh
# docs.sh BIN SRC WORK CC: the examples in all documents, and what pages keep to; README.md says how they are told.
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$1" && pwd) src=$(cd "$2" && pwd) work=$3 cc=$4
rm -rf "$work"
mkdir -p "$work/blocks" "$work/run" || exit 2
cd "$work" || exit 2
failed=0 tried=0

documents() { # as git has them, or where there is no git as they lie
    git -C "$src" -c safe.directory='*' ls-files '*.md' 2> /dev/null ||
        (cd "$src" && find . -name '*.md' -not -path './build/*')
}
(cd "$src" && documents | sort | xargs awk -v DIR="$work/blocks" -f "$here/blocks.awk") || exit 2

fail() { # BLOCK WHAT
    echo "FAIL $(cat "${1%.*}.from"): $2"
    head -5 said
    failed=1
}
# To machine code in the long run alone: examples go wrong before.
made='--emit-llvm=out.ll --unoptimised'
[ -z "${ETCC_LONG-}" ] || made='-o out.hsaco'
compile() { # BLOCK FILE
    # shellcheck disable=SC2086
    "$bin/etcc" "$2" $made > said 2>&1 || fail "$1" 'is not compiled'
    name=$(sed -n '1s/^model //p' "$2")
    [ -z "$name" ] || [ -e "run/$name.etg" ] || cp "$2" "run/$name.etg"
}
part() { # BLOCK
    context=$here/$(cat "${1%.*}.in").etg
    [ -f "$context" ] || { fail "$1" "there is no $context"; return; }
    sed -e "/^@@\$/{r $1
        d}" "$context" > part.etg
    compile "$1" part.etg
}
c_part() { # BLOCK
    {
        echo '#include <etrt.h>'
        echo '#include <poll.h>'
        echo 'void example(etrt_device *device, etrt_model *model, etrt_session *session, float *x, float *y);'
        echo 'void example(etrt_device *device, etrt_model *model, etrt_session *session, float *x, float *y) {'
        grep -v '^#include' "$1" | sed 's/sizeof \([xy]\)/sizeof *\1/g'
        echo '    (void)x; (void)y; (void)device;'
        echo '}'
    } > part.c
    "$cc" -std=c11 -Wall -Werror -fsyntax-only -I"$src/runtime" part.c > said 2>&1 || fail "$1" 'is not compiled'
}

# What the commands in documents find: a checkpoint, models, inputs.
prepare() {
    cd "$work/run" || exit 2
    ln -s "$bin/../checkpoints/stories-moe" MOE_DIR
    for name in CHECKPOINT_DIR DIR CHECKPOINT LLAMA_DIR; do
        ln -s "$bin/../checkpoints/stories-llama" $name
    done
    mkdir build
    ln -s "$bin/../checkpoints" build/checkpoints
    cp "$src/passes/machines/mi300x.machine" mine.machine
    {
        "$bin/etimport" CHECKPOINT_DIR -o stories.etg && cp stories.etg llama.etg &&
            "$bin/etimport" MOE_DIR -o moe.etg &&
            "$bin/etcc" stories.etg -o stories.hsaco && cp stories.hsaco old.hsaco && cp stories.hsaco new.hsaco &&
            sh "$src/examples/mlp/run.sh" "$bin" "$PWD" && cp stories.etg model.etg &&
            echo 'Once upon a time, there was a girl named Lily. She saw a big red ball in the park.' > story.txt &&
            "$bin/etfill" ids.safetensors 'input_ids:i32[2,8]:1:1000' &&
            "$bin/etllm" score --kernel stories.hsaco --model DIR --tokens ids.safetensors --out golden.safetensors &&
            "$bin/etfill" inputs.safetensors 'tokens:i32[3]:1:1000' 'positions:i32[3]:0:0' 'slots:i32[3]:0:15'
    } > "$work/said" 2>&1 || { echo 'FAIL what the commands need is not made'; tail -5 "$work/said"; exit 1; }
    cd "$work" || exit 2
}
# Line by line. What etbench takes long for, or what it made, is for the long run, and so is the README's kernel of two models, which
# the test mix.example makes.
commands() { # BLOCK KIND
    while IFS= read -r line; do
        case $line in
        *etbench* | *=out.prof* | *' mix.hsaco '*) [ -n "${ETCC_LONG-}" ] || continue ;;
        esac
        tried=$((tried + 1))
        (cd run && PATH=$bin:$PATH sh -eu -c "$line") > said 2>&1 < /dev/null
        status=$?
        [ $status -eq 0 ] || { [ "$2" = options ] && [ $status -eq 1 ]; } || fail "$1" "status $status: $line"
    done < "$1"
}

# Links lead somewhere, tables of files name files, pages of results are short, and the glossary's words are used.
pages() {
    documents > "$work/documents"
    while IFS= read -r page; do
        [ -f "$page" ] || continue
        sed -n -e 's/\](/\n](/g' -e 's/^\[[A-Za-z]*\]: /\n](&/p' -e p "$page" |
            sed -nE -e 's/^\]\(\[[A-Za-z]*\]: ([^ ]+)$/\1/p' -e 's/^\]\(([^)# ]+)[^)]*\).*/\1/p' | sort -u | while IFS= read -r link; do
            case $link in http*) continue ;; esac
            [ -e "$(dirname "$page")/$link" ] || echo "$page: there is no $link"
        done
        sed 's/](/\n](/g' "$page" | sed -nE 's/^\]\(([^)# ]*)#([^) ]+)\).*/\1 \2/p' | sort -u | while IFS= read -r link; do
            case $link in http*) continue ;; esac
            of=${link% *}
            of=${of:+$(dirname "$page")/$of}
            sed -n 's/^##* //p' "${of:-$page}" | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9_-]//g' | grep -qx -- "${link##* }" ||
                echo "$page: there is no heading ${link##* } in ${of:-it}"
        done
        awk '!/^\|/ { key = ""; next } { split($0, cell, "|") } key == "" { key = cell[2]; next } key == " file " { print cell[2] }' "$page" |
            grep -o '`[^` ]*`' | tr -d '`' | grep -v -e NAME -e '[*]' | while IFS= read -r file; do
            set -- "$(dirname "$page")/${file%/}" "$(dirname "$page")/$file".*
            [ -e "$1" ] || [ -e "$2" ] || echo "$page: there is no file $file"
        done
        case $page in bench/results/*)
            lines=$(wc -l < "$page")
            [ "$lines" -le 120 ] || echo "$page: $lines lines; what was tried belongs into bench/journal/"
            ;;
        esac
    done < "$work/documents"
    n=$(sed -n '/^## Architectures/,/^## Q/p' frontend/import/README.md | awk -F'|' '/^\| `[A-Z]/ { print $2 }' | grep -o '`[^`]*`' | sort -u | wc -l)
    [ "$(grep -oE '[0-9]+ architectures' README.md | sort -u)" = "$n architectures" ] || echo "README.md: there are $n architectures in frontend/import/README.md"
    git -C "$src" -c safe.directory='*' ls-files '*.md' '*.[ch]' 2> /dev/null | grep -v '^ir/GLOSSARY.md$' > "$work/files"
    [ -s "$work/files" ] || grep -v '^ir/GLOSSARY.md$' "$work/documents" > "$work/files"
    tr '\n' '\0' < "$work/files" | xargs -0 cat | tr -s ' \n' ' ' > "$work/text"
    sed -nE '/^## Older words/q; s/^\| ([a-zA-Z0-9:][^|]*) \| .*/\1/p' ir/GLOSSARY.md | grep -vx word |
        sed -e 's/([^)]*)//g' -e 's/[,;] */\n/g' | sed -e 's/^ *//; s/ *$//' -e '/^$/d' | while IFS= read -r word; do
        grep -qiF -- "$word" "$work/text" || echo "ir/GLOSSARY.md: nobody says \"$word\""
    done
    sed -nE '/^## Older words/,$s/^\| [^|]* \| ([^|]*`[^|]*) \| .*/\1/p' ir/GLOSSARY.md | grep -o '`[^`]*`' | tr -d '`' |
        while IFS= read -r word; do
            grep -qF -- "$word" "$work/text" || echo "ir/GLOSSARY.md: \"$word\" is no spelling any more"
        done
}
(cd "$src" && pages) > said 2>&1
[ ! -s said ] || { sed 's/^/FAIL /' said; failed=1; }

prepare
for block in blocks/*; do
    case $block in
    *.etg) part_of=$(cat "${block%.*}.in") && if [ -n "$part_of" ]; then part "$block"; else compile "$block" "$block"; fi ;;
    *.eti) compile "$block" "$block" ;;
    *.c) c_part "$block" ;;
    *.run | *.options)
        commands "$block" "${block##*.}"
        continue
        ;;
    *.unknown) fail "$block" 'is no program, and no comment says what it is (tests/system/docs/README.md)' ;;
    *.no | *.from | *.in) continue ;;
    *) fail "$block" "there is no kind ${block##*.}" ;;
    esac
    tried=$((tried + 1))
done
echo "$tried examples"
[ $tried -gt 40 ] || failed=1
[ $failed -ne 0 ] || rm -rf "$work"
exit $failed
