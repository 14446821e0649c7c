#include <string.h>
#include <strings.h>

#include "runtime/document/html_inside.h"
#include "sql/base/utf8.h"

/* A link's words are kept so far. */
#define MAX_WORDS_BYTES 200

/* Words and address follow it, each with its NUL. */
struct link {
    size_t at; /* it comes before what stands there in blocks */
    size_t words_len;
    size_t href_len;
};

static const char *attribute(const char *const *atts, const char *name)
{
    for (size_t i = 0; atts != NULL && atts[i] != NULL; i += 2) {
        if (strcmp(atts[i], name) == 0) {
            return atts[i + 1];
        }
    }
    return NULL;
}

/* Relative, or http. */
static bool leads_somewhere(const char *href)
{
    size_t name = strcspn(href, ":/?#");

    return href[0] != '\0' && href[0] != '#' &&
           (href[name] != ':' || strncasecmp(href, "http:", 5) == 0 ||
            strncasecmp(href, "https:", 6) == 0);
}

void html_link_keep_refresh(struct html_page *pg, const char *const *atts)
{
    const char *kind = attribute(atts, "http-equiv");
    const char *at = attribute(atts, "content");

    at = kind != NULL && at != NULL && strcasecmp(kind, "refresh") == 0
             ? strcasestr(at, "url=")
             : NULL;
    if (at == NULL || pg->leads.len > 0) {
        return;
    }
    at += strlen("url=");
    at += strspn(at, " \t\n\r'\"");
    if (strlen(at) <= HTML_HREF_BYTES && leads_somewhere(at)) {
        buf_add(&pg->leads, at, strcspn(at, "'\""));
    }
}

void html_link_start(struct html_page *pg, const char *const *atts)
{
    const char *href = attribute(atts, "href");

    pg->link_depth = pg->depth;
    pg->words_at = pg->text.len;
    html_block_clear(pg, &pg->href);
    if (href != NULL && strlen(href) <= HTML_HREF_BYTES &&
        leads_somewhere(href + strspn(href, " \t\n\r"))) {
        buf_puts(&pg->href, href + strspn(href, " \t\n\r"));
    }
}

void html_link_end(struct html_page *pg)
{
    struct link l = {.at = pg->blocks.len, .href_len = pg->href.len};
    const char *words;

    pg->link_depth = 0;
    if (pg->href.len == 0 || pg->text.len <= pg->words_at) {
        return;
    }
    words = pg->text.data + pg->words_at;
    l.words_len = pg->text.len - pg->words_at;
    while (l.words_len > 0 && strchr(" -", words[0]) != NULL) {
        words++;
        l.words_len--;
    }
    l.words_len = utf8_clip(words, l.words_len, MAX_WORDS_BYTES);
    /* A page of nothing but links loses the last of them. */
    if (l.words_len > 0 &&
        pg->links.len + sizeof(l) + l.words_len + l.href_len + 2 <=
            HTML_LINKS_BYTES) {
        buf_add(&pg->links, &l, sizeof(l));
        buf_add(&pg->links, words, l.words_len);
        buf_putc(&pg->links, '\0');
        buf_add(&pg->links, buf_str(&pg->href), l.href_len);
        buf_putc(&pg->links, '\0');
    }
    html_block_clear(pg, &pg->href);
}

void html_link_give(const struct html_page *pg, size_t at, size_t *next,
                    html_link_fn *fn, void *arg)
{
    while (*next + sizeof(struct link) <= pg->links.len) {
        const char *words = pg->links.data + *next + sizeof(struct link);
        struct link l;

        memcpy(&l, pg->links.data + *next, sizeof(l));
        if (l.at > at) {
            return;
        }
        *next += sizeof(l) + l.words_len + l.href_len + 2;
        fn(arg, words, words + l.words_len + 1);
    }
}
