#include "fcgi/offline/phrases.h"

#include <ctype.h>
#include <string.h>

void phrases_plain(const char *s, size_t len, struct plain *out)
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
    }
    while (len > 0 && isspace((unsigned char)s[len - 1])) {
        len--;
    }
    out->asks = len > 0 && s[len - 1] == '?';
    if (out->text[n - 1] != ' ') {
        out->text[n++] = ' ';
    }
    out->text[n] = '\0';
    out->len = n;
    if (strstr(out->text, "？") != NULL) {
        out->asks = true;
    }
}

bool phrases_has(const char *plain, const char *phrase)
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

bool phrases_has_any(const char *plain, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (phrases_has(plain, *list)) {
            return true;
        }
    }
    return false;
}

size_t phrases_start(const char *plain, const char *const *list)
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

const char *const phrases_filler[] = {
    "please", "ok",      "okay",       "well",  "so",      "hey",  "hi",
    "hello",  "oh",      "now",        "and",   "but",     "then", "actually",
    "sorry",  "thanks",  "thank you",  "great", "good",    "fine", "right",
    "yes",    "alright", "by the way", "btw",   "wait",    "hmm",  "let's",
    "let us", "just",    "kindly",     "maybe", "i think", "请",   "那么",
    "好的",   "好",      "那",         "麻烦",  "麻烦你",  "帮我", "请帮我",
    "嗯",     NULL,
};

const char *const phrases_polite[] = {
    "can you",         "could you",      "would you",
    "will you",        "can we",         "could we",
    "can u",           "i want you to",  "i would like you to",
    "i'd like you to", "you should",     "you could",
    "you can",         "would you mind", "we should",
    "i need you to",   "why don't you",  NULL,
};

const char *const phrases_also[] = {
    "also",    "additionally", "in addition",    "furthermore",   "moreover",
    "besides", "plus",         "one more thing", "another thing", "也",
    "另外",    "还有",         "此外",           "顺便",          "再",
    "同时",    NULL,
};

const char *const phrases_interrogative[] = {
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

const char *const phrases_tell_verb[] = {
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

const char *const phrases_expound_verb[] = {
    "explain", "describe", "define",   "list", "summarise", "summarize",
    "outline", "compare",  "contrast", "name", "解释",      "介绍",
    "列出",    "说明",     "举例",     "比较", "对比",      NULL,
};

const char *const phrases_cjk_asks[] = {
    "吗",   "呢",   "什么", "怎么", "如何", "为什么", "为何", "哪",
    "多少", "是否", "能否", "区别", "几个", "怎样",   NULL,
};

const char *const phrases_research_verb[] = {
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

const char *const phrases_thorough[] = {
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

const char *const phrases_deep[] = {
    "in depth",  "in-depth", "thoroughly", "exhaustively", "comprehensively",
    "deep dive", "deep",     "deeply",     "thorough",     "exhaustive",
    "深入",      "全面",     NULL,
};

const char *const phrases_the_research[] = {
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

const char *const phrases_change_verb[] = {
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

const char *const phrases_adding[] = {
    "add",          "include",   "also",    "instead", "as well", "too",
    "additionally", "leave out", "exclude", "drop",    "补充",    "另外",
    "改成",         "改为",      "加上",    "增加",    "加入",    "添加",
    "也",           "还要",      NULL,
};

const char *const phrases_stop_verb[] = {
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

const char *const phrases_stop_object[] = {
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

const char *const phrases_status_phrase[] = {
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

const char *const phrases_status_words[] = {
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

const char *const phrases_continue_verb[] = {
    "continue",         "resume",  "go on", "carry on", "pick up", "keep going",
    "keep researching", "restart", "继续",  "接着",     NULL,
};

const char *const phrases_reply_phrase[] = {
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

const char *const phrases_smalltalk[] = {
    "thanks", "thank you",    "hello",        "hi",
    "hey",    "good morning", "good evening", "good afternoon",
    "great",  "cool",         "nice",         "ok",
    "okay",   "thanks a lot", "many thanks",  "thank you very much",
    "bye",    "goodbye",      "perfect",      "well done",
    "谢谢",   "你好",         "您好",         "好的",
    "再见",   NULL,
};
