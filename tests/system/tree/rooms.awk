# Reads names of files, and the table of rooms whose name is in `table`; see rooms.sh.

function complain(text) {
    print "rooms: " text | "cat >&2"
    failed = 1
}

function room_of(file) {
    sub(/\/[^\/]*$/, "", file)
    return file
}

# Every rule about one file: where it is, and what it includes.
function read_file(file,   room, stem, line, name, target) {
    room = room_of(file)
    is_room[room] = 1
    stem = file
    sub(/\.[a-z]*$/, "", stem)
    if (!(stem in seen_stem))
        parts[room]++
    seen_stem[stem] = 1
    while ((getline line < file) > 0) {
        if (line !~ /^[ \t]*#[ \t]*include[ \t]*"/)
            continue
        name = line
        sub(/^[^"]*"/, "", name)
        sub(/".*/, "", name)
        if (name in tracked) {
            target = room_of(name)
            if (target != room)
                used[room, target] = used[room, target] " " file
        } else if (!(room ~ /^examples\// && name == "etrt.h") && !(name in generated))
            complain(file ": \"" name "\" is no file of the tree: includes are written from the top of it")
    }
    close(file)
}

# `name: what ...`; "generated: ..." names files that the build makes.
function read_table(   line, words, n, i, room, row) {
    while ((getline line < table) > 0) {
        row++
        sub(/#.*/, "", line)
        n = split(line, words, /[ \t]+/)
        if (n == 0 || words[1] == "")
            continue
        room = words[1]
        if (!sub(/:$/, "", room)) {
            complain("rooms.txt:" row ": expected 'ROOM: ROOMS IT MAY INCLUDE'")
            continue
        }
        if (room == "interface" || room == "excused")
            continue # names.awk reads these
        for (i = 2; i <= n; i++)
            if (words[i] == "")
                continue
            else if (room == "generated")
                generated[words[i]] = 1
            else if (room == "circle")
                known[row, words[i]] = circles[row] = 1
            else
                allowed[room, words[i]] = 1
        if (room != "generated" && room != "circle")
            listed[room] = 1
    }
    close(table)
    if (row == 0)
        complain("cannot read " table)
}

# Which rooms does each one reach, over any number of edges?
function close_over(   a, b, c, grown, e, end, f) {
    for (e in used)
        reach[e] = 1
    for (b in is_room)
        for (a in is_room)
            if ((a, b) in reach)
                for (c in is_room)
                    if ((b, c) in reach)
                        reach[a, c] = 1
}

function known_circle(a, b,   row) {
    for (row in circles)
        if ((row, a) in known && (row, b) in known) {
            circles[row] = 2
            return 1
        }
    return 0
}

BEGIN { read_table() }

$0 ~ /\.(c|h|inc|def)$/ { code[++files] = $0 }
{ tracked[$0] = 1 }

END {
    if (files == 0)
        complain("git lists no files")
    for (i = 1; i <= files; i++)
        read_file(code[i])
    for (room in is_room) {
        if (!((room "/README.md") in tracked))
            complain(room " has no README.md: what it is for, where to start, how to add one more of its kind")
        if (parts[room] > 25)
            complain(room " has " parts[room] " files, .c and .h counted as one: more than 25 are two rooms")
        if (!(room in listed))
            complain(room " has no row in tests/system/tree/rooms.txt")
    }
    for (room in listed)
        if (!(room in is_room))
            complain("tests/system/tree/rooms.txt: no room is called " room)
    for (e in used) {
        split(e, end, SUBSEP)
        if (!(e in allowed))
            complain(end[1] " may not include from " end[2] ", by tests/system/tree/rooms.txt:" used[e])
    }
    for (e in allowed)
        if (!(e in used)) {
            split(e, end, SUBSEP)
            complain("tests/system/tree/rooms.txt: " end[1] " includes nothing from " end[2] " any more")
        }
    close_over()
    for (e in used) {
        split(e, end, SUBSEP)
        if ((end[2], end[1]) in reach && !known_circle(end[1], end[2]))
            complain("a circle of rooms: " end[2] " leads back to " end[1] ", which includes it:" used[e])
    }
    for (row in circles)
        if (circles[row] == 1)
            complain("rooms.txt:" row ": there is no such circle any more")
    exit failed
}
