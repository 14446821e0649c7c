# embed.awk - SQL files become C.
#
#   awk -v out=DIR -f sql/embed.awk sql/query/*.sql ... sql/schema/*.sql ...
#
# Query files (.../query/...) hold statements. Each has one header line, as
# many lines of prose as it needs, and SQL that ends with a semicolon at the
# end of a line:
#
#   -- stmt: RUN_GET read params=1 cols=9
#   -- One Run of an account.
#   SELECT ... ;
#
# Header words: read or write (does it change rows), scan (it may walk a whole
# table or sort), params=N, cols=N. They become DIR/stmt.h and DIR/stmt.c.
# Schema files (.../schema/NNNN_name.sql) are taken whole, numbered from 0001
# without a gap, and become DIR/schema.h and DIR/schema.c. What lies in a
# folder library/ or search/ belongs to the database of that name.
#
# Whatever is out of form stops the build, with file and line. Plain POSIX awk:
# Debian's is mawk.

function die_at(file, line, text) {
    printf "%s:%d: %s\n", file, line, text > "/dev/stderr"
    failed = 1
    exit 1
}

function die(text) {
    die_at(FILENAME, FNR, text)
}

# A line of SQL as a C string literal. '?' is escaped against trigraphs.
function literal(s,    i, c, r) {
    r = ""
    for (i = 1; i <= length(s); i++) {
        c = substr(s, i, 1)
        if (c == "\\" || c == "\"" || c == "?")
            r = r "\\" c
        else if (c == "\t")
            r = r "\\t"
        else
            r = r c
    }
    return "\"" r "\\n\""
}

# The statement that is open must be complete before the file ends or the next
# header comes.
function close_open() {
    if (open != "")
        die_at(open_file, open_line, "statement " open \
               (sql_lines > 0 ? " does not end with ;" : " has no SQL"))
}

function number_of(word) {
    sub(/^[a-z]+=/, "", word)
    if (word !~ /^[0-9]+$/ || length(word) > 3)
        die("expected a number, found \"" word "\"")
    return word
}

# The database that a file of sql/query or sql/schema is for.
function database_of(file) {
    if (match(file, /\/(library|search)\/[^\/]*$/))
        return file ~ /\/library\/[^\/]*$/ ? "LIBRARY" : "SEARCH"
    return "MAIN"
}

function read_header(    n, i, word, w) {
    close_open()
    n = split($0, w, /[ \t]+/)
    if (n < 3 || w[3] !~ /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/)
        die("ill-formed statement name \"" w[3] "\"")
    if (w[3] in where)
        die("statement " w[3] " stands already at " where[w[3]])
    open = w[3]
    open_file = FILENAME
    open_line = FNR
    sql_lines = 0
    where[open] = FILENAME ":" FNR
    name[++count] = open
    mode[count] = params[count] = cols[count] = ""
    scan[count] = "false"
    database[count] = database_of(FILENAME)
    for (i = 4; i <= n; i++) {
        word = w[i]
        if (word == "")
            continue
        if ((word == "read" || word == "write") && mode[count] == "")
            mode[count] = word
        else if (word == "scan" && scan[count] == "false")
            scan[count] = "true"
        else if (word ~ /^params=/ && params[count] == "")
            params[count] = number_of(word)
        else if (word ~ /^cols=/ && cols[count] == "")
            cols[count] = number_of(word)
        else
            die("unknown or repeated word \"" word "\" in a statement header")
    }
    if (mode[count] == "" || params[count] == "" || cols[count] == "")
        die("a statement header needs read or write, params=N and cols=N")
}

function read_query() {
    if ($0 ~ /^[ \t]*--[ \t]*stmt:/) {
        if ($0 !~ /^-- stmt: /)
            die("a statement header starts with \"-- stmt: \"")
        read_header()
        return
    }
    if ($0 ~ /^[ \t]*$/ || $0 ~ /^[ \t]*--/)
        return
    if (open == "")
        die("SQL outside a statement")
    sql_lines++
    text[count] = text[count] "\n        " literal($0)
    if ($0 ~ /;[ \t]*$/)
        open = ""
}

function start_schema(    base, set, number) {
    base = FILENAME
    sub(/^.*\//, "", base)
    if (base !~ /^[0-9][0-9][0-9][0-9]_[a-z0-9_]+\.sql$/)
        die("a schema file is named NNNN_name.sql")
    set = database_of(FILENAME)
    number = sprintf("%04d", ++migrations[set])
    if (substr(base, 1, 4) != number)
        die("expected migration " number " here")
    sub(/\.sql$/, "", base)
    schema_set = set
    schema_name[set, migrations[set]] = base
    schema_ended = 1
}

function read_schema() {
    schema_text[schema_set, migrations[schema_set]] = \
        schema_text[schema_set, migrations[schema_set]] "\n        " literal($0)
    if ($0 !~ /^[ \t]*$/ && $0 !~ /^[ \t]*--/) {
        schema_ended = $0 ~ /;[ \t]*$/ || $0 ~ /;[ \t]*--/
        schema_file = FILENAME
        schema_line = FNR
    }
}

function close_schema() {
    if (schema_file != "" && !schema_ended)
        die_at(schema_file, schema_line, "the schema does not end with ;")
    schema_file = ""
}

BEGIN {
    if (out == "") {
        print "embed.awk: -v out=DIR is missing" > "/dev/stderr"
        failed = 1
        exit 1
    }
    # Without files awk would read standard input.
    if (ARGC < 2) {
        ARGV[1] = "/dev/null"
        ARGC = 2
    }
    count = 0
    open = ""
    split("MAIN LIBRARY SEARCH", databases, " ")
    for (d = 1; d in databases; d++)
        migrations[databases[d]] = 0
}

FNR == 1 {
    close_open()
    close_schema()
    seen[FILENAME] = 1
    if (FILENAME ~ /(^|\/)schema\/((library|search)\/)?[^\/]*$/) {
        kind = "schema"
        start_schema()
    } else if (FILENAME ~ /(^|\/)query\/((library|search)\/)?[^\/]*$/) {
        kind = "query"
    } else {
        die("neither a query nor a schema file")
    }
}

kind == "query" { read_query() }
kind == "schema" { read_schema() }

function put_stmt_h(f,    i) {
    f = out "/stmt.h"
    print "/* Made by sql/embed.awk from sql/query. */" > f
    print "#ifndef ASIDE_GEN_STMT_H\n#define ASIDE_GEN_STMT_H\n" > f
    print "#include <stdbool.h>\n" > f
    print "enum stmt_id {" > f
    for (i = 1; i <= count; i++)
        print "    STMT_" name[i] "," > f
    print "    STMT__MAX\n};\n" > f
    print "enum stmt_db {" > f
    for (i = 1; i in databases; i++)
        print "    STMT_DB_" databases[i] "," > f
    print "    STMT_DB__MAX\n};\n" > f
    print "struct stmt {" > f
    print "    const char *name;" > f
    print "    enum stmt_db database; /* that it runs on */" > f
    print "    bool write; /* changes rows */" > f
    print "    bool scan;  /* may walk a whole table or sort */" > f
    print "    int params;" > f
    print "    int cols;" > f
    print "    const char *text;\n};\n" > f
    print "/* One empty entry follows the last. */" > f
    print "extern const struct stmt STMT[STMT__MAX + 1];\n\n#endif" > f
    close(f)
}

function put_stmt_c(f,    i) {
    f = out "/stmt.c"
    print "/* Made by sql/embed.awk from sql/query. */" > f
    print "#include \"gen/stmt.h\"\n\n#include <stddef.h>\n" > f
    print "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n" > f
    print "const struct stmt STMT[STMT__MAX + 1] = {" > f
    for (i = 1; i <= count; i++) {
        print "    [STMT_" name[i] "] = {" > f
        print "        .name = \"" name[i] "\"," > f
        print "        .database = STMT_DB_" database[i] "," > f
        print "        .write = " \
              (mode[i] == "write" ? "true" : "false") "," > f
        print "        .scan = " scan[i] "," > f
        print "        .params = " params[i] + 0 "," > f
        print "        .cols = " cols[i] + 0 "," > f
        print "        .text =" text[i] "," > f
        print "    }," > f
    }
    print "    [STMT__MAX] = {.name = NULL},\n};" > f
    close(f)
}

function put_schema_h(f,    i) {
    f = out "/schema.h"
    print "/* Made by sql/embed.awk from sql/schema. */" > f
    print "#ifndef ASIDE_GEN_SCHEMA_H\n#define ASIDE_GEN_SCHEMA_H\n" > f
    print "#include <stddef.h>\n\n#include \"sql/db.h\"\n" > f
    for (i = 1; i in databases; i++)
        print "#define SCHEMA_" databases[i] "_COUNT ((size_t)" \
              migrations[databases[i]] ")" > f
    print "\n/* One empty entry follows the last. */" > f
    for (i = 1; i in databases; i++)
        print "extern const struct db_migration SCHEMA_" databases[i] \
              "[SCHEMA_" databases[i] "_COUNT + 1];" > f
    print "\n#endif" > f
    close(f)
}

function put_migrations(f, set,    i) {
    print "const struct db_migration SCHEMA_" set \
          "[SCHEMA_" set "_COUNT + 1] = {" > f
    for (i = 1; i <= migrations[set]; i++)
        print "    {.name = \"" schema_name[set, i] "\",\n     .sql =" \
              schema_text[set, i] "}," > f
    print "    {.name = NULL, .sql = NULL},\n};" > f
}

function put_schema_c(f,    i) {
    f = out "/schema.c"
    print "/* Made by sql/embed.awk from sql/schema. */" > f
    print "#include \"gen/schema.h\"\n" > f
    print "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n" > f
    for (i = 1; i in databases; i++)
        put_migrations(f, databases[i])
    close(f)
}

END {
    if (failed)
        exit 1
    close_open()
    close_schema()
    # An empty file has no first line and would go unnoticed.
    for (i = 1; i < ARGC; i++)
        if (ARGV[i] != "/dev/null" && !(ARGV[i] in seen))
            die_at(ARGV[i], 1, "the file is empty")
    put_stmt_h()
    put_stmt_c()
    put_schema_h()
    put_schema_c()
}
