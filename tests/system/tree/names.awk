# Reads names of files of C, and the table of rooms whose name is in `table`; see rooms.sh. What a header declares, functions
# and variables, has to be defined in the header's room or one below it, and used by a file that does not define it. What macros
# define is not seen: of that only the second is asked.

function complain(text) {
    print "rooms: " text | "cat >&2"
    failed = 1
}

function room_of(file) {
    sub(/\/[^\/]*$/, "", file)
    return file
}

# Of a declaration or the head of a definition the name, or nothing: what is static, a type, or no declaration of ours.
function name_of(text,   n) {
    if (text ~ /(^|[^A-Za-z0-9_])(static|typedef)[^A-Za-z0-9_]/ || text ~ /^[^=(]*[^=(A-Za-z0-9_ *][^=(]*\(/)
        return ""
    gsub(/__attribute__ *\(\([^()]*(\([^()]*\))?\)\)/, "", text)
    if (text ~ /^[A-Za-z_][A-Za-z0-9_ *]*[ *][a-z_][A-Za-z0-9_]* *\(/) {
        sub(/ *\(.*/, "", text)
    } else if (text ~ /^(extern )?(const )?[A-Za-z_][A-Za-z0-9_ *]*[ *][a-z_][A-Za-z0-9_]*(\[[^=]*\])?( *=.*)?$/) {
        variable = 1
        sub(/ *=.*/, "", text)
        sub(/(\[.*\])+ *$/, "", text)
    } else
        return ""
    sub(/.*[ *]/, "", text)
    return text
}

# Takes FILE apart into what stands at the top of it, and notes who names what.
function read_file(file,   line, text, depth, header, continued, n, words, i, c, after) {
    header = file ~ /\.h$/
    while ((getline line < file) > 0) {
        if (commented) {
            if (!sub(/^.*\*\//, "", line))
                continue
            commented = 0
        }
        gsub(/\\\\|\\"/, "", line)
        gsub(/"[^"]*"/, "\"\"", line)
        gsub(/'[^']*'/, "0", line)
        gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, " ", line)
        sub(/\/\/.*/, "", line)
        if (sub(/\/\*.*/, "", line))
            commented = 1
        n = split(line, words, /[^A-Za-z0-9_]+/)
        for (i = 1; i <= n; i++)
            if (words[i] ~ /^[a-z_]/ && ++times[words[i], file] == 1)
                users[words[i]] = users[words[i]] " " file
        if (continued || line ~ /^[ \t]*#/) {
            continued = line ~ /\\$/
            continue
        }
        while (match(line, /[;{}]/)) {
            if (depth == 0)
                text = text " " substr(line, 1, RSTART - 1)
            c = substr(line, RSTART, 1)
            line = substr(line, RSTART + 1)
            if (depth == 0 && c != "}") {
                top(text, c, file, header)
                after = text ~ /\)[ \t]*$/ ? "" : "}"
                text = ""
            }
            depth += (c == "{") - (c == "}")
            if (depth == 0 && c == "}")
                text = after
        }
        if (depth == 0)
            text = text " " line
    }
    close(file)
}

# What stands at the top of a file, and what ends it.
function top(text, end, file, header,   name) {
    gsub(/[ \t]+/, " ", text)
    sub(/^ /, "", text)
    sub(/ $/, "", text)
    if (text ~ /^}/ || text ~ /^(struct|enum|union)( [A-Za-z0-9_]+)?$/ || text ~ /extern ""/)
        return
    while (text ~ /^extern [^(]*,/) {
        name = text
        sub(/.*, */, "", name)
        sub(/ *,[^,]*$/, "", text)
        top("extern type " name, end, file, header)
    }
    variable = 0
    name = name_of(text)
    if (name == "")
        return
    if (header && end == ";" && (!variable || text ~ /^extern /)) {
        if (!(name in declared))
            declared[name] = file
    } else if (!header && (end == "{" || variable))
        defined[name] = defined[name] " " file
}

function read_table(   line, words, n, i, room) {
    while ((getline line < table) > 0) {
        sub(/#.*/, "", line)
        n = split(line, words, /[ \t]+/)
        room = words[1]
        if (!sub(/:$/, "", room))
            continue
        for (i = 2; i <= n; i++)
            if (words[i] == "")
                continue
            else if (room == "interface" && i > 2)
                interface[words[2], words[i]] = 1
            else if (room == "excused")
                excused[words[i]] = 0
            else if (room == "interface")
                continue
            else
                below[room, words[i]] = 1
        rooms[room] = 1
    }
    close(table)
}

BEGIN {
    read_table()
    for (b in rooms)
        for (a in rooms)
            if ((a, b) in below)
                for (c in rooms)
                    if ((b, c) in below)
                        below[a, c] = 1
}

{ read_file($0) }

# May the header declare what ROOM defines?
function may_declare(header, room) {
    if (room == room_of(header) || (room_of(header), room) in below)
        return 1
    if ((header, room) in interface) {
        interface[header, room] = 2
        return 1
    }
    return 0
}

# A definition that a header of this room may declare, among FILES; tests define stand-ins.
function is_above(header, files, n,   i) {
    for (i = 1; i <= n; i++)
        if (may_declare(header, room_of(files[i])))
            return 0
    return n > 0
}

# Does a file use NAME that does not define it? A header does in code of its own.
function is_used(name, header, defining,   by, n, i) {
    n = split(users[name], by, " ")
    for (i = 1; i <= n; i++)
        if (by[i] == header ? times[name, header] > 1 : !index(defining " ", " " by[i] " "))
            return 1
    return 0
}

END {
    for (name in declared) {
        header = declared[name]
        n = split(defined[name], files, " ")
        above = is_above(header, files, n)
        alone = !is_used(name, header, defined[name])
        if (header in excused)
            excused[header] += above + alone
        else if (above)
            complain(header ": " name " is declared below the room that defines it:" defined[name])
        else if (alone)
            complain(header ": " name " is used in" (n ? defined[name] " alone: static there" : " no file"))
        count++
    }
    for (e in interface)
        if (interface[e] != 2) {
            split(e, end, SUBSEP)
            complain("tests/system/tree/rooms.txt: " end[1] " declares nothing of " end[2] " any more")
        }
    for (header in excused)
        if (!excused[header])
            complain("tests/system/tree/rooms.txt: nothing has to be excused of " header " any more")
    if (!count)
        complain("no declaration was found")
    exit failed
}
