#include <ctype.h>
#include <string.h>

#include "fcgi/offline/scene_inside.h"

bool scene_begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

char *scene_trimmed(struct arena *a, const char *from, const char *to)
{
    while (from < to && isspace((unsigned char)*from)) {
        from++;
    }
    while (to > from && isspace((unsigned char)to[-1])) {
        to--;
    }
    return arena_strndup(a, from, (size_t)(to - from));
}

const char *scene_without_marks(struct arena *a, const char *text)
{
    char *out = arena_alloc(a, strlen(text) + 1);
    size_t n = 0;

    while (out != NULL && *text != '\0') {
        size_t len = strcspn(text, "\n");
        size_t all = len + (text[len] == '\n');
        bool border = (len == 6 && scene_begins(text, "[data]")) ||
                      (len == 13 && scene_begins(text, "[end of data]"));
        size_t skip = scene_begins(text, "| ") ? 2 : 0;

        if (!border) {
            memcpy(out + n, text + skip, all - skip);
            n += all - skip;
        }
        text += all;
    }
    if (out != NULL) {
        out[n] = '\0';
    }
    return out;
}

const char *scene_unmarked(struct arena *a, const char *text)
{
    static const char open[] = "[data]\n| ";
    static const char line[] = "\n| ";
    const char *from = text + sizeof(open) - 1;
    const char *end;
    char *out;
    size_t n = 0;

    if (!scene_begins(text, open)) {
        return text;
    }
    end = strstr(from, "\n[end of data]");
    end = end != NULL ? end : from + strlen(from);
    out = arena_alloc(a, (size_t)(end - from) + 1);
    while (out != NULL && from < end) {
        out[n++] = *from;
        from +=
            strncmp(from, line, sizeof(line) - 1) == 0 ? sizeof(line) - 1 : 1;
    }
    return out;
}
