#include "fcgi/offline/words.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/base/utf8.h"

#define STEM_MAX_BYTES 48 /* longer words are compared by these first bytes */
#define NO_CHAR        0xFFFDu

/* Sorted, for bsearch. */
static const char *const STOP[] = {
    "a",         "about",   "above",      "additionally",
    "after",     "again",   "against",    "all",
    "almost",    "already", "also",       "am",
    "among",     "an",      "and",        "another",
    "any",       "are",     "aren't",     "as",
    "at",        "be",      "because",    "been",
    "before",    "being",   "below",      "besides",
    "between",   "both",    "but",        "by",
    "can",       "can't",   "cannot",     "could",
    "did",       "didn't",  "do",         "does",
    "doesn't",   "doing",   "don't",      "done",
    "down",      "during",  "each",       "either",
    "else",      "ever",    "every",      "few",
    "for",       "from",    "further",    "furthermore",
    "get",       "gets",    "getting",    "give",
    "gives",     "go",      "goes",       "got",
    "had",       "has",     "have",       "having",
    "he",        "hello",   "her",        "here",
    "hers",      "hey",     "hi",         "him",
    "his",       "how",     "i",          "i'd",
    "i'll",      "i'm",     "i've",       "if",
    "in",        "instead", "interested", "into",
    "is",        "isn't",   "it",         "it's",
    "its",       "itself",  "just",       "know",
    "let",       "let's",   "like",       "many",
    "may",       "me",      "might",      "more",
    "moreover",  "most",    "much",       "must",
    "my",        "need",    "needs",      "neither",
    "no",        "nor",     "not",        "now",
    "of",        "off",     "ok",         "okay",
    "on",        "once",    "one",        "only",
    "onto",      "or",      "other",      "others",
    "ought",     "our",     "out",        "over",
    "own",       "per",     "please",     "put",
    "quite",     "rather",  "really",     "regard",
    "regarding", "respect", "s",          "said",
    "same",      "say",     "says",       "see",
    "shall",     "she",     "should",     "since",
    "so",        "some",    "someone",    "something",
    "still",     "such",    "t",          "take",
    "takes",     "tell",    "terms",      "than",
    "thank",     "thanks",  "that",       "that's",
    "the",       "their",   "them",       "then",
    "there",     "these",   "they",       "thing",
    "things",    "this",    "those",      "though",
    "through",   "thus",    "to",         "too",
    "toward",    "towards", "under",      "until",
    "up",        "upon",    "us",         "very",
    "want",      "wanted",  "was",        "wasn't",
    "we",        "well",    "were",       "what",
    "what's",    "when",    "whenever",   "where",
    "whether",   "which",   "while",      "who",
    "whom",      "whose",   "why",        "will",
    "with",      "within",  "without",    "won't",
    "would",     "yes",     "yet",        "you",
    "your",      "yours",
};

/* What one does with a subject, or how it acts: they part two noun phrases. */
static const char *const VERB[] = {
    "add",         "affect",      "affected",      "affects",   "analyse",
    "analyze",     "become",      "becomes",       "behave",    "behaves",
    "broaden",     "cause",       "causes",        "change",    "changed",
    "changes",     "choose",      "compare",       "compared",  "compares",
    "comparing",   "concentrate", "concerning",    "consider",  "continue",
    "continues",   "contrast",    "contrasted",    "cover",     "covers",
    "deepen",      "define",      "describe",      "differ",    "difference",
    "differences", "differs",     "discuss",       "discusses", "emphasise",
    "emphasize",   "examine",     "exclude",       "expand",    "explain",
    "explains",    "extend",      "find",          "focus",     "happen",
    "happens",     "help",        "helps",         "include",   "includes",
    "including",   "investigate", "investigating", "look",      "make",
    "makes",       "making",      "mean",          "means",     "mention",
    "narrow",      "prefer",      "relate",        "relates",   "research",
    "restrict",    "resume",      "show",          "shows",     "study",
    "summarise",   "summarize",   "understand",    "use",       "used",
    "uses",        "using",       "versus",        "vs",        "work",
    "working",     "works",       "write",
};

static const char *const WEAK[] = {
    "answer",      "approach",  "aspect",      "aspects",      "behavior",
    "behaviour",   "best",      "better",      "case",         "cases",
    "chapter",     "common",    "comparison",  "depth",        "detail",
    "detailed",    "details",   "different",   "document",     "documentation",
    "documents",   "earlier",   "effect",      "effects",      "exactly",
    "example",     "examples",  "feature",     "features",     "general",
    "good",        "impact",    "implication", "implications", "important",
    "information", "kind",      "kinds",       "later",        "library",
    "long",        "main",      "mode",        "modes",        "new",
    "overview",    "paragraph", "part",        "parts",        "possible",
    "question",    "questions", "reason",      "relevant",     "report",
    "role",        "section",   "sections",    "sentence",     "short",
    "specific",    "subject",   "summary",     "topic",        "type",
    "types",       "various",   "way",         "ways",
};

/* Words of questions and wishes in Chinese: cut out before characters are
 * paired. Longer ones first. */
static const char *const CJK_STOP[] = {
    "为什么", "怎么样", "怎么办", "有哪些", "是什么", "能不能", "可不可以",
    "什么",   "怎么",   "怎样",   "如何",   "为何",   "哪些",   "哪个",
    "哪里",   "多少",   "是否",   "可以",   "能否",   "请问",   "一下",
    "这个",   "那个",   "这些",   "那些",   "关于",   "以及",   "还有",
    "并且",   "或者",   "之间",   "告诉",   "解释",   "说明",   "介绍",
    "比较",   "对比",   "区别",   "不同",   "研究",   "调研",   "深入",
    "也",     "的",     "了",     "吗",     "呢",     "吧",     "啊",
    "是",     "在",     "有",     "和",     "与",     "或",     "及",
    "请",     "我",     "你",     "它",     "他",     "这",     "那",
    "把",     "被",     "就",     "都",     "很",     "会",     "要",
    "对",     "从",     "到",     "让",     "给",     "用",
};

struct ending {
    const char *from;
    const char *to;
    size_t keep; /* letters that must stand before it */
};

/* Longest first where one is the end of another. */
static const struct ending ENDINGS[] = {
    {"abilities", "abl", 3},
    {"ability", "abl", 3},
    {"ibility", "ibl", 3},
    {"izations", "iz", 3},
    {"ization", "iz", 3},
    {"isation", "iz", 3},
    {"ations", "at", 3},
    {"ation", "at", 3},
    {"encies", "ent", 4},
    {"ences", "ent", 4},
    {"ency", "ent", 4},
    {"ence", "ent", 4},
    {"ances", "ant", 4},
    {"ancy", "ant", 4},
    {"ance", "ant", 4},
    {"iness", "y", 3},
    {"ness", "", 4},
    {"ingly", "", 4},
    {"edly", "", 4},
    {"ally", "al", 3},
    {"ably", "abl", 3},
    {"ly", "", 4},
    {"ings", "", 3},
    {"ing", "", 3},
    {"ies", "y", 2},
    {"ied", "y", 2},
    {"eed", "eed", 1},
    {"ed", "", 3},
    {"sses", "ss", 1},
    {"shes", "sh", 1},
    {"ches", "ch", 1},
    {"xes", "x", 1},
    {"ss", "ss", 1},
    {"us", "us", 1},
    {"is", "is", 1},
    {"es", "e", 2},
    {"s", "", 3},
};

static bool is_cjk(uint32_t c)
{
    return (c >= 0x3040 && c <= 0x30FF) || (c >= 0x3400 && c <= 0x4DBF) ||
           (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0xF900 && c <= 0xFAFF) ||
           (c >= 0x20000 && c <= 0x3FFFF);
}

/* Letters beyond ASCII: everything but spaces, punctuation and symbols. */
static bool is_letter_beyond(uint32_t c)
{
    if (c < 0xC0 || c == 0xD7 || c == 0xF7 || c == NO_CHAR) {
        return false;
    }
    return !(c >= 0x2000 && c <= 0x2BFF) && !(c >= 0x3000 && c <= 0x303F) &&
           !(c >= 0xFF00 && c <= 0xFF20);
}

static bool is_word_char(uint32_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z') || c == '_' || is_letter_beyond(c);
}

/* Decode the code point at text[*at], move *at behind it. Ill-formed bytes
 * come out one by one as U+FFFD. */
static uint32_t next_char(const char *text, size_t len, size_t *at)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text + *at;
    size_t left = len - *at;
    size_t n = s[0] < 0x80   ? 1
               : s[0] < 0xC2 ? 0
               : s[0] < 0xE0 ? 2
               : s[0] < 0xF0 ? 3
               : s[0] < 0xF5 ? 4
                             : 0;
    uint32_t c;

    if (n == 0 || n > left) {
        (*at)++;
        return NO_CHAR;
    }
    c = n == 1 ? s[0] : s[0] & (0xFFu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80) {
            (*at)++;
            return NO_CHAR;
        }
        c = c << 6 | (s[i] & 0x3Fu);
    }
    *at += n;
    return c < least[n] ? NO_CHAR : c;
}

int words_clip(const char *text, int max)
{
    return (int)utf8_clip(text, strlen(text), (size_t)max);
}

bool words_has_cjk(const char *text, size_t len)
{
    size_t at = 0;

    while (at < len) {
        if (is_cjk(next_char(text, len, &at))) {
            return true;
        }
    }
    return false;
}

static uint32_t hash(const char *s, size_t len)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < len; i++) {
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    }
    return h;
}

static bool has_vowel(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (strchr("aeiouy", s[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Replace the first ending that fits; the length of what remains. */
static size_t cut_ending(char *s, size_t len)
{
    for (size_t i = 0; i < sizeof(ENDINGS) / sizeof(*ENDINGS); i++) {
        const struct ending *e = &ENDINGS[i];
        size_t n = strlen(e->from), stem;

        if (len < n + e->keep || memcmp(s + len - n, e->from, n) != 0) {
            continue;
        }
        stem = len - n;
        if (e->to[0] == '\0' && !has_vowel(s, stem)) {
            continue;
        }
        memcpy(s + stem, e->to, strlen(e->to));
        return stem + strlen(e->to);
    }
    return len;
}

/* "commit" from "committ", "use" and "us-ing" meet without the e. */
static size_t tidy_stem(char *s, size_t len)
{
    if (len > 5 && memcmp(s + len - 3, "our", 3) == 0) {
        s[len - 2] = 'r';
        len--;
    }
    if (len > 3 && s[len - 1] == 'e') {
        len--;
    }
    if (len > (s[len - 1] == 'l' ? 5 : 3) && s[len - 1] == s[len - 2] &&
        strchr("bdgklmnprt", s[len - 1]) != NULL) {
        len--;
    }
    if (len > 4 && memcmp(s + len - 2, "is", 2) == 0) {
        s[len - 1] = 'z';
    }
    return len;
}

static size_t lower(const char *word, size_t len, char out[STEM_MAX_BYTES])
{
    if (len > STEM_MAX_BYTES) {
        len = STEM_MAX_BYTES;
    }
    for (size_t i = 0; i < len; i++) {
        out[i] = word[i];
        if (word[i] >= 'A' && word[i] <= 'Z') {
            out[i] = (char)(word[i] | 0x20);
        }
    }
    return len;
}

static size_t without_possessive(const char *s, size_t len)
{
    if (len > 2 && s[len - 1] == 's' && s[len - 2] == '\'') {
        return len - 2;
    }
    if (len > 4 && s[len - 1] == 's' &&
        memcmp(s + len - 4, "\xE2\x80\x99", 3) == 0) {
        return len - 4;
    }
    return len;
}

uint32_t words_key(const char *word, size_t len)
{
    char s[STEM_MAX_BYTES];
    size_t n = lower(word, len, s);

    n = without_possessive(s, n);
    if (n > 3) {
        n = cut_ending(s, n);
        n = tidy_stem(s, n);
    }
    return hash(s, n);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, *(const char *const *)b);
}

#define IN(list, s)                                                            \
    (bsearch((s), (list), sizeof(list) / sizeof(*(list)), sizeof(*(list)),     \
             by_text) != NULL)

static enum word_weight weigh(const char *word, size_t len)
{
    char s[STEM_MAX_BYTES + 1];
    size_t n = lower(word, len, s);

    s[n] = '\0';
    if (IN(STOP, s)) {
        return WORD_STOP;
    }
    if (IN(VERB, s)) {
        return WORD_VERB;
    }
    return IN(WEAK, s) ? WORD_WEAK : WORD_FULL;
}

bool words_is(const char *text, const struct word *w, const char *expected)
{
    return strlen(expected) == w->len &&
           strncasecmp(text + w->at, expected, w->len) == 0;
}

static void put(struct words *out, size_t at, size_t len, uint32_t key,
                enum word_weight weight, bool cjk)
{
    out->v[out->n++] = (struct word){.at = (uint32_t)at,
                                     .len = (uint32_t)len,
                                     .key = key,
                                     .weight = weight,
                                     .cjk = cjk};
}

/* Length of a Chinese stop word at s, or 0. */
static size_t cjk_stop_len(const char *s, size_t len)
{
    for (size_t i = 0; i < sizeof(CJK_STOP) / sizeof(*CJK_STOP); i++) {
        size_t n = strlen(CJK_STOP[i]);
        if (n <= len && memcmp(s, CJK_STOP[i], n) == 0) {
            return n;
        }
    }
    return 0;
}

/* Pair the characters from *at to the end of their run. */
static void split_cjk(const char *text, size_t len, size_t *at,
                      struct words *out)
{
    size_t before = SIZE_MAX, run = 0;

    while (*at < len) {
        size_t start = *at, next = *at;
        size_t stop = cjk_stop_len(text + start, len - start);

        if (!is_cjk(next_char(text, len, &next))) {
            break;
        }
        if (stop > 0) {
            if (run == 1) {
                put(out, before, start - before,
                    hash(text + before, start - before), WORD_FULL, true);
            }
            *at = start + stop;
            run = 0;
            continue;
        }
        if (run > 0) {
            put(out, before, next - before, hash(text + before, next - before),
                WORD_FULL, true);
        }
        before = start;
        run++;
        *at = next;
    }
    if (run == 1) {
        put(out, before, *at - before, hash(text + before, *at - before),
            WORD_FULL, true);
    }
}

/* The end of the word that begins at at. */
static size_t word_end(const char *text, size_t len, size_t at)
{
    while (at < len) {
        size_t next = at, after;
        uint32_t c = next_char(text, len, &next);

        if (c == '\'' || c == 0x2019) {
            after = next;
            if (next >= len || !is_word_char(next_char(text, len, &after))) {
                break;
            }
        } else if (!is_word_char(c) || is_cjk(c)) {
            break;
        }
        at = next;
    }
    return at;
}

enum rc words_split(struct arena *a, const char *text, size_t len,
                    struct words *out)
{
    size_t at = 0;

    /* No word is shorter than a byte, and something stands between two; a
     * pair of characters takes three bytes of its own. */
    *out = (struct words){
        .v = arena_alloc(a, (len / 2 + 1) * sizeof(struct word)), .n = 0};
    if (out->v == NULL) {
        return RC_NOMEM;
    }
    while (at < len) {
        size_t start = at;
        uint32_t c = next_char(text, len, &at);

        if (is_cjk(c)) {
            at = start;
            split_cjk(text, len, &at, out);
        } else if (is_word_char(c)) {
            at = word_end(text, len, at);
            put(out, start, at - start, words_key(text + start, at - start),
                weigh(text + start, at - start), false);
        }
    }
    return RC_OK;
}
