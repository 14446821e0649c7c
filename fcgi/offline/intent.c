#include "fcgi/offline/intent.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "fcgi/offline/phrases.h"
#include "fcgi/offline/words.h"
#include "sql/base/arena.h"

#define SCRATCH_BYTES ((size_t)1024 * 1024)

/* --- clauses ----------------------------------------------------------------
 */

struct judge {
    struct arena *scratch;
    const char *const *subjects;
    size_t n_subjects;
};

static bool residue_is(const char *plain, const char *const *words)
{
    const char *p = plain;

    while (*p != '\0') {
        size_t n = strcspn(p, " "), i;
        for (i = 0; n > 0 && words[i] != NULL; i++) {
            if (strlen(words[i]) == n && strncmp(words[i], p, n) == 0) {
                break;
            }
        }
        if (n > 0 && words[i] == NULL) {
            return false;
        }
        p += n;
        p += *p == ' ' ? 1 : 0;
    }
    return true;
}

static bool in_subjects(const struct judge *j, uint32_t key)
{
    for (size_t k = 0; k < j->n_subjects; k++) {
        struct words t;
        if (words_split(j->scratch, j->subjects[k], strlen(j->subjects[k]),
                        &t) != RC_OK) {
            return false;
        }
        for (size_t i = 0; i < t.n; i++) {
            if (t.v[i].weight >= WORD_WEAK && t.v[i].key == key) {
                return true;
            }
        }
    }
    return false;
}

/* True if each word with meaning in plain is one of words or of a title. */
static bool says_only(const struct judge *j, const char *plain,
                      const char *const *words)
{
    struct words w;

    if (words_split(j->scratch, plain, strlen(plain), &w) != RC_OK) {
        return false;
    }
    for (size_t i = 0; i < w.n; i++) {
        bool known = w.v[i].weight < WORD_WEAK || w.v[i].cjk;
        for (size_t k = 0; !known && words[k] != NULL; k++) {
            known = words_is(plain, &w.v[i], words[k]);
        }
        known = known || in_subjects(j, w.v[i].key);
        if (!known) {
            return false;
        }
    }
    return true;
}

/* The plain text without what stands before its substance. */
struct lead {
    const char *rest; /* from the byte before it */
    bool also;
    bool polite; /* "could you": a command follows */
    bool can;    /* "can you": perhaps anyone */
};

static struct lead strip_lead(const char *plain)
{
    struct lead l = {.rest = plain};

    /* Each turn takes a phrase away; phrases are few. */
    for (int turns = 0; turns < 8 && l.rest[1] != '\0'; turns++) {
        size_t n = phrases_start(l.rest, phrases_also);

        l.also = l.also || n > 0;
        if (n == 0) {
            n = phrases_start(l.rest, phrases_filler);
        }
        if (n == 0) {
            n = phrases_start(l.rest, phrases_polite);
            l.polite = l.polite || n > 0;
            l.can = l.can || (n > 0 && strncmp(l.rest + 1, "can ", 4) == 0);
        }
        if (n == 0) {
            break;
        }
        /* A Chinese phrase has no space behind it. */
        l.rest += n + (l.rest[1 + n] == ' ' ? 1 : 0);
    }
    return l;
}

static bool starts_phrase(const struct lead *l, const char *const *list)
{
    return phrases_start(l->rest, list) > 0;
}

static bool is_stop(const struct judge *j, const struct lead *l,
                    const struct plain *p)
{
    const char *at = l->rest;
    size_t n = phrases_start(at, phrases_stop_verb);

    if (n == 0 || (p->asks && !l->polite)) {
        return false;
    }
    if ((unsigned char)at[1] >= 0x80) {
        /* Only a short command or one that names research. */
        return !phrases_has_any(p->text, phrases_cjk_asks) &&
               (p->len <= 24 ||
                phrases_has_any(p->text, phrases_the_research) ||
                phrases_has(p->text, "研究") || phrases_has(p->text, "调研"));
    }
    if (strncmp(at + 1, "forget", 6) == 0 || strncmp(at + 1, "never", 5) == 0) {
        return phrases_has_any(p->text, phrases_the_research);
    }
    return says_only(j, at + 1 + n, phrases_stop_object);
}

static bool is_status(const struct judge *j, const struct plain *p)
{
    if (!phrases_has_any(p->text, phrases_status_phrase)) {
        return false;
    }
    if (words_has_cjk(p->text, p->len)) {
        return p->len <= 48 || phrases_has(p->text, "研究") ||
               phrases_has(p->text, "调研");
    }
    return says_only(j, p->text, phrases_status_words);
}

static bool is_continue(const struct judge *j, const struct lead *l,
                        const struct plain *p)
{
    static const char *const words[] = {
        "continue", "resume",        "go",       "on",
        "carry",    "pick",          "up",       "keep",
        "going",    "researching",   "research", "report",
        "run",      "investigation", "left",     "off",
        "it",       "restart",       "stopped",  "ended",
        "last",     "earlier",       "previous", "first",
        "old",      "finished",      NULL,
    };

    if (!starts_phrase(l, phrases_continue_verb) || (p->asks && !l->polite)) {
        return false;
    }
    return phrases_has_any(p->text, phrases_the_research) ||
           phrases_has(p->text, "research") || phrases_has(p->text, "研究") ||
           says_only(j, p->text, words);
}

/* A question, whatever else it says. Polite commands are none. */
static bool is_question(const struct lead *l, const struct plain *p)
{
    if (l->polite) {
        return starts_phrase(l, phrases_tell_verb) ||
               starts_phrase(l, phrases_expound_verb);
    }
    return p->asks || starts_phrase(l, phrases_tell_verb) ||
           starts_phrase(l, phrases_interrogative) ||
           phrases_has_any(p->text, phrases_cjk_asks);
}

/* "Could the research also cover X?" */
static bool asks_research_to(const struct plain *p, const struct lead *l)
{
    static const char *const modal[] = {"can",  "could",  "would",
                                        "will", "should", NULL};
    static const char *const who[] = {"the research",
                                      "the report",
                                      "your research",
                                      "your report",
                                      "this research",
                                      "that research",
                                      NULL};
    size_t n = phrases_start(l->rest, modal);

    return n > 0 && phrases_start(l->rest + n + 1, who) > 0 &&
           phrases_has_any(p->text, phrases_change_verb);
}

/* "The report should cover X", "For the research: X". */
static bool speaks_of_research(const struct plain *p, const struct lead *l)
{
    static const char *const modal[] = {"should", "must",  "needs", "has to",
                                        "shall",  "ought", NULL};
    static const char *const to[] = {
        "for the research",
        "in the research",
        "to the research",
        "for the report",
        "in the report",
        "to the report",
        "for your research",
        "regarding the research",
        "for the background",
        "about the research",
        "in your report",
        "to your report",
        NULL,
    };

    return (starts_phrase(l, phrases_the_research) &&
            phrases_has_any(p->text, modal)) ||
           phrases_has_any(p->text, to) || phrases_has(p->text, "研究里") ||
           phrases_has(p->text, "报告里") || phrases_has(p->text, "报告中");
}

/* "DROP TABLE syntax" names something; it commands nothing. */
static bool keyword_first(const struct clause *c)
{
    return c->len > 1 && isupper((unsigned char)c->text[0]) &&
           isupper((unsigned char)c->text[1]);
}

static bool is_change(const struct lead *l, const struct plain *p,
                      const struct clause *c)
{
    static const char *const tails[] = {"as well", "too", "instead", "also",
                                        NULL};
    static const char *const harmless[] = {
        "don't worry", "don't bother", "do not worry", "don't mind", "not bad",
        "not yet",     "not really",   "don't know",   NULL,
    };

    bool more = l->also || (p->len < 120 && phrases_has_any(p->text, tails));

    if (starts_phrase(l, harmless) || p->len <= 4) {
        return false;
    }
    if (c->names_research && speaks_of_research(p, l)) {
        return true;
    }
    if (p->asks && l->can && !more && !c->names_research) {
        return false; /* "Can you add a column?" asks about the subject */
    }
    return more || (starts_phrase(l, phrases_change_verb) && !keyword_first(c));
}

static bool is_research(const struct lead *l, const struct plain *p)
{
    if (starts_phrase(l, phrases_research_verb)) {
        return true;
    }
    if (starts_phrase(l, phrases_interrogative)) {
        return false;
    }
    return phrases_has_any(p->text, phrases_thorough) &&
           (starts_phrase(l, phrases_tell_verb) ||
            starts_phrase(l, phrases_expound_verb) || l->polite ||
            phrases_has(p->text, "analyse") ||
            phrases_has(p->text, "analyze") ||
            phrases_has(p->text, "examine") || phrases_has(p->text, "review") ||
            phrases_has(p->text, "report"));
}

/* "Research: how does it work?" The word before the colon is a command,
 * whatever follows it. */
static bool is_labelled(const struct clause *c)
{
    static const char *const labels[] = {"research",      "background research",
                                         "deep research", "研究",
                                         "调研",          NULL};

    for (size_t i = 0; labels[i] != NULL; i++) {
        size_t n = strlen(labels[i]);

        if (c->len > n && strncasecmp(c->text, labels[i], n) == 0 &&
            (c->text[n] == ':' || strncmp(c->text + n, "：", 3) == 0)) {
            return true;
        }
    }
    return false;
}

static enum intent_kind kind_of(const struct judge *j, const struct clause *c,
                                const struct plain *p)
{
    struct lead l = strip_lead(p->text);
    bool asks = is_question(&l, p);

    if (is_labelled(c)) {
        return INTENT_RESEARCH;
    }
    if (residue_is(p->text, phrases_smalltalk) ||
        phrases_start(p->text, phrases_smalltalk) + 2 >= p->len) {
        return INTENT_SMALLTALK;
    }
    if (is_stop(j, &l, p)) {
        return INTENT_STOP;
    }
    if (is_status(j, p)) {
        return INTENT_STATUS;
    }
    if (is_continue(j, &l, p)) {
        return INTENT_CONTINUE;
    }
    if (starts_phrase(&l, phrases_reply_phrase)) {
        return INTENT_REPLY;
    }
    if (asks_research_to(p, &l)) {
        return INTENT_CHANGE;
    }
    if (asks && !phrases_has_any(p->text, phrases_thorough)) {
        return INTENT_QUESTION;
    }
    if (is_research(&l, p)) {
        return INTENT_RESEARCH;
    }
    if (asks || (starts_phrase(&l, phrases_expound_verb) && !l.also &&
                 !c->names_research)) {
        return INTENT_QUESTION;
    }
    return is_change(&l, p, c) ? INTENT_CHANGE : INTENT_STATEMENT;
}

static void judge_clause(const struct judge *j, struct clause *c)
{
    static const char *const all[] = {"all",  "both", "everything", "every",
                                      "全部", "所有", "都",         NULL};
    struct plain p;

    phrases_plain(c->text, c->len, &p);
    c->names_research = phrases_has_any(p.text, phrases_the_research);
    c->adds = phrases_has_any(p.text, phrases_adding) || c->names_research;
    c->all = phrases_has_any(p.text, all);
    c->deep = phrases_has_any(p.text, phrases_deep);
    c->kind = kind_of(j, c, &p);
}

/* Where a second command begins inside a sentence: ", and also add X". */
static size_t second_command(const char *s, size_t len)
{
    static const char *const joints[] = {
        ", and please ",
        ", and also ",
        " and please ",
        ", please ",
        ", and stop ",
        ", and add ",
        ", and include ",
        " and add ",
        " and stop the ",
        "; ",
        ", but stop ",
        ", also add ",
        ", also include ",
        " and also add ",
        " and also include ",
        ", then stop ",
        " and then stop ",
        "；",
        NULL,
    };
    size_t best = 0;

    for (size_t k = 0; joints[k] != NULL; k++) {
        size_t n = strlen(joints[k]);
        for (size_t i = 1; i + n < len; i++) {
            if (strncasecmp(s + i, joints[k], n) == 0) {
                best = best == 0 || i < best ? i : best;
                break;
            }
        }
    }
    return best;
}

/* The next clause of a message: up to a mark that ends a sentence. */
static size_t clause_end(const char *s)
{
    static const char *const wide[] = {"。", "？", "！", NULL};

    for (size_t i = 0; s[i] != '\0'; i++) {
        if (s[i] == '\n') {
            return i + 1;
        }
        if (strchr(".!?", s[i]) != NULL &&
            (s[i + 1] == '\0' || isspace((unsigned char)s[i + 1]))) {
            return i + 1;
        }
        for (size_t k = 0; wide[k] != NULL; k++) {
            if (strncmp(s + i, wide[k], strlen(wide[k])) == 0) {
                return i + strlen(wide[k]);
            }
        }
    }
    return strlen(s);
}

static void add_clause(struct intent *out, const char *s, size_t len)
{
    while (len > 0 && (isspace((unsigned char)*s) || *s == ',' || *s == ';')) {
        s++;
        len--;
    }
    while (len > 0 && isspace((unsigned char)s[len - 1])) {
        len--;
    }
    if (len > 0 && out->n < INTENT_MAX_CLAUSES) {
        out->v[out->n++] = (struct clause){.text = s, .len = len};
    }
}

enum rc intent_read(const char *message, const char *const *subjects,
                    size_t n_subjects, struct intent *out)
{
    struct judge j = {.scratch = arena_new(SCRATCH_BYTES),
                      .subjects = subjects,
                      .n_subjects = n_subjects};

    if (j.scratch == NULL) {
        return RC_NOMEM;
    }
    *out = (struct intent){.n = 0};
    while (*message != '\0' && out->n < INTENT_MAX_CLAUSES) {
        size_t len = clause_end(message), second;

        second = second_command(message, len);
        if (second > 0) {
            add_clause(out, message, second);
            add_clause(out, message + second, len - second);
        } else {
            add_clause(out, message, len);
        }
        message += len;
    }
    for (size_t i = 0; i < out->n; i++) {
        arena_reset(j.scratch);
        judge_clause(&j, &out->v[i]);
    }
    arena_free(j.scratch);
    return RC_OK;
}

/* --- what to research --------------------------------------------------------
 */

/* Skip a phrase of list at s, case ignored, with what parts it from the rest.
 */
static size_t skip_phrase(const char *s, size_t len, const char *const *list)
{
    size_t best = 0;

    for (; *list != NULL; list++) {
        size_t n = strlen(*list);
        bool wide = (unsigned char)(*list)[0] >= 0x80;
        if (n > best && n <= len && strncasecmp(s, *list, n) == 0 &&
            (wide || n == len || !isalnum((unsigned char)s[n]))) {
            best = n;
        }
    }
    while (best > 0 && best < len &&
           (isspace((unsigned char)s[best]) || strchr(",:;-", s[best]))) {
        best++;
    }
    return best;
}

const char *intent_substance(const char *text, size_t *len)
{
    static const char *const link[] = {
        "on",         "about",        "of",        "into",
        "for",        "the question", "the topic", "how it comes that",
        "一下",       "关于",         "in depth",  "in the background",
        "thoroughly", "whether and",  NULL,
    };
    static const char *const tail[] = {
        " in depth",  " in-depth",        " thoroughly",
        " in detail", " please",          " in the background",
        " for me",    " in great detail", " deeply",
        NULL,
    };
    size_t n = *len, skip;

    for (int turns = 0; turns < 10 && n > 0; turns++) {
        skip = skip_phrase(text, n, phrases_filler);
        skip = skip > 0 ? skip : skip_phrase(text, n, phrases_polite);
        skip = skip > 0 ? skip : skip_phrase(text, n, phrases_also);
        skip = skip > 0 ? skip : skip_phrase(text, n, phrases_research_verb);
        skip = skip > 0 ? skip : (turns > 0 ? skip_phrase(text, n, link) : 0);
        if (skip == 0) {
            break;
        }
        text += skip;
        n -= skip;
    }
    while (n > 0 && strchr(" \t\r\n.!", text[n - 1]) != NULL) {
        n--;
    }
    for (size_t k = 0; tail[k] != NULL; k++) {
        size_t m = strlen(tail[k]);
        if (n > m && strncasecmp(text + n - m, tail[k], m) == 0) {
            n -= m;
            k = (size_t)-1;
        }
    }
    *len = n;
    return text;
}
