# words.awk - refuses words and habits that do not belong in the repository.
#
#   git ls-files -z | xargs -0 awk -f tests/lint/words.awk
#
# Prints file:line and what was found; the exit status is 1 if there was any.

function complain(what)
{
    printf "%s:%d: %s\n", FILENAME, FNR, what
    bad = 1
}

FNR == 1 {
    skip = FILENAME ~ /^tests\/lint\// || FILENAME ~ /\.(png|ico|woff2)$/
    is_c = FILENAME ~ /\.[ch]$/
    is_code = is_c || FILENAME ~ /\.(m?js|sql|css)$/
}

skip { next }

/(^|[^A-Za-z0-9_])(TODO|FIXME|XXX|HACK)([^A-Za-z0-9_]|$)/ {
    complain("a note to oneself; do it, or describe the limit")
}

/(^|[^A-Za-z0-9_.~}])\/(work|root|home)\// { complain("a path of one machine") }

/"resolved": *"http/ { complain("a download address in a lock file") }

is_code && /[ \t]+$/ { complain("blanks at the end of the line") }
is_code && /\t/ { complain("a tab") }

is_c && /(^|[^A-Za-z0-9_])(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|atoll|alloca|system|popen|rand|localtime|gmtime|asctime|ctime)\(/ {
    complain("a function that is unsafe or tells no errors")
}

is_c && /sqlite3\.h/ && FILENAME != "sql/db.c" && !/^ \*|\/\*/ {
    complain("sqlite3.h belongs to sql/db.c")
}
is_c && /#include.*(fcgiapp|fcgios|fcgi_config)\.h/ && FILENAME != "fcgi/req.c" {
    complain("libfcgi belongs to fcgi/req.c")
}
is_c && /#include.*curl\/curl\.h/ && FILENAME != "runtime/http.c" {
    complain("libcurl belongs to runtime/http.c")
}

END { exit bad }
