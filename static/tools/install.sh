#!/bin/sh
# install.sh <from> <to> - the assembled page into the folder that a web server
# hands out. The files of the version before stay one version long, for pages
# that are still open and have not asked for all of them yet.
set -eu
from=$1
to=$2

version() {
    sed -n 's/.* src="\(v-[0-9a-f]*\)\/.*/\1/p' "$1/index.html" | head -n 1
}

before=
if [ -f "$to/index.html" ]; then
    before=$(version "$to")
fi
now=$(version "$from")
mkdir -p "$to"
cp -R "$from/$now" "$to/"
for file in index.html.gz index.html; do
    cp "$from/$file" "$to/$file.new"
    mv "$to/$file.new" "$to/$file"
done
if [ "$before" != "$now" ]; then
    for path in "$to"/*; do
        case ${path##*/} in
        index.html | index.html.gz | "$now" | "$before") ;;
        *) rm -rf "$path" ;;
        esac
    done
fi
