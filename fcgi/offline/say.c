#include "fcgi/offline/say.h"

#include <stddef.h>

static const char *const TEXT[SAY__MAX][2] = {
    [SAY_HELLO] =
        {"I am Aside's offline model. I am not a language model: I "
         "search the library, quote what it says, and run research "
         "in the background. Ask a question, or say “research …”.",
         "我是 Aside 的离线模型，不是语言模型：我检索资料库，引用其中的"
         "原文，并在后台进行研究。请提问，或说“研究……”。"},
    [SAY_FULL] =
        {"There is no free background place now. This research was "
         "neither accepted nor queued. You can wait until a place is "
         "free, stop a running research, or ask this as a plain "
         "question for a short answer at once.",
         "现在没有空闲的后台位置。这项研究既没有被接受，也没有排队。可以"
         "等位置空出来、停止正在进行的研究，或者把它作为普通问题来问，"
         "马上得到简短的回答。"},
    [SAY_FULL_NAMED] =
        {"The background place is taken by “{1}” ({2}). This research was "
         "neither accepted nor queued. You can wait until that one ends, stop "
         "it (“stop the research”), make this part of it (“also cover …”), or "
         "ask this as a plain question for a short answer at once.",
         "后台位置被“{1}”（{2}"
         "）占用。这项研究既没有被接受，也没有排队。可以等它"
         "结束、停止它（“停止研究”）、把内容加到它里面（“另外补充……”），或者把"
         "它"
         "作为普通问题来问，马上得到简短的回答。"},
    [SAY_NO_RUN] = {"No research is running in this conversation, so there is "
                    "nothing to do that with.",
                    "这个对话里没有正在进行的研究，所以无法这样做。"},
    [SAY_ENDED] = {"“{1}” has ended: {2}.", "“{1}”已经结束：{2}。"},
    [SAY_CAN_CONTINUE] = {"To go on from it, say “continue the research”.",
                          "要接着做，请说“继续研究”。"},
    [SAY_WHICH] = {"Which research do you mean: {1}?",
                   "你指的是哪一项研究：{1}？"},
    [SAY_WHICH_REPLY] = {"Which research is this the reply to: {1}?",
                         "这是对哪一项研究的回复：{1}？"},
    [SAY_REFUSED] = {"This was not done ({1}): {2}.", "没有完成（{1}）：{2}。"},
    [SAY_DONE] = {"Recorded ({1}).", "已记录（{1}）。"},
    [SAY_STATE_OF] = {"This is what is known of “{1}” ({2}) now:",
                      "“{1}”（{2}）目前的情况："},
    [SAY_LISTED] = {"“{1}” ({2}): {3}", "“{1}”（{2}）：{3}"},
    [SAY_FROM] = {"From {1}:", "引自 {1}："},
    [SAY_NOT_MENTIONED] = {"The passages found do not mention: {1}.",
                           "找到的段落没有提到：{1}。"},
    [SAY_NOTHING] = {"I searched the library for “{1}” and found nothing.",
                     "我在资料库里检索了“{1}”，没有找到任何内容。"},
    [SAY_IRRELEVANT] =
        {"I searched the library for “{1}” and found nothing "
         "that answers this. The nearest pages, {2}, speak of "
         "other things.",
         "我在资料库里检索了“{1}”，没有找到能回答的内容。最接近的"
         "页面 {2} 讲的是别的事情。"},
    [SAY_NO_LIBRARY] = {"I can only answer from documents I have looked up, "
                        "and none stand in this request.",
                        "我只能根据检索到的文档回答，而这次请求里没有。"},
    [SAY_SEARCH_FAILED] = {"The library could not be searched: {1}.",
                           "无法检索资料库：{1}。"},
    [SAY_PLAN_COMPARE] = {"I read this as a comparison of {1} and {2}{3}.",
                          "我把它理解为对 {1} 和 {2} 的比较{3}。"},
    [SAY_PLAN_LIST] = {"I take these parts one by one: {1}.",
                       "我逐一查找这些方面：{1}。"},
    [SAY_PLAN_ONE] = {"I look for everything the library has on {1}.",
                      "我查找资料库里关于 {1} 的全部内容。"},
    [SAY_FOUND] = {"“{1}” brought {2} passages, the first from {3}.",
                   "“{1}”找到 {2} 个段落，第一个来自 {3}。"},
    [SAY_FOUND_NONE] = {"“{1}” brought nothing.", "“{1}”没有结果。"},
    [SAY_READ] = {"Read {2} passages of {1}.", "读了 {1} 的 {2} 个段落。"},
    [SAY_FAILED_STEP] = {"That did not work: {1}.", "这一步没有成功：{1}。"},
    [SAY_NEW_ADJUSTMENT] = {"An adjustment came in: “{1}”.",
                            "收到一项调整：“{1}”。"},
    [SAY_NEXT_SEARCH] = {"Next I search for “{1}”.", "接下来检索“{1}”。"},
    [SAY_AND_SEARCH] = {"And for “{1}”.", "同时检索“{1}”。"},
    [SAY_NEXT_READ] = {"Next I read on in {1}.", "接下来继续读 {1}。"},
    [SAY_NEXT_NOTE] = {"I note the best passages so far.",
                       "我把目前最好的段落记下来。"},
    [SAY_NEXT_DELIVER] = {"I put the report together from {1} passages of {2} "
                          "pages.",
                          "我用 {2} 个页面的 {1} 个段落写报告。"},
    [SAY_ASK_SUBJECT] = {"What should the research be about?",
                         "这项研究要研究什么？"},
    [SAY_SUMMARY] = {"In short", "摘要"},
    [SAY_IN_GENERAL] = {"In general", "概况"},
    [SAY_BOTH] = {"{1} and {2} together", "{1} 与 {2}"},
    [SAY_ADJUSTED] = {"Asked for in an adjustment: “{1}”", "来自调整：“{1}”"},
    [SAY_NONE_ON] = {"Nothing was found on {1}.", "没有找到关于 {1} 的内容。"},
    [SAY_NONE_ON_SIDE] = {"Nothing was found on {1} of {2}.",
                          "没有找到关于 {2} 的 {1} 的内容。"},
    [SAY_GAPS] = {"What the library does not say", "资料库没有说明的内容"},
    [SAY_METHOD] = {"Put together by extraction: sentences of {1} passages on "
                    "{2} pages, quoted as they stand, each with its source. "
                    "Nothing was added or judged.",
                    "本报告由摘录组成：引自 {2} 个页面的 {1} 个段落，原样引用并"
                    "注明出处，没有添加或评判。"},
    [SAY_NOT_SEARCHED] = {"No documents could be retrieved for this report.",
                          "这份报告没有检索到任何文档。"},
    [SAY_NOTE_COVERED] = {"quoted from {1} passages on {2} pages",
                          "引自 {2} 个页面的 {1} 个段落"},
    [SAY_NOTE_PARTIAL] = {"nothing found on: {1}", "没有找到：{1}"},
    [SAY_NOTE_MISSING] = {"the library has nothing that fits: {1}",
                          "资料库没有相符的内容：{1}"},
    [SAY_ASSUMED] = {"The request names no subject; this report takes it from "
                     "the message before it: “{1}”.",
                     "请求没有说明主题；本报告取自前一条消息：“{1}”。"},
};

void say_put(struct buf *b, bool chinese, enum say what, const char *one,
             const char *two, const char *three)
{
    const char *const args[3] = {one, two, three};

    for (const char *p = TEXT[what][chinese ? 1 : 0]; *p != '\0'; p++) {
        if (p[0] == '{' && p[1] >= '1' && p[1] <= '3' && p[2] == '}') {
            const char *arg = args[p[1] - '1'];
            buf_puts(b, arg == NULL ? "" : arg);
            p += 2;
        } else {
            buf_putc(b, *p);
        }
    }
}
