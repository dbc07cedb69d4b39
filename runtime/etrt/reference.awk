# The reference of libetrt, out of the comments of etrt.h: man pages, a page for each section of the header, and
# with HTML a page of all. Every function must have a comment above it; one goes with all declarations that
# follow it without an empty line. Lines of a comment that are indented are kept as they are.
#
#   awk -v OUT=FOLDER -v HTML=FILE -v VERSION=V -f reference.awk etrt.h

function die(text) {
    print "reference: line " NR ": " text | "cat >&2"
    failed = 1
}

# ---- reading ------------------------------------------------------------------------------------

# A line of a comment without its frame.
function bare(line) {
    sub(/^\/\* ?/, "", line)
    sub(/ *\*\/$/, "", line)
    sub(/^ \* ?/, "", line)
    sub(/^ \*$/, "", line)
    return line
}

function new_section(title) {
    sections++
    section_title[sections] = title
    slug = title
    sub(/[:,(].*/, "", slug)
    sub(/ +$/, "", slug)
    gsub(/[^A-Za-z0-9]+/, "_", slug)
    section_name[sections] = "etrt_" tolower(slug)
    first_entry[sections] = entries + 1
    last_entry[sections] = entries
}

function new_entry(text) {
    entries++
    comment[entries] = text
    code[entries] = names[entries] = ""
    last_entry[sections] = entries
    open_entry = 1
}

function end_comment(   title, rest) {
    if (!seen_overview) {
        sub(/^etrt\.h - /, "", text)
        overview = text
        seen_overview = 1
        return
    }
    if (match(text, /^---- [^\n]*/)) {
        title = substr(text, RSTART + 5, RLENGTH - 5)
        rest = substr(text, RLENGTH + 2)
        sub(/ *-+$/, "", title)
        new_section(title)
        if (rest != "")
            new_entry(rest)
        open_entry = 0
        return
    }
    if (!sections)
        new_section("basics: version, statuses, handles, types")
    new_entry(text)
}

# What a whole declaration declares, where that is a function.
function function_of(line,   n, words) {
    if (line ~ /^typedef|^#/ || line !~ /\(/)
        return ""
    sub(/\(.*/, "", line)
    n = split(line, words, /[ *]+/)
    return words[n]
}

function end_declaration(   name) {
    if (!open_entry)
        new_entry("")
    code[entries] = code[entries] declaration "\n"
    name = function_of(declaration)
    if (name != "") {
        if (comment[entries] == "" && !trailing)
            die(name " has no comment")
        names[entries] = names[entries] " " name
        functions++
    }
    declaration = ""
}

in_comment {
    text = text "\n" bare($0)
    if ($0 ~ /\*\/ *$/) {
        in_comment = 0
        end_comment()
    }
    next
}
declaration != "" {
    declaration = declaration "\n" $0
    depth += gsub(/[({]/, "&") - gsub(/[)}]/, "&")
    if (macro ? $0 !~ /\\$/ : depth == 0 && $0 ~ /;[^;]*$/)
        end_declaration()
    next
}
/^\/\*/ && !/\*\/ *[^ ]/ {
    text = bare($0)
    if ($0 ~ /\*\/ *$/)
        end_comment()
    else
        in_comment = 1
    next
}
/^$/ {
    open_entry = 0
    next
}
/^#(if|endif|pragma|include|undef)|^#define ETRT_H$|^extern "C"|^}$/ { next }
{
    trailing = /\/\*/
    declaration = $0
    line = $0
    macro = /^#define/
    sub(/\/\*.*\*\//, "", line)
    depth = gsub(/[({]/, "&", line) - gsub(/[)}]/, "&", line)
    if (macro ? !/\\$/ : depth == 0 && line ~ /;/)
        end_declaration()
}

# ---- man pages ----------------------------------------------------------------------------------

function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/\n\./, "\n\\\\\\&.", text)
    gsub(/\n'/, "\n\\\\\\&'", text)
    sub(/^\./, "\\\\\\&.", text)
    sub(/^'/, "\\\\\\&'", text)
    return text
}

# A paragraph of a comment; indented lines stay lines.
function roff_text(text,   lines, n, i, kept) {
    kept = 0
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) {
        if (lines[i] ~ /^ +[^ ]/ != kept) {
            kept = !kept
            print (kept ? ".PP\n.nf" : ".fi\n.PP") > page
        }
        if (lines[i] == "")
            print ".PP" > page
        else
            print roff(lines[i]) > page
    }
    if (kept)
        print ".fi" > page
}

function roff_code(text) {
    sub(/\n$/, "", text)
    print ".PP\n.nf\n" roff(text) "\n.fi" > page
}

function write_page(s,   e, i, n, all, words, intro) {
    page = OUT "/" section_name[s] ".3"
    print ".TH " toupper(section_name[s]) " 3 \"\" \"etcc " VERSION "\" \"libetrt\"\n.SH NAME" > page
    all = ""
    for (e = first_entry[s]; e <= last_entry[s]; e++)
        all = all names[e]
    n = split(all, words, " ")
    printf "%s", roff(section_name[s]) > page
    for (i = 1; i <= n; i++)
        printf ", %s", words[i] > page
    print " \\- " roff(section_title[s]) "\n.SH SYNOPSIS\n.B #include <etrt.h>\n.SH DESCRIPTION" > page
    for (e = first_entry[s]; e <= last_entry[s]; e++) {
        if (code[e] != "")
            roff_code(code[e])
        print ".PP" > page
        roff_text(comment[e])
    }
    print ".SH SEE ALSO\n.BR etrt (3)" > page
    close(page)
    for (i = 1; i <= n; i++) {
        print ".so man3/" section_name[s] ".3" > (OUT "/" words[i] ".3")
        close(OUT "/" words[i] ".3")
    }
}

function write_overview(   s) {
    page = OUT "/etrt.3"
    print ".TH ETRT 3 \"\" \"etcc " VERSION "\" \"libetrt\"\n.SH NAME\netrt \\- what runs models that etcc compiled" > page
    print ".SH SYNOPSIS\n.B #include <etrt.h>\n.SH DESCRIPTION" > page
    roff_text(overview)
    print ".SH SEE ALSO" > page
    for (s = 1; s <= sections; s++)
        print ".BR " roff(section_name[s]) " (3)" (s < sections ? "," : "") > page
    close(page)
}

# ---- HTML ---------------------------------------------------------------------------------------

function html(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    return text
}

function html_text(text,   lines, n, i, kind, want) {
    n = split(text, lines, "\n")
    kind = ""
    for (i = 1; i <= n; i++) {
        want = lines[i] ~ /^ +[^ ]/ ? "pre" : lines[i] == "" ? "" : "p"
        if (want != kind) {
            if (kind != "")
                print "</" kind ">" > HTML
            if (want != "")
                printf "<%s>", want > HTML
            kind = want
        }
        if (kind != "")
            print html(lines[i]) > HTML
    }
    if (kind != "")
        print "</" kind ">" > HTML
}

function write_html(   s, e, i, n, words) {
    print "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>libetrt " VERSION "</title>" > HTML
    print "<style>body{max-width:52em;margin:2em auto;padding:0 1em;font:16px/1.5 sans-serif}" > HTML
    print "pre{background:#f3f3f0;padding:.6em;overflow-x:auto;font-size:14px}</style></head><body>" > HTML
    print "<h1>libetrt " VERSION "</h1>" > HTML
    html_text(overview)
    print "<ul>" > HTML
    for (s = 1; s <= sections; s++)
        print "<li><a href=\"#" section_name[s] "\">" html(section_title[s]) "</a></li>" > HTML
    print "</ul>" > HTML
    for (s = 1; s <= sections; s++) {
        print "<h2 id=\"" section_name[s] "\">" html(section_title[s]) "</h2>" > HTML
        for (e = first_entry[s]; e <= last_entry[s]; e++) {
            n = split(names[e], words, " ")
            for (i = 1; i <= n; i++)
                print "<a id=\"" words[i] "\"></a>" > HTML
            if (code[e] != "") {
                sub(/\n$/, "", code[e])
                print "<pre>" html(code[e]) "</pre>" > HTML
            }
            html_text(comment[e])
        }
    }
    print "</body></html>" > HTML
}

END {
    if (in_comment || declaration != "")
        die("the header ends within a comment or a declaration")
    if (functions < 1)
        die("no functions are declared")
    if (failed)
        exit 1
    for (s = 1; s <= sections; s++)
        write_page(s)
    write_overview()
    write_html()
}
