/* report.c - a report, a draft or a note is written of what was chosen. */
#include "fcgi/offline/report_inside.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "fcgi/offline/extract.h"
#include "fcgi/offline/quote.h"
#include "fcgi/offline/say.h"
#include "sql/base/json.h"

#define NOTE_LINES  6
#define TITLE_BYTES 160

static void put_heading(struct buf *out, const char *mark, const char *text)
{
    size_t at;

    buf_puts(out, out->len > 0 ? "\n\n" : "");
    buf_puts(out, mark);
    at = out->len;
    quote_plain(out, text, strlen(text), TITLE_BYTES);
    if (out->len > at && islower((unsigned char)out->data[at])) {
        out->data[at] = (char)toupper((unsigned char)out->data[at]);
    }
}

static void put_summary(struct making *m, struct buf *out)
{
    bool any = false;

    for (size_t k = 0; k < m->n_sections; k++) {
        const struct section *s = &m->sections[k];
        for (size_t i = 0; i < s->n; i++) {
            if (!s->promoted[i]) {
                continue;
            }
            if (!any) {
                buf_puts(out, "\n\n**");
                say_put(out, m->chinese, SAY_SUMMARY, NULL, NULL, NULL);
                buf_puts(out, "**\n");
                any = true;
            }
            buf_puts(out, "\n- ");
            quote_sentence(out, s->picks[i]);
        }
    }
}

static bool room(const struct making *m, const struct buf *out)
{
    return out->len < m->order->max_bytes;
}

static void put_group(struct making *m, const struct section *s, enum side side,
                      struct buf *out)
{
    bool any = false;

    for (size_t i = 0; i < s->n && room(m, out); i++) {
        if (s->side[i] != side || s->promoted[i]) {
            continue;
        }
        if (!any) {
            buf_puts(out, "\n");
        }
        any = true;
        buf_puts(out, "\n- ");
        quote_sentence(out, s->picks[i]);
    }
}

static void put_side_name(struct making *m, enum side side, struct buf *out)
{
    buf_puts(out, "\n\n**");
    switch (side) {
    case SIDE_FIRST:
    case SIDE_SECOND: {
        const char *name = m->sides[side == SIDE_FIRST ? 0 : 1];
        size_t at = out->len;
        quote_plain(out, name, strlen(name), TITLE_BYTES);
        if (out->len > at) {
            out->data[at] = (char)toupper((unsigned char)out->data[at]);
        }
        break;
    }
    case SIDE_BOTH:
        say_put(out, m->chinese, SAY_BOTH, m->sides[0], m->sides[1], NULL);
        break;
    case SIDE_NONE:
    case SIDE__MAX:
        say_put(out, m->chinese, SAY_IN_GENERAL, NULL, NULL, NULL);
        break;
    }
    buf_puts(out, "**");
}

static bool shows(const struct section *s, enum side side)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->side[i] == side && !s->promoted[i]) {
            return true;
        }
    }
    return false;
}

static void put_section(struct making *m, const struct section *s,
                        struct buf *out)
{
    static const enum side order[] = {SIDE_BOTH, SIDE_FIRST, SIDE_SECOND,
                                      SIDE_NONE};
    const struct scene_requirement *of = m->order->aims[s->aim].of;

    put_heading(out, "## ", s->title);
    if (of->kind == SCENE_ADJUSTMENT) {
        struct buf text;
        buf_init(&text, 1024);
        quote_plain(&text, of->text, strlen(of->text), TITLE_BYTES);
        buf_puts(out, "\n\n*");
        say_put(out, m->chinese, SAY_ADJUSTED, buf_str(&text), NULL, NULL);
        buf_puts(out, "*");
        buf_free(&text);
    }
    if (s->n == 0) {
        buf_puts(out, "\n\n");
        say_put(out, m->chinese, SAY_NONE_ON, s->title, NULL, NULL);
        return;
    }
    for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
        if (!shows(s, order[i]) || !room(m, out)) {
            continue;
        }
        if (m->sides[0] != NULL && !s->by_page) {
            put_side_name(m, order[i], out);
        }
        put_group(m, s, order[i], out);
    }
}

/* Words of a requirement that stand nowhere in what was found. */
static enum rc put_unknown(struct making *m, size_t aim, struct buf *out)
{
    struct query q = {.n = 0};
    enum rc rc = report_words(m, m->order->aims[aim].topic.text, 1, &q);

    for (size_t i = 0; rc == RC_OK && i < q.n; i++) {
        const struct query_term *t = &q.v[i];
        if (t->weight >= 1 && !t->cjk && !extract_known(&m->corpus, t)) {
            buf_puts(out, out->len > 0 ? ", " : "");
            quote_plain(out, t->text, t->len, 60);
        }
    }
    return rc;
}

static void put_gap(struct making *m, struct buf *gaps, enum say what,
                    const char *one, const char *two)
{
    buf_puts(gaps, "\n- ");
    say_put(gaps, m->chinese, what, one, two, NULL);
}

static enum rc put_gaps(struct making *m, struct buf *out)
{
    struct buf gaps, words;
    enum rc rc = RC_OK;

    buf_init(&gaps, REPORT_MAX_BYTES);
    buf_init(&words, 2048);
    for (size_t k = 0; k < m->n_sections; k++) {
        const struct section *s = &m->sections[k];
        size_t both = report_count_side(s, SIDE_BOTH);
        if (s->n == 0) {
            put_gap(m, &gaps, SAY_NONE_ON, s->title, NULL);
            continue;
        }
        for (int i = 0; i < 2 && m->sides[i] != NULL && !s->by_page; i++) {
            enum side side = i == 0 ? SIDE_FIRST : SIDE_SECOND;
            bool itself = s->title == m->sides[0] || s->title == m->sides[1];
            if (!itself && both + report_count_side(s, side) == 0) {
                put_gap(m, &gaps, SAY_NONE_ON_SIDE, s->title, m->sides[i]);
            }
        }
    }
    for (size_t i = 0; i < m->order->n_aims && rc == RC_OK; i++) {
        buf_clear(&words);
        rc = m->order->aims[i].echo ? RC_OK : put_unknown(m, i, &words);
        if (words.len > 0) {
            put_gap(m, &gaps, SAY_NOT_MENTIONED, buf_str(&words), NULL);
        }
    }
    if (gaps.len > 0) {
        buf_puts(out, "\n\n## ");
        say_put(out, m->chinese, SAY_GAPS, NULL, NULL, NULL);
        buf_puts(out, "\n");
        buf_add(out, gaps.data, gaps.len);
    }
    buf_free(&words);
    buf_free(&gaps);
    return rc;
}

static void put_method(struct making *m, struct buf *out)
{
    char passages[24], pages[24];

    report_count_sources(m, SIZE_MAX, passages, pages);
    buf_puts(out, "\n\n*");
    if (m->order->scene->n_passages == 0) {
        say_put(out, m->chinese, SAY_NOT_SEARCHED, NULL, NULL, NULL);
    } else {
        say_put(out, m->chinese, SAY_METHOD, passages, pages, NULL);
    }
    buf_puts(out, "*\n");
}

static enum rc write_report(struct making *m, struct buf *out)
{
    enum rc rc;

    put_heading(out, "# ", m->order->aims[0].topic.text);
    if (m->order->assumed[0] != '\0') {
        struct buf text;
        buf_init(&text, 1024);
        quote_plain(&text, m->order->assumed, strlen(m->order->assumed),
                    TITLE_BYTES);
        buf_puts(out, "\n\n");
        say_put(out, m->chinese, SAY_ASSUMED, buf_str(&text), NULL, NULL);
        buf_free(&text);
    }
    put_summary(m, out);
    for (size_t k = 0; k < m->n_sections; k++) {
        put_section(m, &m->sections[k], out);
    }
    rc = put_gaps(m, out);
    put_method(m, out);
    return rc == RC_OK ? buf_rc(out) : rc;
}

/* --- the products
 * ------------------------------------------------------------------- */

static struct making *begin(struct arena *a, const struct report_order *o)
{
    struct making *m = arena_alloc(a, sizeof(*m));

    if (m != NULL) {
        m->a = a;
        m->order = o;
        m->chinese = o->scene->chinese;
    }
    return m;
}

/* A report as arguments, with or without what it covers. */
static enum rc put_report(struct arena *a, const struct report_order *o,
                          bool covers, struct buf *out)
{
    struct making *m = begin(a, o);
    struct json_out j;
    struct buf report;
    enum rc rc = m == NULL ? RC_NOMEM : report_choose(m);

    if (rc != RC_OK) {
        return rc;
    }
    buf_init(&report, (size_t)4 * REPORT_MAX_BYTES);
    rc = write_report(m, &report);
    if (rc == RC_OK) {
        json_begin(&j, out);
        json_open_object(&j);
        json_kstr(&j, "report", buf_str(&report));
        if (covers) {
            report_coverage(m, &j);
        }
        json_close_object(&j);
        rc = json_end(&j);
    }
    buf_free(&report);
    return rc;
}

enum rc report_deliver(struct arena *a, const struct report_order *o,
                       struct buf *out)
{
    return put_report(a, o, true, out);
}

enum rc report_draft(struct arena *a, const struct report_order *o,
                     struct buf *out)
{
    return put_report(a, o, false, out);
}

enum rc report_note(struct arena *a, const struct report_order *o,
                    struct buf *out)
{
    struct making *m = begin(a, o);
    enum rc rc = m == NULL ? RC_NOMEM : report_choose(m);
    size_t lines = 0;

    for (size_t turn = 0; rc == RC_OK && turn < EXTRACT_MAX_PICKS; turn++) {
        for (size_t k = 0; k < m->n_sections && lines < NOTE_LINES; k++) {
            const struct section *s = &m->sections[k];
            const char *line;
            if (turn >= s->n) {
                continue;
            }
            line = scene_note_line(a, s->picks[turn]->from,
                                   s->picks[turn]->text, s->picks[turn]->len);
            if (line == NULL) {
                return RC_NOMEM;
            }
            buf_puts(out, lines > 0 ? "\n" : "");
            buf_puts(out, line);
            lines++;
        }
    }
    return rc == RC_OK ? buf_rc(out) : rc;
}
