/* report_coverage.c - how far a report covers what was asked. */
#include "fcgi/offline/report_inside.h"

#include <stdio.h>
#include <string.h>

#include "fcgi/offline/answer.h"
#include "fcgi/offline/quote.h"
#include "fcgi/offline/say.h"

enum status { STATUS_COVERED = 0, STATUS_PARTIAL, STATUS_NOT_COVERED };

/* All that was quoted for one requirement, or for all (SIZE_MAX). */
void report_count_sources(const struct making *m, size_t aim, char passages[24],
                          char pages[24])
{
    struct sentence *all[REPORT_MAX_SECTIONS * EXTRACT_MAX_PICKS];
    size_t n = 0, distinct = 0;
    struct buf unused;

    for (size_t k = 0; k < m->n_sections; k++) {
        const struct section *s = &m->sections[k];
        for (size_t i = 0; (aim == SIZE_MAX || s->aim == aim) && i < s->n;
             i++) {
            all[n++] = s->picks[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++) {
            seen = seen || all[k]->from == all[i]->from;
        }
        distinct += seen ? 0 : 1;
    }
    buf_init(&unused, 16);
    snprintf(passages, 24, "%zu", distinct);
    snprintf(pages, 24, "%zu", answer_pages(&unused, all, n, 0));
    buf_free(&unused);
}

/* Judged by what was found: each part needs a sentence with its words, each
 * side of a comparison a sentence somewhere. missing gets what lacks. */
static enum status judge(const struct making *m, size_t aim,
                         struct buf *missing)
{
    size_t sections = 0, strong = 0, quotes = 0, side[2] = {0, 0};
    const char *first = m->order->aims[aim].topic.side[0];
    bool compares = first != NULL && first == m->sides[0];

    for (size_t k = 0; k < m->n_sections; k++) {
        const struct section *s = &m->sections[k];
        if (s->aim != aim) {
            continue;
        }
        sections++;
        quotes += s->n;
        strong += s->strong ? 1 : 0;
        side[0] +=
            report_count_side(s, SIDE_FIRST) + report_count_side(s, SIDE_BOTH);
        side[1] +=
            report_count_side(s, SIDE_SECOND) + report_count_side(s, SIDE_BOTH);
        if (!s->strong) {
            buf_puts(missing, missing->len > 0 ? ", " : "");
            quote_plain(missing, s->title, strlen(s->title), 100);
        }
    }
    for (int i = 0; i < 2 && compares; i++) {
        if (side[i] == 0) {
            buf_puts(missing, missing->len > 0 ? ", " : "");
            quote_plain(missing, m->sides[i], strlen(m->sides[i]), 100);
        }
    }
    if (quotes == 0 || m->relevance[aim] < REPORT_HALF_RELEVANT) {
        return STATUS_NOT_COVERED;
    }
    return strong == sections && missing->len == 0 &&
                   m->relevance[aim] >= REPORT_RELEVANT
               ? STATUS_COVERED
               : STATUS_PARTIAL;
}

static void put_note(struct making *m, size_t aim, enum status status,
                     struct buf *missing, struct buf *out)
{
    const char *text = m->order->aims[aim].topic.text;
    char passages[24], pages[24];

    if (status != STATUS_COVERED && missing->len == 0) {
        const char *terms = topic_terms(m->a, text, strlen(text));
        terms = terms == NULL || terms[0] == '\0' ? text : terms;
        quote_plain(missing, terms, strlen(terms), 200);
    }
    switch (status) {
    case STATUS_COVERED:
        report_count_sources(m, aim, passages, pages);
        say_put(out, m->chinese, SAY_NOTE_COVERED, passages, pages, NULL);
        break;
    case STATUS_PARTIAL:
        say_put(out, m->chinese, SAY_NOTE_PARTIAL, buf_str(missing), NULL,
                NULL);
        break;
    case STATUS_NOT_COVERED:
        say_put(out, m->chinese, SAY_NOTE_MISSING, buf_str(missing), NULL,
                NULL);
        break;
    }
}

/* Each passage that was quoted for it, once. */
static void put_evidence(const struct making *m, size_t aim, struct json_out *j)
{
    const struct passage *seen[REPORT_MAX_SECTIONS * EXTRACT_MAX_PICKS];
    size_t n = 0;

    json_key(j, "sources");
    json_open_array(j);
    for (size_t k = 0; k < m->n_sections; k++) {
        const struct section *s = &m->sections[k];

        for (size_t i = 0; s->aim == aim && i < s->n; i++) {
            const struct passage *from = s->picks[i]->from;
            size_t at = 0;

            while (at < n && seen[at] != from) {
                at++;
            }
            if (at == n) {
                seen[n++] = from;
                json_put_i64(j, from->n);
            }
        }
    }
    json_close_array(j);
}

void report_coverage(struct making *m, struct json_out *j)
{
    static const char *const names[] = {"covered", "partial", "not_covered"};

    json_key(j, "coverage");
    json_open_array(j);
    for (size_t i = 0; i < m->order->n_aims; i++) {
        struct buf missing, text;
        enum status status;
        size_t of;

        buf_init(&missing, 2048);
        buf_init(&text, 4096);
        of = m->order->aims[i].echo ? 0 : i;
        status = judge(m, of, &missing);
        put_note(m, of, status, &missing, &text);
        json_open_object(j);
        json_kstr(j, "id", m->order->aims[i].of->id);
        json_kstr(j, "status", names[status]);
        json_kstr(j, "note", buf_str(&text));
        put_evidence(m, of, j);
        json_close_object(j);
        buf_free(&missing);
        buf_free(&text);
    }
    json_close_array(j);
}
