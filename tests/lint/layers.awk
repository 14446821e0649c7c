# layers.awk - holds the layers of the sources.
#
#   awk [-v root=DIR/] -f tests/lint/layers.awk FILE.c FILE.h ...
#
# sql/base knows only itself; sql/db knows the base; the store (the rest of
# sql/) knows both; fcgi/ and runtime/ know the base and the store's doors, and
# never each other, sql/db.h, generated SQL, or a header that leads to them.
# libfcgi and libcurl are each touched in one file, SQLite in those of sql/db.
# Tests may see everything. Every quoted include names its folder. Prints one
# line for each violation; exit status 1 if there was one.

function layer_of(path) {
    if (path ~ /^sql\/base\//)
        return "base"
    if (path ~ /^sql\/db(_[a-z]+)?\.[ch]$/)
        return "db"
    if (path ~ /^sql\//)
        return "store"
    if (path ~ /^fcgi\//)
        return "fcgi"
    if (path ~ /^runtime\//)
        return "runtime"
    if (path ~ /^gen\//)
        return "gen"
    if (path ~ /^tests\//)
        return "tests"
    return "other"
}

function complain(i, text) {
    print file[i] ":" line[i] ": " text
    bad = 1
}

BEGIN {
    may["base"] = " base "
    may["db"] = " base db gen "
    may["store"] = " base db store gen "
    may["fcgi"] = " base store gen fcgi "
    may["runtime"] = " base store gen runtime "
    only["sqlite3.h"] = "sql/db.c"
    only["fcgiapp.h"] = "fcgi/req.c"
    only["fcgi_stdio.h"] = "fcgi/req.c"
    only["fcgi_config.h"] = "fcgi/req.c"
    only["fcgimisc.h"] = "fcgi/req.c"
    only["fcgios.h"] = "fcgi/req.c"
    only["fastcgi.h"] = "fcgi/req.c"
    only["curl/curl.h"] = "runtime/http/http_inside.h"
    only["seccomp.h"] = "runtime/document/child.c"
    n = 0
}

/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    n++
    file[n] = FILENAME
    line[n] = FNR
    from[n] = FILENAME
    if (root != "" && index(FILENAME, root) == 1)
        from[n] = substr(FILENAME, length(root) + 1)
    sub(/^\.\//, "", from[n])
    quoted[n] = $0 ~ /include[ \t]*"/
    what = $0
    sub(/^[^"<]*["<]/, "", what)
    sub(/[">].*$/, "", what)
    to[n] = what
}

# A header of sql/ that leads to these, by whatever way, is the store's own.
function find_inner(    i, found) {
    inner["sql/db.h"] = inner["gen/stmt.h"] = inner["gen/schema.h"] = 1
    do {
        found = 0
        for (i = 1; i <= n; i++)
            if (from[i] ~ /^sql\/.*\.h$/ && (to[i] in inner) && \
                !(from[i] in inner)) {
                inner[from[i]] = 1
                found = 1
            }
    } while (found)
}

function check_library(i) {
    if (to[i] == "sqlite3.h" && layer_of(from[i]) == "db")
        return
    if ((to[i] in only) && only[to[i]] != from[i] && \
        layer_of(from[i]) != "tests")
        complain(i, to[i] " is included only by " only[to[i]])
}

function check_quoted(i,    here, there) {
    here = layer_of(from[i])
    there = layer_of(to[i])
    if (to[i] !~ /\// || to[i] ~ /(^|\/)\.\.?\//) {
        complain(i, "\"" to[i] "\" does not name its folder from the root")
        return
    }
    if (!(here in may))
        return
    if (index(may[here], " " there " ") == 0)
        complain(i, here " must not include \"" to[i] "\"")
    else if ((here == "fcgi" || here == "runtime") && (to[i] in inner))
        complain(i, here " must not include \"" to[i] \
                 "\", the inner side of sql/")
}

END {
    find_inner()
    for (i = 1; i <= n; i++) {
        check_library(i)
        if (quoted[i])
            check_quoted(i)
    }
    exit bad
}
