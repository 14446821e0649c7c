/* http_url.c - addresses as pages and people write them. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "runtime/http/http_inside.h"

/* Pages have spaces in their addresses, and other schemes, which are refused
 * here with a word of their own. */
#define LENIENT       (CURLU_ALLOW_SPACE | CURLU_URLENCODE | CURLU_NON_SUPPORT_SCHEME)
#define SPELLINGS_MAX 3

static bool has_part(CURLU *u, CURLUPart part)
{
    char *text = NULL;
    bool has = curl_url_get(u, part, &text, 0) == CURLUE_OK;

    curl_free(text);
    return has;
}

static bool is_web(CURLU *u)
{
    char *scheme = NULL;
    bool is = curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
              (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);

    curl_free(scheme);
    return is;
}

static bool is_ascii(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x7f) {
            return false;
        }
    }
    return true;
}

static const char *print(CURLU *u, char out[HTTP_URL_BYTES])
{
    char *text = NULL;
    int len = -1;

    if (curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_URL, &text, CURLU_PUNYCODE) == CURLUE_OK &&
        is_ascii(text)) {
        len = snprintf(out, HTTP_URL_BYTES, "%s", text);
    }
    curl_free(text);
    return len < 0                ? "no address that can be used"
           : len < HTTP_URL_BYTES ? NULL
                                  : "the address is too long";
}

static const char *clean(const char *base, const char *ref,
                         char out[HTTP_URL_BYTES])
{
    CURLU *u = curl_url();
    const char *why = "no address that can be used";

    if (u == NULL) {
        return "no memory";
    }
    if (base != NULL && (ref[0] == '#' || ref[0] == '\0')) {
        ref = base; /* libcurl would leave out the end of its path */
    }
    if ((base == NULL ||
         curl_url_set(u, CURLUPART_URL, base, LENIENT) == CURLUE_OK) &&
        curl_url_set(u, CURLUPART_URL, ref,
                     LENIENT | (base == NULL ? CURLU_DEFAULT_SCHEME : 0)) ==
            CURLUE_OK) {
        why = !is_web(u) ? "only http and https are fetched"
              : has_part(u, CURLUPART_USER) || has_part(u, CURLUPART_PASSWORD)
                  ? "an address with a name or password is not fetched"
                  : print(u, out);
    }
    curl_url_cleanup(u);
    return why;
}

/* libcurl decodes a host's escapes, but prints what came of them: read again it
 * may be another address, or none. */
const char *http_url_clean(const char *base, const char *ref,
                           char out[HTTP_URL_BYTES])
{
    char read[HTTP_URL_BYTES];
    const char *why = clean(base, ref, out);

    for (int i = 0; why == NULL && i < SPELLINGS_MAX; i++) {
        memcpy(read, out, strlen(out) + 1);
        why = clean(NULL, read, out);
        if (why == NULL && strcmp(read, out) == 0) {
            return NULL;
        }
    }
    return why == NULL ? "no address that can be used" : why;
}

void http_url_host(const char *url, char *out, size_t len)
{
    CURLU *u = curl_url();
    char *host = NULL;

    out[0] = '\0';
    if (u != NULL && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK) {
        const char *from = host[0] == '[' ? host + 1 : host;

        (void)snprintf(out, len, "%.*s", (int)strcspn(from, "]"), from);
        for (char *p = out; *p != '\0'; p++) {
            *p = (char)tolower((unsigned char)*p);
        }
    }
    curl_free(host);
    curl_url_cleanup(u);
}

void http_url_escape(struct buf *out, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789-._~";

    for (; *text != '\0'; text++) {
        if (strchr(plain, *text) != NULL) {
            buf_putc(out, *text);
        } else {
            buf_printf(out, "%%%02X", (unsigned)(unsigned char)*text);
        }
    }
}
