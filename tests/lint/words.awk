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
    is_test = FILENAME ~ /^tests\//
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

is_c && !is_test && /(^|[^A-Za-z0-9_])(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|atoll|alloca|rand|localtime|gmtime|asctime|ctime|system|popen)\(/ {
    complain("a function that is unsafe, tells no errors, or starts a shell")
}

END { exit bad }
