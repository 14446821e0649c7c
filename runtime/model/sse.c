#include "runtime/model/sse.h"

#include <string.h>

void sse_init(struct sse *s, size_t line_max_bytes, sse_event_fn *event,
              void *ctx)
{
    *s = (struct sse){.event = event, .ctx = ctx};
    buf_init(&s->line, line_max_bytes);
    buf_init(&s->data, line_max_bytes);
}

void sse_free(struct sse *s)
{
    buf_free(&s->line);
    buf_free(&s->data);
}

/* An empty line, or the end of the body. */
static void tell_event(struct sse *s, bool torn)
{
    struct sse_event e = {.name = s->name, .torn = torn};

    if (!torn) {
        memcpy(s->last_id, s->id, sizeof(s->last_id));
    }
    if (s->data.len > 0) {
        /* Each data line has put a LF behind itself. */
        s->data.data[--s->data.len] = '\0';
    }
    if (s->data.len > 0) {
        e.data = s->data.data;
        e.len = s->data.len;
        if (!s->event(s->ctx, &e)) {
            s->stopped = true;
        }
    }
    buf_clear(&s->data);
    s->name[0] = '\0';
}

static void set_name(struct sse *s, const char *name, size_t len)
{
    if (len < sizeof(s->name)) {
        memcpy(s->name, name, len);
        s->name[len] = '\0';
    }
}

/* What is too long, or no text, is none. */
static void set_id(struct sse *s, const char *id, size_t len)
{
    if (len < sizeof(s->id) && memchr(id, '\0', len) == NULL) {
        memcpy(s->id, id, len);
        s->id[len] = '\0';
    } else {
        s->id[0] = '\0';
    }
}

static bool is_field(const char *line, size_t len, const char *name)
{
    return len == strlen(name) && memcmp(line, name, len) == 0;
}

static void add_data(struct sse *s, const char *value, size_t len)
{
    buf_add(&s->data, value, len);
    buf_putc(&s->data, '\n');
}

static void read_line(struct sse *s, bool torn)
{
    const char *line = buf_str(&s->line);
    size_t len = s->line.len;
    const char *colon = memchr(line, ':', len);
    size_t name_len = colon == NULL ? len : (size_t)(colon - line);
    const char *value = line + name_len;
    size_t value_len;

    if (len == 0) {
        tell_event(s, torn);
        return;
    }
    if (colon != NULL) {
        value++;
    }
    if (value < line + len && *value == ' ') {
        value++;
    }
    value_len = len - (size_t)(value - line);
    if (is_field(line, name_len, "data")) {
        add_data(s, value, value_len);
    } else if (is_field(line, name_len, "event")) {
        set_name(s, value, value_len);
    } else if (is_field(line, name_len, "id")) {
        set_id(s, value, value_len);
    } else if (is_field(line, name_len, "error")) {
        set_name(s, "error", 5);
        add_data(s, value, value_len);
    }
    buf_clear(&s->line);
}

static enum rc kept_rc(const struct sse *s)
{
    enum rc rc = buf_rc(&s->line);

    return rc != RC_OK ? rc : buf_rc(&s->data);
}

/* Length of the piece of a line at bytes[0..len). */
static size_t line_piece(const char *bytes, size_t len)
{
    const char *lf = memchr(bytes, '\n', len);
    const char *cr;

    if (lf != NULL) {
        len = (size_t)(lf - bytes);
    }
    cr = memchr(bytes, '\r', len);
    return cr != NULL ? (size_t)(cr - bytes) : len;
}

enum rc sse_feed(struct sse *s, const char *bytes, size_t len)
{
    enum rc rc = kept_rc(s);
    size_t at = 0;

    while (at < len && rc == RC_OK && !s->stopped) {
        size_t n;

        if (s->after_cr && bytes[at] == '\n') {
            s->after_cr = false;
            at++;
            continue;
        }
        s->after_cr = false;
        n = line_piece(bytes + at, len - at);
        buf_add(&s->line, bytes + at, n);
        at += n;
        rc = kept_rc(s);
        if (at < len && rc == RC_OK) {
            s->after_cr = bytes[at] == '\r';
            at++;
            read_line(s, false);
            rc = kept_rc(s);
        }
    }
    if (rc != RC_OK) {
        s->stopped = true;
    }
    return rc;
}

enum rc sse_end(struct sse *s)
{
    if (!s->stopped && s->line.len > 0) {
        read_line(s, true);
    }
    if (!s->stopped && kept_rc(s) == RC_OK) {
        tell_event(s, true);
        s->stopped = true;
    }
    return kept_rc(s);
}
