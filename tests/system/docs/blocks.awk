# blocks.awk -v DIR=FOLDER FILE.md...: every indented block as FOLDER/NNN.KIND, with where it is in FOLDER/NNN.from.
# KIND: etg, eti, or what the comment above it says; "unknown" without one. FOLDER/NNN.in: the rest of the comment.
function finish() {
    if (!open) return
    kind = marked
    if (kind == "") kind = first ~ /^model / ? "etg" : first ~ /^eti 1 / ? "eti" : "unknown"
    name = DIR "/" sprintf("%03d", ++n)
    printf "%s", text > (name "." kind)
    print from > (name ".from")
    print rest > (name ".in")
    close(name "." kind)
    close(name ".from")
    close(name ".in")
    open = 0
    marked = rest = ""
}
FNR == 1 { finish(); marked = rest = "" }
/^<!-- check: / {
    finish()
    marked = $3
    rest = $4 == "in" ? $5 : ""
    next
}
/^    [^ ]/ && !open && (blank || FNR == 1) {
    open = 1
    from = FILENAME ":" FNR
    text = ""
    first = substr($0, 5)
}
open && /^    / { text = text gap substr($0, 5) "\n"; gap = "" }
open && /^$/ { gap = gap "\n" }
open && !/^    / && !/^$/ { gap = ""; finish() }
{ blank = /^$/ || /^<!--/ }
END { finish() }
