#include "fcgi/offline/intent.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "fcgi/offline/words.h"
#include "sql/base/arena.h"

/* Clauses are compared in a plain form: lower case, words and '?' parted by
 * one space, a space at both rims, other punctuation gone, so that " stop it "
 * finds whole words. Phrases in Chinese are found anywhere. */
#define PLAIN_BYTES 512

#define SCRATCH_BYTES ((size_t)1024 * 1024)

struct plain {
    char text[PLAIN_BYTES];
    size_t len;
    bool asks; /* ends with a question mark */
};

static void plain_of(const char *s, size_t len, struct plain *out)
{
    size_t n = 0;

    *out = (struct plain){.len = 0};
    out->text[n++] = ' ';
    for (size_t i = 0; i < len && n + 2 < PLAIN_BYTES; i++) {
        unsigned char c = (unsigned char)s[i];
        bool joins = (c == '\'' || c == '-') && i > 0 && i + 1 < len &&
                     isalnum((unsigned char)s[i - 1]) &&
                     isalnum((unsigned char)s[i + 1]);

        if (isalnum(c) || c >= 0x80 || c == '_' || joins) {
            out->text[n++] = (char)tolower(c);
        } else if (out->text[n - 1] != ' ') {
            out->text[n++] = ' ';
        }
        if (!isspace(c)) {
            out->asks = c == '?';
        }
    }
    if (out->text[n - 1] != ' ') {
        out->text[n++] = ' ';
    }
    out->text[n] = '\0';
    out->len = n;
    if (strstr(out->text, "？") != NULL) {
        out->asks = true;
    }
}

/* Phrases: words are whole, Chinese ones stand anywhere. */
static bool has(const char *plain, const char *phrase)
{
    size_t n = strlen(phrase);

    if ((unsigned char)phrase[0] >= 0x80) {
        return strstr(plain, phrase) != NULL;
    }
    for (const char *p = strstr(plain, phrase); p != NULL;
         p = strstr(p + 1, phrase)) {
        if (p > plain && p[-1] == ' ' && (p[n] == ' ')) {
            return true;
        }
    }
    return false;
}

static bool has_any(const char *plain, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (has(plain, *list)) {
            return true;
        }
    }
    return false;
}

/* Length of the phrase of list that plain begins with (its rim space
 * included), or 0. */
static size_t starts_with(const char *plain, const char *const *list)
{
    size_t best = 0;

    for (; *list != NULL; list++) {
        size_t n = strlen(*list);
        bool wide = (unsigned char)(*list)[0] >= 0x80;
        if (n > best && strncmp(plain + 1, *list, n) == 0 &&
            (wide || plain[1 + n] == ' ')) {
            best = n;
        }
    }
    return best;
}

/* --- phrase lists -----------------------------------------------------------
 */

static const char *const FILLER[] = {
    "please", "ok",      "okay",       "well",  "so",      "hey",  "hi",
    "hello",  "oh",      "now",        "and",   "but",     "then", "actually",
    "sorry",  "thanks",  "thank you",  "great", "good",    "fine", "right",
    "yes",    "alright", "by the way", "btw",   "wait",    "hmm",  "let's",
    "let us", "just",    "kindly",     "maybe", "i think", "请",   "那么",
    "好的",   "好",      "那",         "麻烦",  "麻烦你",  "帮我", "请帮我",
    "嗯",     NULL,
};

/* Polite forms of a command; what follows decides. */
static const char *const POLITE[] = {
    "can you",         "could you",      "would you",
    "will you",        "can we",         "could we",
    "can u",           "i want you to",  "i would like you to",
    "i'd like you to", "you should",     "you could",
    "you can",         "would you mind", "we should",
    "i need you to",   "why don't you",  NULL,
};

static const char *const ALSO[] = {
    "also",    "additionally", "in addition",    "furthermore",   "moreover",
    "besides", "plus",         "one more thing", "another thing", "也",
    "另外",    "还有",         "此外",           "顺便",          "再",
    "同时",    NULL,
};

static const char *const INTERROGATIVE[] = {
    "what",       "what's",      "whats",    "how",     "how's",    "why",
    "when",       "where",       "where's",  "which",   "who",      "who's",
    "whose",      "whom",        "is",       "isn't",   "are",      "aren't",
    "am",         "was",         "were",     "does",    "doesn't",  "did",
    "didn't",     "has",         "have",     "had",     "can",      "can't",
    "could",      "should",      "would",    "will",    "won't",    "may",
    "might",      "must",        "do i",     "do you",  "do we",    "do they",
    "do the",     "don't you",   "any idea", "in what", "in which", "to what",
    "under what", "under which", "for what", "at what", NULL,
};

/* Commands that ask for an answer, whatever runs. */
static const char *const TELL_VERB[] = {
    "tell me",
    "tell us",
    "show me",
    "give me",
    "help me",
    "remind me",
    "teach me",
    "walk me through",
    "i wonder",
    "i want to know",
    "i'd like to know",
    "i would like to know",
    "i need to know",
    "i'm curious",
    "quick question",
    "question",
    "translate",
    "告诉我",
    "说说",
    "讲讲",
    NULL,
};

/* Commands that ask for an answer, unless they say "also". */
static const char *const EXPOUND_VERB[] = {
    "explain", "describe", "define",   "list", "summarise", "summarize",
    "outline", "compare",  "contrast", "name", "解释",      "介绍",
    "列出",    "说明",     "举例",     "比较", "对比",      NULL,
};

static const char *const CJK_ASKS[] = {
    "吗",   "呢",   "什么", "怎么", "如何", "为什么", "为何", "哪",
    "多少", "是否", "能否", "区别", "几个", "怎样",   NULL,
};

static const char *const RESEARCH_VERB[] = {
    "research",
    "investigate",
    "look into",
    "dig into",
    "deep dive",
    "do a deep dive",
    "dive into",
    "dive deep into",
    "look deeper into",
    "study",
    "survey",
    "start research",
    "start a research",
    "start new research",
    "start another research",
    "start researching",
    "begin research",
    "begin researching",
    "do research",
    "do some research",
    "do a research",
    "run research",
    "run a research",
    "conduct research",
    "make a research",
    "find out everything",
    "prepare a report",
    "write a report",
    "write me a report",
    "write a detailed report",
    "write a full report",
    "write an in-depth report",
    "write up a report",
    "write a thorough report",
    "produce a report",
    "give me a report",
    "give me a full report",
    "give me a detailed report",
    "make a report",
    "create a report",
    "i want a report",
    "i need a report",
    "i'd like a report",
    "i would like a report",
    "i want research",
    "i want a research",
    "i need research",
    "i'd like research",
    "i would like research",
    "analyse in depth",
    "analyze in depth",
    "research report",
    "background research",
    "another research",
    "new research",
    "more research",
    "研究",
    "调研",
    "深入研究",
    "深入调研",
    "深入",
    "调查",
    "写一份报告",
    "写份报告",
    "写一个报告",
    "做一份报告",
    "做个调研",
    "做一个研究",
    "做个研究",
    "开始研究",
    "我想研究",
    "我要研究",
    "详细研究",
    NULL,
};

/* With one of these a command asks for research, whatever its verb is. */
static const char *const THOROUGH[] = {
    "in depth",
    "in-depth",
    "thoroughly",
    "in detail",
    "in great detail",
    "exhaustively",
    "comprehensively",
    "in the background",
    "deep dive",
    "detailed report",
    "full report",
    "thorough report",
    "extensively",
    "深入",
    "详细研究",
    "全面",
    "后台",
    NULL,
};

static const char *const DEEP[] = {
    "in depth",  "in-depth", "thoroughly", "exhaustively", "comprehensively",
    "deep dive", "deep",     "deeply",     "thorough",     "exhaustive",
    "深入",      "全面",     NULL,
};

static const char *const THE_RESEARCH[] = {
    "the research",
    "this research",
    "that research",
    "your research",
    "my research",
    "the running research",
    "the report",
    "your report",
    "this report",
    "that report",
    "the background",
    "the background research",
    "the investigation",
    "your investigation",
    "the run",
    "that run",
    "the current research",
    "the ongoing research",
    "researching",
    "research on",
    "这个研究",
    "该研究",
    "研究里",
    "研究中",
    "报告里",
    "报告中",
    "后台",
    "报告",
    "这项研究",
    "那个研究",
    NULL,
};

static const char *const CHANGE_VERB[] = {
    "add",
    "include",
    "exclude",
    "narrow",
    "focus",
    "limit",
    "restrict",
    "broaden",
    "widen",
    "extend",
    "expand",
    "leave out",
    "skip",
    "ignore",
    "drop",
    "remove",
    "prefer",
    "concentrate",
    "cover",
    "consider",
    "mention",
    "emphasise",
    "emphasize",
    "use only",
    "only use",
    "only",
    "instead",
    "make it",
    "make the report",
    "keep it",
    "make sure",
    "take into account",
    "pay attention",
    "look also",
    "stop including",
    "stop looking",
    "don't",
    "do not",
    "use the",
    "use version",
    "change the focus",
    "change it",
    "switch to",
    "rather",
    "give more",
    "put more",
    "deepen",
    "补充",
    "改成",
    "改为",
    "加上",
    "增加",
    "加入",
    "添加",
    "包括",
    "还要",
    "只看",
    "只要",
    "不要",
    "重点",
    "缩小",
    "扩展",
    "扩大",
    "换成",
    "去掉",
    "排除",
    "侧重",
    "限定",
    "集中",
    NULL,
};

/* These add to or replace what was asked: never a reply to a question. */
static const char *const ADDING[] = {
    "add",          "include",   "also",    "instead", "as well", "too",
    "additionally", "leave out", "exclude", "drop",    "补充",    "另外",
    "改成",         "改为",      "加上",    "增加",    "加入",    "添加",
    "也",           "还要",      NULL,
};

static const char *const STOP_VERB[] = {
    "stop",
    "cancel",
    "abort",
    "halt",
    "kill",
    "terminate",
    "quit",
    "end",
    "never mind",
    "nevermind",
    "forget",
    "discard",
    "stop working on",
    "call off",
    "停止",
    "停下",
    "停掉",
    "停",
    "取消",
    "终止",
    "中止",
    "结束",
    "别查了",
    "不用查了",
    "不用研究",
    "别研究",
    NULL,
};

/* What may stand behind "stop" for it to mean a Run. */
static const char *const STOP_OBJECT[] = {
    "it",          "this",
    "that",        "them",
    "all",         "both",
    "everything",  "now",
    "please",      "research",
    "researching", "running",
    "run",         "runs",
    "job",         "task",
    "background",  "the",
    "your",        "my",
    "working",     "on",
    "one",         "of",
    "report",      "investigation",
    "there",       "here",
    "immediately", "right",
    "every",       "work",
    "searching",   "current",
    "about",       "first",
    "second",      "others",
    "other",       "these",
    "those",       "at",
    "once",        "with",
    "and",         "for",
    "i",           "don't",
    "need",        "anymore",
    "any",         "more",
    "longer",      "no",
    NULL,
};

static const char *const STATUS_PHRASE[] = {
    "how far",
    "status",
    "progress",
    "how is it going",
    "how's it going",
    "how is that going",
    "how is the research",
    "how's the research",
    "how is your research",
    "how goes",
    "how is it coming",
    "how's it coming",
    "are you done",
    "is it done",
    "is it finished",
    "is it ready",
    "are you finished",
    "is it still running",
    "are you still",
    "any news",
    "any progress",
    "any results",
    "what have you found",
    "what did you find",
    "found so far",
    "have you found",
    "how long will it",
    "how much longer",
    "where are you with",
    "where do you stand",
    "where does it stand",
    "when will it be",
    "what is the state",
    "what's the state",
    "what are you doing",
    "what are you working on",
    "is it running",
    "what research is running",
    "which research is running",
    "what is running",
    "what's running",
    "进度",
    "进展",
    "怎么样了",
    "完成了吗",
    "好了吗",
    "到哪",
    "查到什么",
    "状态",
    "还要多久",
    NULL,
};

/* Words that a question about a Run may hold beside its title. */
static const char *const STATUS_WORDS[] = {
    "how",         "far",           "status",
    "progress",    "going",         "research",
    "report",      "run",           "background",
    "task",        "job",           "current",
    "coming",      "along",         "finished",
    "ready",       "running",       "found",
    "find",        "news",          "results",
    "result",      "long",          "longer",
    "stand",       "state",         "working",
    "work",        "investigation", "done",
    "moment",      "currently",     "ongoing",
    "started",     "update",        "updates",
    "researching", "today",         "left",
    "time",        "minutes",       "show",
    "check",       "progressing",   "proceeding",
    "advanced",    "complete",      "completed",
    NULL,
};

static const char *const CONTINUE_VERB[] = {
    "continue",         "resume",  "go on", "carry on", "pick up", "keep going",
    "keep researching", "restart", "继续",  "接着",     NULL,
};

static const char *const REPLY_PHRASE[] = {
    "my answer",
    "to answer your question",
    "answering your question",
    "the answer is",
    "in reply to your question",
    "my reply",
    "我的回答",
    "回答你的问题",
    "答案是",
    NULL,
};

static const char *const SMALLTALK[] = {
    "thanks", "thank you",    "hello",        "hi",
    "hey",    "good morning", "good evening", "good afternoon",
    "great",  "cool",         "nice",         "ok",
    "okay",   "thanks a lot", "many thanks",  "thank you very much",
    "bye",    "goodbye",      "perfect",      "well done",
    "谢谢",   "你好",         "您好",         "好的",
    "再见",   NULL,
};

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
        size_t n = starts_with(l.rest, ALSO);

        l.also = l.also || n > 0;
        if (n == 0) {
            n = starts_with(l.rest, FILLER);
        }
        if (n == 0) {
            n = starts_with(l.rest, POLITE);
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
    return starts_with(l->rest, list) > 0;
}

static bool is_stop(const struct judge *j, const struct lead *l,
                    const struct plain *p)
{
    const char *at = l->rest;
    size_t n = starts_with(at, STOP_VERB);

    if (n == 0 || (p->asks && !l->polite)) {
        return false;
    }
    if ((unsigned char)at[1] >= 0x80) {
        /* Only a short command or one that names research. */
        return !has_any(p->text, CJK_ASKS) &&
               (p->len <= 24 || has_any(p->text, THE_RESEARCH) ||
                has(p->text, "研究") || has(p->text, "调研"));
    }
    if (strncmp(at + 1, "forget", 6) == 0 || strncmp(at + 1, "never", 5) == 0) {
        return has_any(p->text, THE_RESEARCH);
    }
    return says_only(j, at + 1 + n, STOP_OBJECT);
}

static bool is_status(const struct judge *j, const struct plain *p)
{
    if (!has_any(p->text, STATUS_PHRASE)) {
        return false;
    }
    if (words_has_cjk(p->text, p->len)) {
        return p->len <= 48 || has(p->text, "研究") || has(p->text, "调研");
    }
    return says_only(j, p->text, STATUS_WORDS);
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

    if (!starts_phrase(l, CONTINUE_VERB) || (p->asks && !l->polite)) {
        return false;
    }
    return has_any(p->text, THE_RESEARCH) || has(p->text, "research") ||
           has(p->text, "研究") || says_only(j, p->text, words);
}

/* A question, whatever else it says. Polite commands are none. */
static bool is_question(const struct lead *l, const struct plain *p)
{
    if (l->polite) {
        return starts_phrase(l, TELL_VERB) || starts_phrase(l, EXPOUND_VERB);
    }
    return p->asks || starts_phrase(l, TELL_VERB) ||
           starts_phrase(l, INTERROGATIVE) || has_any(p->text, CJK_ASKS);
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
    size_t n = starts_with(l->rest, modal);

    return n > 0 && starts_with(l->rest + n + 1, who) > 0 &&
           has_any(p->text, CHANGE_VERB);
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

    return (starts_phrase(l, THE_RESEARCH) && has_any(p->text, modal)) ||
           has_any(p->text, to) || has(p->text, "研究里") ||
           has(p->text, "报告里") || has(p->text, "报告中");
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

    bool more = l->also || (p->len < 120 && has_any(p->text, tails));

    if (starts_phrase(l, harmless) || p->len <= 4) {
        return false;
    }
    if (c->names_research && speaks_of_research(p, l)) {
        return true;
    }
    if (p->asks && l->can && !more && !c->names_research) {
        return false; /* "Can you add a column?" asks about the subject */
    }
    return more || (starts_phrase(l, CHANGE_VERB) && !keyword_first(c));
}

static bool is_research(const struct lead *l, const struct plain *p)
{
    if (starts_phrase(l, RESEARCH_VERB)) {
        return true;
    }
    if (starts_phrase(l, INTERROGATIVE)) {
        return false;
    }
    return has_any(p->text, THOROUGH) &&
           (starts_phrase(l, TELL_VERB) || starts_phrase(l, EXPOUND_VERB) ||
            l->polite || has(p->text, "analyse") || has(p->text, "analyze") ||
            has(p->text, "examine") || has(p->text, "review") ||
            has(p->text, "report"));
}

static enum intent_kind kind_of(const struct judge *j, const struct clause *c,
                                const struct plain *p)
{
    struct lead l = strip_lead(p->text);
    bool asks = is_question(&l, p);

    if (residue_is(p->text, SMALLTALK) ||
        starts_with(p->text, SMALLTALK) + 2 >= p->len) {
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
    if (starts_phrase(&l, REPLY_PHRASE)) {
        return INTENT_REPLY;
    }
    if (asks_research_to(p, &l)) {
        return INTENT_CHANGE;
    }
    if (asks && !has_any(p->text, THOROUGH)) {
        return INTENT_QUESTION;
    }
    if (is_research(&l, p)) {
        return INTENT_RESEARCH;
    }
    if (asks ||
        (starts_phrase(&l, EXPOUND_VERB) && !l.also && !c->names_research)) {
        return INTENT_QUESTION;
    }
    return is_change(&l, p, c) ? INTENT_CHANGE : INTENT_STATEMENT;
}

static void judge_clause(const struct judge *j, struct clause *c)
{
    static const char *const all[] = {"all",  "both", "everything", "every",
                                      "全部", "所有", "都",         NULL};
    struct plain p;

    plain_of(c->text, c->len, &p);
    c->names_research = has_any(p.text, THE_RESEARCH);
    c->adds = has_any(p.text, ADDING) || c->names_research;
    c->all = has_any(p.text, all);
    c->deep = has_any(p.text, DEEP);
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
        skip = skip_phrase(text, n, FILLER);
        skip = skip > 0 ? skip : skip_phrase(text, n, POLITE);
        skip = skip > 0 ? skip : skip_phrase(text, n, ALSO);
        skip = skip > 0 ? skip : skip_phrase(text, n, RESEARCH_VERB);
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
