#include "runtime/cmd/nginx_conf.h"

#include <stdio.h>
#include <string.h>

#include "gen/run_conf.h"

#define FILES_SPARE 128 /* descriptors that are not connections */

struct blank {
    const char *name;
    const char *value;
};

static bool text_fits(const char *s)
{
    for (; *s != '\0'; s++) {
        if ((unsigned char)*s < 0x20 || strchr("$\"\\;{}", *s) != NULL) {
            return false;
        }
    }
    return true;
}

/* The value of the blank that starts at s ("@NAME@..."); *len is the length
 * of its name with both signs. NULL: that is no blank. */
static const char *blank_at(const char *s, const struct blank *blanks,
                            size_t *len)
{
    for (; blanks->name != NULL; blanks++) {
        size_t n = strlen(blanks->name);

        if (strncmp(s + 1, blanks->name, n) == 0 && s[n + 1] == '@') {
            *len = n + 2;
            return blanks->value;
        }
    }
    return NULL;
}

static void fill(const char *text, const struct blank *blanks, struct buf *out)
{
    while (*text != '\0') {
        size_t plain = strcspn(text, "@");
        size_t len = 1;
        const char *value;

        buf_add(out, text, plain);
        text += plain;
        if (*text == '\0') {
            break;
        }
        value = blank_at(text, blanks, &len);
        buf_puts(out, value != NULL ? value : "@");
        text += len;
    }
}

enum rc nginx_conf_render(const struct nginx_conf *c, struct buf *out)
{
    char port[16];
    char files[24];
    char connections[24];
    const struct blank blanks[] = {
        {"USER", c->owner != NULL ? "" : "#"},
        {"IPV6", c->ipv6 ? "" : "#"},
        {"PREFIXED", c->prefix[0] != '\0' ? "" : "#"},
        {"OFFLINE", c->offline ? "" : "#"},
        {"OWNER", c->owner != NULL ? c->owner : "nobody"},
        {"PORT", port},
        {"FILES", files},
        {"CONNECTIONS", connections},
        {"PREFIX", c->prefix},
        {"RUN", c->run_dir},
        {"SOCKETS", c->socket_dir},
        {"STATIC", c->static_dir},
        {NULL, NULL},
    };

    (void)snprintf(port, sizeof(port), "%d", c->port);
    (void)snprintf(files, sizeof(files), "%lld", (long long)c->max_files);
    (void)snprintf(connections, sizeof(connections), "%lld",
                   (long long)(c->max_files - FILES_SPARE));
    for (const struct blank *b = blanks; b->name != NULL; b++) {
        if (!text_fits(b->value)) {
            return RC_INVALID;
        }
    }
    fill(RUN_CONF, blanks, out);
    return buf_rc(out);
}
