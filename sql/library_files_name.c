#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sql/base/hash.h"
#include "sql/base/utf8.h"
#include "sql/library_files.h"

/* The plain letters of a folder's name, and how long it may be without hash. */
#define PLAIN      "abcdefghijklmnopqrstuvwxyz0123456789-_"
#define PLAIN_MOST 120

void library_files_owner(const char *account,
                         char out[LIBRARY_FILES_OWNER_BYTES])
{
    size_t len = strlen(account);
    size_t n = 0;

    if (len > PLAIN_MOST / 3) {
        uint8_t hash[HASH_BYTES];

        hash_sha256(account, len, hash);
        out[n++] = '=';
        out[n++] = '=';
        hash_hex(hash, out + n);
        return;
    }
    for (size_t i = 0; i < len; i++) {
        if (strchr(PLAIN, account[i]) != NULL) {
            out[n++] = account[i];
        } else {
            n += (size_t)snprintf(out + n, 4, "=%02x",
                                  (unsigned char)account[i]);
        }
    }
    out[n] = '\0';
}

enum library_format library_files_format(const char *name)
{
    static const struct {
        const char *ending;
        enum library_format format;
    } FORMATS[] = {
        {".html", LIBRARY_FORMAT_HTML},   {".htm", LIBRARY_FORMAT_HTML},
        {".md", LIBRARY_FORMAT_MARKDOWN}, {".txt", LIBRARY_FORMAT_PLAIN},
        {".pdf", LIBRARY_FORMAT_PDF},
    };
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot != NULL && i < sizeof(FORMATS) / sizeof(FORMATS[0]);
         i++) {
        if (strcasecmp(dot, FORMATS[i].ending) == 0) {
            return FORMATS[i].format;
        }
    }
    return LIBRARY_FORMAT_NONE;
}

static const char *part_fault(const char *part, size_t len)
{
    if (len == 0) {
        return "The name has an empty part between slashes.";
    }
    if (part[0] == '.') {
        return "Hidden names, and names with . or .. as a part, are not "
               "taken.";
    }
    if (len > LIBRARY_FILES_MAX_PART_BYTES) {
        return "A part of the name is longer than 200 bytes.";
    }
    return NULL;
}

const char *library_files_fault(const char *name)
{
    size_t len = strlen(name);
    const char *fault = NULL;
    size_t parts = 0;

    if (len > LIBRARY_FILES_MAX_NAME_BYTES) {
        return "The name is longer than 400 bytes.";
    }
    if (!utf8_valid(name, len)) {
        return "The name is not UTF-8.";
    }
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f ||
            name[i] == '\\') {
            return "The name has a control character or a backslash.";
        }
    }
    for (const char *part = name; fault == NULL;) {
        size_t part_len = strcspn(part, "/");

        fault = part_fault(part, part_len);
        if (fault == NULL && ++parts > LIBRARY_FILES_MAX_PARTS) {
            fault = "The name has more than 16 parts.";
        }
        if (part[part_len] == '\0') {
            break;
        }
        part += part_len + 1;
    }
    return fault;
}
