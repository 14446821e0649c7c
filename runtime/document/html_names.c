#include "runtime/document/html_names.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* By name, ordered for bsearch. */
static const struct named {
    const char *name;
    enum html_element element;
} ELEMENTS[] = {
    {"a", HTML_LINK},           {"address", HTML_BLOCK},
    {"article", HTML_ARTICLE},  {"aside", HTML_BLOCK},
    {"audio", HTML_DROP},       {"blockquote", HTML_BLOCK},
    {"body", HTML_BLOCK},       {"br", HTML_BREAK},
    {"button", HTML_SITE},      {"canvas", HTML_DROP},
    {"caption", HTML_BLOCK},    {"center", HTML_BLOCK},
    {"dd", HTML_ITEM},          {"details", HTML_BLOCK},
    {"div", HTML_BLOCK},        {"dl", HTML_BLOCK},
    {"dt", HTML_TERM},          {"fieldset", HTML_BLOCK},
    {"figcaption", HTML_BLOCK}, {"figure", HTML_BLOCK},
    {"footer", HTML_PAGE_PART}, {"form", HTML_SITE},
    {"h1", HTML_HEADING},       {"h2", HTML_HEADING},
    {"h3", HTML_HEADING},       {"h4", HTML_HEADING},
    {"h5", HTML_HEADING},       {"h6", HTML_HEADING},
    {"header", HTML_PAGE_PART}, {"hr", HTML_BLOCK},
    {"iframe", HTML_DROP},      {"li", HTML_ITEM},
    {"listing", HTML_PRE},      {"main", HTML_ARTICLE},
    {"math", HTML_DROP},        {"menu", HTML_SITE},
    {"nav", HTML_SITE},         {"noscript", HTML_DROP},
    {"object", HTML_DROP},      {"ol", HTML_LIST},
    {"option", HTML_SITE},      {"p", HTML_BLOCK},
    {"pre", HTML_PRE},          {"script", HTML_DROP},
    {"section", HTML_BLOCK},    {"select", HTML_SITE},
    {"style", HTML_DROP},       {"summary", HTML_BLOCK},
    {"sup", HTML_RAISED},       {"svg", HTML_DROP},
    {"table", HTML_TABLE},      {"tbody", HTML_BLOCK},
    {"td", HTML_CELL},          {"template", HTML_DROP},
    {"textarea", HTML_SITE},    {"tfoot", HTML_BLOCK},
    {"th", HTML_HEAD_CELL},     {"thead", HTML_BLOCK},
    {"title", HTML_TITLE},      {"tr", HTML_ROW},
    {"ul", HTML_LIST},          {"video", HTML_DROP},
    {"xmp", HTML_PRE},
};

/* Words in class and id that name what belongs to the site. */
static const char *const SITE_WORDS[] = {
    "breadcrumb",  "breadcrumbs",
    "fancy_toc",   "menu",
    "nav",         "navbar",
    "navigation",  "nosearch",
    "searchmenu",  "sidebar",
    "site-footer", "site-header",
    "skip-link",   "table-of-contents",
    "toc",
};

static int compare_named(const void *name, const void *entry)
{
    return strcmp(name, ((const struct named *)entry)->name);
}

enum html_element html_names_element(const char *name)
{
    const struct named *e =
        bsearch(name, ELEMENTS, sizeof(ELEMENTS) / sizeof(ELEMENTS[0]),
                sizeof(ELEMENTS[0]), compare_named);

    return e == NULL ? HTML_INLINE : e->element;
}

static bool is_site_word(const char *word, size_t len)
{
    for (size_t i = 0; i < sizeof(SITE_WORDS) / sizeof(SITE_WORDS[0]); i++) {
        if (strlen(SITE_WORDS[i]) == len &&
            strncasecmp(SITE_WORDS[i], word, len) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a class or id names something of the site. */
static bool has_site_word(const char *value)
{
    while (*value != '\0') {
        size_t len = strcspn(value, " \t\n");

        if (is_site_word(value, len)) {
            return true;
        }
        value += len;
        value += strspn(value, " \t\n");
    }
    return false;
}

bool html_names_is_site(const char *const *atts)
{
    for (size_t i = 0; atts != NULL && atts[i] != NULL; i += 2) {
        const char *name = atts[i];
        const char *value = atts[i + 1];

        if (strcmp(name, "hidden") == 0) {
            return true;
        }
        if (value == NULL) {
            continue;
        }
        if ((strcmp(name, "class") == 0 || strcmp(name, "id") == 0) &&
            has_site_word(value)) {
            return true;
        }
        if (strcmp(name, "role") == 0 && strcasecmp(value, "navigation") == 0) {
            return true;
        }
        if (strcmp(name, "aria-hidden") == 0 && strcmp(value, "true") == 0) {
            return true;
        }
    }
    return false;
}
