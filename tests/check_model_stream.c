/* check_model_stream.c - the dialect as providers really speak it. Each table row is a stream as it
 * comes over the wire, and what must be made of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/model/model_chat.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"
#include "tests/support/suites.h"

#define REPLY_MAX ((size_t)4 * 1024 * 1024)

static struct model_stream *stream_new(size_t max_bytes)
{
    struct model_stream_options o = {.max_reply_bytes = max_bytes,
                                     .call_id_prefix = "req_9"};
    struct model_stream *s = NULL;

    ck_assert_int_eq(model_stream_new(&o, &s), RC_OK);
    return s;
}

static void feed(struct model_stream *s, const char *text)
{
    model_stream_feed(s, text, strlen(text));
}

/* --- one stream, one outcome ------------------------------------------- */

#define CHUNK(choices)  "data: {\"id\":\"gen-1\",\"choices\":[" choices "]}\n\n"
#define DELTA(members)  CHUNK("{\"index\":0,\"delta\":{" members "}}")
#define TEXT(text)      DELTA("\"content\":\"" text "\"")
#define CALLS(elements) DELTA("\"tool_calls\":[" elements "]")
#define FINISH(reason)                                                         \
    CHUNK("{\"index\":0,\"delta\":{},\"finish_reason\":\"" reason "\"}")
#define DONE "data: [DONE]\n\n"
#define CACHED(members)                                                        \
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":40,"                   \
    "\"completion_tokens\":3," members "}}\n\n"

struct call {
    const char *id, *name, *arguments;
    bool valid;
};

struct row {
    const char *name;
    const char *stream;
    const char *text; /* NULL: "" */
    const char *reasoning;
    const char *reasoning_field;
    struct call calls[4];
    struct model_usage usage;
    const char *error_code;
    int64_t prompt_tokens; /* of the error; 0: -1 */
    int64_t context_tokens;
    enum model_verdict verdict;
    enum model_error_kind error;
    bool unconfirmed;
    bool no_choice;
};

static const struct row ROWS[] = {
    {.name = "reference text",
     .stream = DELTA("\"role\":\"assistant\",\"content\":\"\"") TEXT("Hel")
         TEXT("lo") FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "Hello"},
    {.name = "reference calls, interleaved",
     .stream = CALLS("{\"index\":0,\"id\":\"a\",\"type\":\"function\","
                     "\"function\":{\"name\":\"f\",\"arguments\":\"\"}}")
         CALLS("{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"g\","
               "\"arguments\":\"{\\\"y\\\"\"}}")
             CALLS("{\"index\":0,\"function\":{\"arguments\":\"{\\\"x\\\":\"}},"
                   "{\"index\":1,\"function\":{\"arguments\":\":2}\"}}")
                 CALLS("{\"index\":0,\"function\":{\"arguments\":\"1}\"}}")
                     FINISH("tool_calls") DONE,
     .verdict = MODEL_COMPLETE,
     .calls = {{"a", "f", "{\"x\":1}", true}, {"b", "g", "{\"y\":2}", true}}},
    {.name = "usage in a chunk without choices",
     .stream = TEXT("a") FINISH("stop")
         CHUNK("") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,"
                   "\"completion_tokens\":3,\"total_tokens\":10,"
                   "\"prompt_tokens_details\":{\"cached_tokens\":4}}}\n\n" DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a",
     .usage = {true, 7, 3, 4}},
    {.name = "cached input: DeepSeek",
     .stream = TEXT("a") FINISH("stop") CACHED(
         "\"prompt_cache_hit_tokens\":30,\"prompt_cache_miss_tokens\":10") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a",
     .usage = {true, 40, 3, 30}},
    {.name = "cached input: beside the counts",
     .stream = TEXT("a") FINISH("stop") CACHED("\"cached_tokens\":20") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a",
     .usage = {true, 40, 3, 20}},
    {.name = "cached input: Anthropic's name",
     .stream = TEXT("a") FINISH("stop") CACHED(
         "\"cache_read_input_tokens\":12,\"cache_creation_input_tokens\":0")
         DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a",
     .usage = {true, 40, 3, 12}},
    {.name = "cached input: another name for the details",
     .stream = TEXT("a") FINISH("stop")
         CACHED("\"input_tokens_details\":{\"cached_tokens\":8}") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a",
     .usage = {true, 40, 3, 8}},
    {.name = "cached input: none, which is told",
     .stream = TEXT("a") FINISH("stop")
         CACHED("\"prompt_tokens_details\":{\"cached_tokens\":0}") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a",
     .usage = {true, 40, 3, 0}},
    {.name = "cached input: details without it",
     .stream = TEXT("a") FINISH("stop")
         CACHED("\"prompt_tokens_details\":{\"audio_tokens\":1}") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a",
     .usage = {true, 40, 3, -1}},
    {.name = "cached input: details are null",
     .stream =
         TEXT("a") FINISH("stop") CACHED("\"prompt_tokens_details\":null") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a",
     .usage = {true, 40, 3, -1}},
    {.name = "cached input: counted beside the input",
     .stream = TEXT("a") FINISH("stop")
         CACHED("\"cache_read_input_tokens\":900") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a",
     .usage = {true, 40, 3, 40}},
    {.name = "cached input: less than nothing",
     .stream = TEXT("a") FINISH("stop") CACHED("\"cached_tokens\":-5") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a",
     .usage = {true, 40, 3, -1}},
    {.name = "usage null, then in each chunk: the last counts",
     .stream =
         "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}"
         "],\"usage\":null}\n\n"
         "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"}}"
         "],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1}}\n\n"
         "data: {\"choices\":[{\"index\":0,\"delta\":{},"
         "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":7,"
         "\"completion_tokens\":2,\"prompt_cache_hit_tokens\":5}}\n\n" DONE,
     .verdict = MODEL_COMPLETE,
     .text = "ab",
     .usage = {true, 7, 2, 5}},
    {.name = "usage within the choice",
     .stream = CHUNK("{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\""
                     ",\"usage\":{\"prompt_tokens\":1,"
                     "\"completion_tokens\":2}}"),
     .verdict = MODEL_COMPLETE,
     .text = "a",
     .usage = {true, 1, 2, -1}},
    {.name = "usage that is no numbers stays unknown",
     .stream = TEXT("a") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":"
                         "null,\"completion_tokens\":-1}}\n\n" FINISH("stop"),
     .verdict = MODEL_COMPLETE,
     .text = "a"},
    {.name = "Ollama: stop although a tool was called",
     .stream = CALLS("{\"index\":0,\"id\":\"call_1\",\"type\":\"function\","
                     "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}")
         FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .calls = {{"call_1", "f", "{}", true}}},
    {.name = "Ollama through proxies: parallel calls at index 0, objects",
     .stream = CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\","
                     "\"arguments\":{\"q\":\"x\"}}}")
         CALLS("{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"f\","
               "\"arguments\":{\"q\":\"y\"}}}")
             CALLS("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"g\","
                   "\"arguments\":{}}}") FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .calls = {{"a", "f", "{\"q\":\"x\"}", true},
               {"b", "f", "{\"q\":\"y\"}", true},
               {"c", "g", "{}", true}}},
    {.name = "all calls at index 0 in one chunk, one without arguments",
     .stream = CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\","
                     "\"arguments\":\"\"}},"
                     "{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"f\","
                     "\"arguments\":\"{\\\"q\\\":1}\"}}") DONE,
     .verdict = MODEL_COMPLETE,
     .calls = {{"a", "f", "", false}, {"b", "f", "{\"q\":1}", true}},
     .unconfirmed = true},
    {.name = "the id changes with every piece",
     .stream = CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\","
                     "\"arguments\":\"{\\\"q\"}}")
         CALLS("{\"index\":0,\"id\":\"b\",\"function\":{"
               "\"arguments\":\"\\\":\"}}")
             CALLS("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\","
                   "\"arguments\":\"1}\"}}") FINISH("tool_calls") DONE,
     .verdict = MODEL_COMPLETE,
     .calls = {{"a", "f", "{\"q\":1}", true}}},
    {.name = "id and name come again with every piece",
     .stream = CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\","
                     "\"arguments\":\"{}\"}}")
         CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\","
               "\"arguments\":\"\"}}") FINISH("tool_calls") DONE,
     .verdict = MODEL_COMPLETE,
     .calls = {{"a", "f", "{}", true}}},
    {.name = "the name comes again, without ids",
     .stream = CALLS("{\"index\":0,\"function\":{\"name\":\"f\"}}")
         CALLS("{\"index\":0,\"function\":{\"name\":\"f\","
               "\"arguments\":\"{}\"}}")
             CALLS("{\"index\":0,\"function\":{\"name\":\"f\","
                   "\"arguments\":\"\"}}") FINISH("tool_calls") DONE,
     .verdict = MODEL_COMPLETE,
     .calls = {{"req_9_0", "f", "{}", true}}},
    {.name = "the name comes late",
     .stream = CALLS("{\"index\":0,\"id\":\"a\",\"type\":\"function\"}")
         CALLS("{\"index\":0,\"function\":{\"name\":\"f\"}}")
             CALLS("{\"index\":0,\"function\":{\"arguments\":\"{}\"}}")
                 FINISH("tool_calls") DONE,
     .verdict = MODEL_COMPLETE,
     .calls = {{"a", "f", "{}", true}}},
    {.name = "Gemini, mistral.rs, Grok proxies: no index, by id, stop",
     .stream = CALLS("{\"id\":\"a\",\"function\":{\"name\":\"f\","
                     "\"arguments\":\"{\\\"x\\\":\"}}")
         CALLS("{\"id\":\"b\",\"function\":{\"name\":\"g\","
               "\"arguments\":\"{}\"}}")
             CALLS("{\"id\":\"a\",\"function\":{\"arguments\":\"1}\"}}")
                 FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .calls = {{"a", "f", "{\"x\":1}", true}, {"b", "g", "{}", true}}},
    {.name = "no index and no id: to the last open call",
     .stream = CALLS("{\"id\":\"a\",\"function\":{\"name\":\"f\","
                     "\"arguments\":\"{\\\"x\\\":\"}}")
         CALLS("{\"function\":{\"arguments\":\"1}\"}}")
             CALLS("{\"id\":\"b\",\"function\":{\"name\":\"g\","
                   "\"arguments\":\"{\"}}")
                 CALLS("{\"index\":null,\"function\":{\"arguments\":\"}\"}}")
                     FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .calls = {{"a", "f", "{\"x\":1}", true}, {"b", "g", "{}", true}}},
    {.name = "neither index nor ids: whole calls of one name",
     .stream = CALLS("{\"function\":{\"name\":\"f\","
                     "\"arguments\":\"{\\\"x\\\":1}\"}},"
                     "{\"function\":{\"name\":\"f\","
                     "\"arguments\":\"{\\\"x\\\":2}\"}}")
         CALLS("{\"id\":\"\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}"
               "}") FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .calls = {{"req_9_0", "f", "{\"x\":1}", true},
               {"req_9_1", "f", "{\"x\":2}", true},
               {"req_9_2", "g", "{}", true}}},
    {.name = "two calls of one id",
     .stream = CALLS("{\"index\":0,\"id\":\"f\",\"function\":{\"name\":\"f\","
                     "\"arguments\":\"{}\"}},"
                     "{\"index\":1,\"id\":\"f\",\"function\":{\"name\":\"f\","
                     "\"arguments\":\"{}\"}}") FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .calls = {{"f", "f", "{}", true}, {"req_9_1", "f", "{}", true}}},
    {.name = "an id that another call is given here",
     .stream = CALLS("{\"index\":0,\"id\":\"req_9_1\",\"function\":{"
                     "\"name\":\"f\",\"arguments\":\"{}\"}},"
                     "{\"index\":1,\"function\":{\"name\":\"g\","
                     "\"arguments\":\"{}\"}}") FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .calls = {{"req_9_0", "f", "{}", true}, {"req_9_1", "g", "{}", true}}},
    {.name = "an element that holds nothing is no call",
     .stream = TEXT("a") CALLS("{\"index\":0},null,7") FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a"},
    {.name = "arguments that are no object",
     .stream =
         CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\","
               "\"arguments\":\"[1]\"}},"
               "{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"f\","
               "\"arguments\":\"{\\\"q\\\":\"}},"
               "{\"index\":2,\"id\":\"c\",\"function\":{\"name\":\"f\","
               "\"arguments\":null}},"
               "{\"index\":3,\"id\":\"d\",\"function\":{\"name\":\"f\","
               "\"arguments\":\"{\\\"q\\\":1}\"}}") FINISH("tool_calls") DONE,
     .verdict = MODEL_COMPLETE,
     .calls = {{"a", "f", "[1]", false},
               {"b", "f", "{\"q\":", false},
               {"c", "f", "", false},
               {"d", "f", "{\"q\":1}", true}}},
    {.name = "Ollama Cloud, newer vLLM: reasoning",
     .stream = DELTA("\"reasoning\":\"let \"") DELTA("\"reasoning\":\"me\"")
         TEXT("a") FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a",
     .reasoning = "let me",
     .reasoning_field = "reasoning"},
    {.name = "DeepSeek: reasoning_content; with both, it counts",
     .stream = DELTA("\"content\":null,\"reasoning_content\":\"x\","
                     "\"reasoning\":\"x\"") TEXT("a") FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a",
     .reasoning = "x",
     .reasoning_field = "reasoning_content"},
    {.name = "vLLM: finish_reason null at the end",
     .stream = TEXT("a") CHUNK("{\"index\":0,\"delta\":{},"
                               "\"finish_reason\":null}") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a",
     .unconfirmed = true},
    {.name = "vLLM: no key finish_reason at all, a call",
     .stream = CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\","
                     "\"arguments\":\"{}\"}}") DONE,
     .verdict = MODEL_COMPLETE,
     .calls = {{"a", "f", "{}", true}},
     .unconfirmed = true},
    {.name = "tool markup in the text stays as it is",
     .stream = TEXT("<tool_call>{\\\"name\\\":1}</tool") FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "<tool_call>{\"name\":1}</tool"},
    {.name = "llama.cpp: an error after 200, with counts",
     .stream = TEXT("a") "data: {\"error\":{\"code\":400,\"message\":\"the "
                         "request exceeds the available context size\","
                         "\"type\":\"exceed_context_size_error\","
                         "\"n_prompt_tokens\":5000,\"n_ctx\":4096}}\n\n",
     .verdict = MODEL_ERROR,
     .text = "a",
     .error = MODEL_ERROR_CONTEXT,
     .error_code = "400",
     .prompt_tokens = 5000,
     .context_tokens = 4096},
    {.name = "older llama.cpp: a field named error",
     .stream = "error: {\"code\":500,\"message\":\"oops\",\"type\":"
               "\"server_error\"}\n\n",
     .verdict = MODEL_ERROR,
     .no_choice = true,
     .error = MODEL_ERROR_OTHER,
     .error_code = "500"},
    {.name = "an event named error",
     .stream = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"
               "\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
     .verdict = MODEL_ERROR,
     .no_choice = true,
     .error = MODEL_ERROR_RATE},
    {.name = "OpenRouter: an error chunk with a choice and a numeric code",
     .stream = ": OPENROUTER PROCESSING\n\n"
               "data: {\"id\":\"gen-2\",\"error\":{\"code\":429,\"message\":"
               "\"Provider returned error\"},\"choices\":[{\"index\":0,"
               "\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]"
               "}\n\n" DONE,
     .verdict = MODEL_ERROR,
     .no_choice = true,
     .error = MODEL_ERROR_RATE,
     .error_code = "429"},
    {.name = "finish_reason error without an error",
     .stream = TEXT("a") FINISH("error") DONE,
     .verdict = MODEL_ERROR,
     .text = "a",
     .error = MODEL_ERROR_OTHER,
     .error_code = "finish_error"},
    {.name = "an error of null is none",
     .stream = "data: {\"error\":null,\"choices\":[{\"delta\":{\"content\":"
               "\"a\"},\"finish_reason\":\"stop\"}]}\n\n",
     .verdict = MODEL_COMPLETE,
     .text = "a"},
    {.name = "vLLM: a chunk that is an error",
     .stream = "data: {\"object\":\"error\",\"message\":\"bad\",\"type\":"
               "\"BadRequestError\",\"code\":400}\n\n" DONE,
     .verdict = MODEL_ERROR,
     .no_choice = true,
     .error = MODEL_ERROR_OTHER,
     .error_code = "400"},
    {.name = "OpenRouter: comments between chunks",
     .stream = ": OPENROUTER PROCESSING\n\n" TEXT("a") ":\n\n" TEXT("b")
         FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "ab"},
    {.name = "LM Studio: success without a delta",
     .stream = FINISH("stop") DONE,
     .verdict = MODEL_EMPTY},
    {.name = "only [DONE]",
     .stream = DONE,
     .verdict = MODEL_EMPTY,
     .unconfirmed = true,
     .no_choice = true},
    {.name = "only white space and reasoning",
     .stream = DELTA("\"reasoning\":\"hm\"") TEXT(" \\n") FINISH("stop") DONE,
     .verdict = MODEL_EMPTY,
     .text = " \n",
     .reasoning = "hm",
     .reasoning_field = "reasoning"},
    {.name = "nothing at all",
     .stream = "",
     .verdict = MODEL_CUT,
     .unconfirmed = true,
     .no_choice = true},
    {.name = "comments, then the end",
     .stream = ": ping\n\n: ping\n\n",
     .verdict = MODEL_CUT,
     .unconfirmed = true,
     .no_choice = true},
    {.name = "cut in the text",
     .stream = TEXT("a"),
     .verdict = MODEL_CUT,
     .text = "a",
     .unconfirmed = true},
    {.name = "cut within a chunk",
     .stream = TEXT("a") "data: {\"choices\":[{\"delta\":{\"content\":\"b",
     .verdict = MODEL_CUT,
     .text = "a",
     .unconfirmed = true},
    {.name = "cut within arguments",
     .stream = CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\","
                     "\"arguments\":\"{\\\"q\"}}"),
     .verdict = MODEL_CUT,
     .calls = {{"a", "f", "{\"q", false}},
     .unconfirmed = true},
    {.name = "finish_reason, but no [DONE]",
     .stream = TEXT("a") FINISH("stop"),
     .verdict = MODEL_COMPLETE,
     .text = "a"},
    {.name = "the last line has no end",
     .stream = TEXT("a") "data: [DONE]",
     .verdict = MODEL_COMPLETE,
     .text = "a",
     .unconfirmed = true},
    {.name = "the last chunk has no end",
     .stream = TEXT("a") "data: {\"choices\":[{\"delta\":{},"
                         "\"finish_reason\":\"stop\"}]}",
     .verdict = MODEL_COMPLETE,
     .text = "a"},
    {.name = "length is incomplete, with calls too",
     .stream = TEXT("a")
         CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\","
               "\"arguments\":\"{\\\"q\"}}") FINISH("length") DONE,
     .verdict = MODEL_LENGTH,
     .text = "a",
     .calls = {{"a", "f", "{\"q", false}}},
    {.name = "length without any text",
     .stream = DELTA("\"reasoning_content\":\"long\"") FINISH("length") DONE,
     .verdict = MODEL_LENGTH,
     .reasoning = "long",
     .reasoning_field = "reasoning_content"},
    {.name = "filtered",
     .stream = TEXT("a") FINISH("content_filter") DONE,
     .verdict = MODEL_FILTERED,
     .text = "a"},
    {.name = "a refusal is the answer",
     .stream =
         DELTA("\"content\":null,\"refusal\":\"No.\"") FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "No."},
    {.name = "content in parts",
     .stream = DELTA("\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
                     "{\"type\":\"thinking\",\"thinking\":[]},"
                     "{\"type\":\"text\",\"text\":\"b\"}]") FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "ab"},
    {.name = "another choice is not ours",
     .stream = CHUNK("{\"index\":1,\"delta\":{\"content\":\"x\"}},"
                     "{\"index\":0,\"delta\":{\"content\":\"a\"}}")
         FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a"},
    {.name = "a finish_reason that is no word is an end all the same",
     .stream = TEXT("a") FINISH("\xff\xed\xa0\x80"),
     .verdict = MODEL_COMPLETE,
     .text = "a"},
    {.name = "after [DONE] nothing is read",
     .stream = TEXT("a") DONE TEXT("b") "data: {\"error\":{}}\n\n",
     .verdict = MODEL_COMPLETE,
     .text = "a",
     .unconfirmed = true},
    {.name = "pings and words that are no JSON",
     .stream = "event: ping\ndata: {\"type\":\"ping\"}\n\ndata: ping\n\n"
               "id: 1\nretry: 9\n\n" TEXT("a") FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a"},
    {.name = "a chunk that is broken JSON",
     .stream =
         TEXT("a") "data: {\"choices\":[}\n\n" TEXT("b") FINISH("stop") DONE,
     .verdict = MODEL_ERROR,
     .text = "a",
     .unconfirmed = true,
     .error = MODEL_ERROR_OTHER,
     .error_code = "bad_chunk"},
    {.name = "two values in one chunk",
     .stream = "data: {\"choices\":[]} {\"choices\":[]}\n\n",
     .verdict = MODEL_ERROR,
     .no_choice = true,
     .error = MODEL_ERROR_OTHER,
     .error_code = "bad_chunk"},
    {.name = "line ends CR LF and CR, no space after the colon, data lines",
     .stream = "data:{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\n"
               "data: {\"choices\":[{\"delta\":\r"
               "data: {\"content\":\"b\"}}]}\r\r" FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "ab"},
    {.name = "a byte order mark",
     .stream = "\xef\xbb\xbf" TEXT("a") FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a"},
    {.name = "bytes of a code point in two chunks",
     .stream = TEXT("a\xf0\x9f") TEXT("\x98\x80z\xc3") TEXT("\xa4")
         FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a\xf0\x9f\x98\x80z\xc3\xa4"},
    {.name = "a surrogate pair in two chunks",
     .stream = TEXT("a\\ud83d") TEXT("\\ude00z") FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a\xf0\x9f\x98\x80z"},
    {.name = "what cannot be mended becomes U+FFFD",
     .stream = TEXT("a\\u0000b\\ud83dc\\ude00d\xff") TEXT("e\xe2\x82")
         FINISH("stop") DONE,
     .verdict = MODEL_COMPLETE,
     .text = "a\xef\xbf\xbd"
             "b\xef\xbf\xbd"
             "c\xef\xbf\xbd"
             "d\xef\xbf\xbd"
             "e\xef\xbf\xbd"},
    {.name = "whole: text and usage",
     .stream = "\n {\"id\":\"gen-1\",\"object\":\"chat.completion\","
               "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
               "\"content\":\"Hello\",\"reasoning\":\"r\"},"
               "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,"
               "\"completion_tokens\":2}}\n",
     .verdict = MODEL_COMPLETE,
     .text = "Hello",
     .reasoning = "r",
     .reasoning_field = "reasoning",
     .usage = {true, 1, 2, -1}},
    {.name = "whole: calls, without ids, of one name",
     .stream = "{\"choices\":[{\"message\":{\"content\":null,\"tool_calls\":["
               "{\"function\":{\"name\":\"f\",\"arguments\":\"\"}},"
               "{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}]},"
               "\"finish_reason\":\"stop\"}]}",
     .verdict = MODEL_COMPLETE,
     .calls = {{"req_9_0", "f", "", false},
               {"req_9_1", "f", "{\"a\":1}", true}}},
    {.name = "whole: an error with 200",
     .stream =
         "{\"error\":{\"message\":\"Insufficient credits\",\"code\":402}}",
     .verdict = MODEL_ERROR,
     .no_choice = true,
     .error = MODEL_ERROR_QUOTA,
     .error_code = "402"},
    {.name = "whole: Gemini's errors come in a list",
     .stream = "[{\"error\":{\"code\":429,\"message\":\"slow down\",\"status\":"
               "\"RESOURCE_EXHAUSTED\"}}]",
     .verdict = MODEL_ERROR,
     .no_choice = true,
     .error = MODEL_ERROR_RATE,
     .error_code = "429"},
    {.name = "whole: cut",
     .stream = "{\"choices\":[{\"message\":{\"content\":\"Hel",
     .verdict = MODEL_CUT,
     .unconfirmed = true,
     .no_choice = true},
    {.name = "whole: length",
     .stream = "{\"choices\":[{\"message\":{\"content\":\"Hel\"},"
               "\"finish_reason\":\"length\"}]}",
     .verdict = MODEL_LENGTH,
     .text = "Hel"},
    {.name = "whole: nothing in it",
     .stream = "{\"choices\":[{\"message\":{\"content\":\"\"},"
               "\"finish_reason\":\"stop\"}]}",
     .verdict = MODEL_EMPTY},
    {.name = "a page of a proxy",
     .stream = "<html>\n<body>It works</body>\n\n</html>\n",
     .verdict = MODEL_CUT,
     .unconfirmed = true,
     .no_choice = true},
};

#define N_ROWS ((int)(sizeof(ROWS) / sizeof(ROWS[0])))

static void check_calls(const struct row *row, const struct model_reply *r)
{
    size_t n = 0;

    while (n < 4 && row->calls[n].id != NULL) {
        n++;
    }
    ck_assert_msg(r->n_calls == n, "%s: %zu calls", row->name, r->n_calls);
    for (size_t i = 0; i < n; i++) {
        const struct model_call *call = &r->calls[i];
        const struct call *want = &row->calls[i];

        ck_assert_msg(strcmp(call->id, want->id) == 0, "%s: id %s", row->name,
                      call->id);
        ck_assert_msg(strcmp(call->name, want->name) == 0, "%s: name %s",
                      row->name, call->name);
        ck_assert_msg(strcmp(call->arguments, want->arguments) == 0,
                      "%s: arguments %s", row->name, call->arguments);
        ck_assert_msg(call->arguments_valid == want->valid, "%s: valid",
                      row->name);
    }
}

static void check_error(const struct row *row, const struct model_error *e)
{
    ck_assert_msg(e->kind == row->error, "%s: kind %s", row->name,
                  model_error_kind_name(e->kind));
    if (row->error == MODEL_ERROR_NONE) {
        return;
    }
    ck_assert_msg(strcmp(e->code, row->error_code ? row->error_code : "") == 0,
                  "%s: code %s", row->name, e->code);
    ck_assert_str_ne(e->message, "");
    ck_assert_int_eq(e->prompt_tokens,
                     row->prompt_tokens > 0 ? row->prompt_tokens : -1);
    ck_assert_int_eq(e->context_tokens,
                     row->context_tokens > 0 ? row->context_tokens : -1);
}

/* Whatever came, a row can keep it. */
static void check_kept(const struct model_reply *r)
{
    struct arena *a = arena_new(REPLY_MAX);
    struct model_reply back;
    struct buf b;

    buf_init(&b, REPLY_MAX);
    ck_assert_int_eq(model_reply_print(r, &b), RC_OK);
    ck_assert_int_eq(model_reply_parse(b.data, b.len, a, &back), RC_OK);
    ck_assert_str_eq(back.text, r->text);
    ck_assert_str_eq(back.finish, r->finish);
    buf_free(&b);
    arena_free(a);
}

/* taken: what model_stream_take_text gave, put together. */
static void check_row(const struct row *row, struct model_stream *s,
                      const char *taken)
{
    const char *text = row->text == NULL ? "" : row->text;
    enum model_verdict verdict = model_stream_verdict(s);
    struct model_reply r;

    model_stream_reply(s, &r);
    check_kept(&r);
    ck_assert_msg(verdict == row->verdict, "%s: %s (%s)", row->name,
                  model_verdict_name(verdict), model_stream_error(s)->message);
    ck_assert_msg(strcmp(r.text, text) == 0, "%s: text %s", row->name, r.text);
    ck_assert_msg(strcmp(taken, text) == 0, "%s: taken %s", row->name, taken);
    ck_assert_msg((r.reasoning == NULL) == (row->reasoning == NULL),
                  "%s: reasoning", row->name);
    if (row->reasoning != NULL) {
        ck_assert_str_eq(r.reasoning, row->reasoning);
        ck_assert_str_eq(r.reasoning_field, row->reasoning_field);
    }
    check_calls(row, &r);
    check_error(row, model_stream_error(s));
    if (row->error == MODEL_ERROR_NONE) {
        ck_assert_msg(model_stream_confirmed(s) == !row->unconfirmed,
                      "%s: confirmed", row->name);
    }
    ck_assert_msg(model_stream_choice_seen(s) == !row->no_choice, "%s: choice",
                  row->name);
    ck_assert_msg(r.usage.known == row->usage.known &&
                      r.usage.input_tokens == row->usage.input_tokens &&
                      r.usage.output_tokens == row->usage.output_tokens &&
                      r.usage.cached_tokens == row->usage.cached_tokens,
                  "%s: usage", row->name);
}

static void take_text(struct model_stream *s, struct buf *all)
{
    size_t len;
    const char *text = model_stream_take_text(s, &len);

    ck_assert(utf8_valid(text, len));
    buf_add(all, text, len);
}

/* Feed the row cut at one place; at 0 and at the end it comes whole. */
static void run_cut(const struct row *row, size_t cut)
{
    struct model_stream *s = stream_new(REPLY_MAX);
    size_t len = strlen(row->stream);
    struct buf taken;

    buf_init(&taken, REPLY_MAX);
    model_stream_feed(s, row->stream, cut);
    take_text(s, &taken);
    model_stream_feed(s, row->stream + cut, len - cut);
    take_text(s, &taken);
    model_stream_end(s);
    take_text(s, &taken);
    check_row(row, s, buf_str(&taken));
    model_stream_free(s);
    buf_free(&taken);
}

START_TEST(streams_whole_and_cut_anywhere)
{
    const struct row *row = &ROWS[_i];
    size_t len = strlen(row->stream);

    for (size_t cut = 0; cut <= len; cut++) {
        run_cut(row, cut);
    }
}
END_TEST

START_TEST(streams_byte_by_byte)
{
    const struct row *row = &ROWS[_i];
    struct model_stream *s = stream_new(REPLY_MAX);
    struct buf taken;

    buf_init(&taken, REPLY_MAX);
    for (const char *p = row->stream; *p != '\0'; p++) {
        model_stream_feed(s, p, 1);
        take_text(s, &taken);
    }
    model_stream_end(s);
    take_text(s, &taken);
    check_row(row, s, buf_str(&taken));
    model_stream_free(s);
    buf_free(&taken);
}
END_TEST

/* Every cut of a stream before its end, as a broken connection makes them, is
 * never complete. */
START_TEST(no_beginning_of_a_stream_is_complete)
{
    static const char stream[] = TEXT("a")
        CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\","
              "\"arguments\":\"{}\"}}") TEXT("b");

    for (size_t len = 0; len < sizeof(stream); len++) {
        struct model_stream *s = stream_new(REPLY_MAX);

        model_stream_feed(s, stream, len);
        ck_assert_int_eq(model_stream_verdict(s), MODEL_OPEN);
        model_stream_end(s);
        ck_assert_int_eq(model_stream_verdict(s), MODEL_CUT);
        model_stream_free(s);
    }
}
END_TEST

START_TEST(open_until_done_or_end)
{
    struct model_stream *s = stream_new(REPLY_MAX);
    struct model_reply r;
    size_t len;

    feed(s, ": comment\n\ndata: {\"id\":\"gen-1\",\"choices\":[]}\n\n");
    ck_assert(!model_stream_choice_seen(s));
    feed(s, TEXT("Hi"));
    ck_assert(model_stream_choice_seen(s));
    ck_assert_int_eq(model_stream_verdict(s), MODEL_OPEN);
    ck_assert_mem_eq(model_stream_take_text(s, &len), "Hi", 2);
    ck_assert_uint_eq(len, 2);
    (void)model_stream_take_text(s, &len);
    ck_assert_uint_eq(len, 0);
    feed(s, FINISH("stop"));
    ck_assert_int_eq(model_stream_verdict(s), MODEL_OPEN); /* usage may come */
    ck_assert(!model_stream_done_seen(s));
    feed(s, DONE);
    ck_assert(model_stream_done_seen(s));
    ck_assert_int_eq(model_stream_verdict(s), MODEL_COMPLETE);
    model_stream_reply(s, &r);
    ck_assert_str_eq(r.generation_id, "gen-1");
    ck_assert_str_eq(r.finish, "stop");
    feed(s, "data: {\"error\":{}}\n\n");
    model_stream_end(s);
    model_stream_end(s);
    ck_assert_int_eq(model_stream_verdict(s), MODEL_COMPLETE);
    model_stream_free(s);
    model_stream_free(NULL);
}
END_TEST

/* --- limits ------------------------------------------------------------ */

/* What came is kept, and nothing more is read. */
static void check_cut(struct model_stream *s, struct model_reply *r)
{
    ck_assert_int_eq(model_stream_verdict(s), MODEL_LENGTH);
    feed(s, TEXT("more") FINISH("stop") DONE);
    model_stream_end(s);
    ck_assert_int_eq(model_stream_verdict(s), MODEL_LENGTH);
    model_stream_reply(s, r);
    ck_assert_str_eq(r->finish, MODEL_FINISH_LIMIT);
    ck_assert(model_reply_is_torn(r));
}

/* There is nothing that could be kept. */
static void check_limit(struct model_stream *s)
{
    ck_assert_int_eq(model_stream_verdict(s), MODEL_ERROR);
    ck_assert_int_eq(model_stream_error(s)->kind, MODEL_ERROR_OTHER);
    ck_assert_str_eq(model_stream_error(s)->code, "reply_too_large");
    ck_assert(model_stream_error(s)->ours);
    feed(s, TEXT("more"));
    model_stream_end(s);
    ck_assert_int_eq(model_stream_verdict(s), MODEL_ERROR);
    ck_assert_str_eq(model_stream_error(s)->code, "reply_too_large");
}

START_TEST(reply_bytes_are_limited)
{
    static const char stream[] = TEXT("a") FINISH("stop");
    struct model_stream *s = stream_new(sizeof(stream) - 1);
    struct model_reply r;

    feed(s, stream);
    model_stream_end(s);
    ck_assert_int_eq(model_stream_verdict(s), MODEL_COMPLETE);
    model_stream_free(s);
    s = stream_new(10);
    feed(s, stream);
    check_limit(s);
    model_stream_free(s);
    s = stream_new(sizeof(stream) - 2); /* in one piece */
    feed(s, stream);
    check_cut(s, &r);
    ck_assert_str_eq(r.text, "a");
    model_stream_free(s);
}
END_TEST

START_TEST(a_line_is_limited)
{
    struct model_stream *s = stream_new(REPLY_MAX);
    char *line = malloc(MODEL_STREAM_LINE_MAX + 1);
    struct model_reply r;

    ck_assert_ptr_nonnull(line);
    memset(line, 'x', MODEL_STREAM_LINE_MAX + 1);
    model_stream_feed(s, line, MODEL_STREAM_LINE_MAX);
    ck_assert_int_eq(model_stream_verdict(s), MODEL_OPEN);
    model_stream_feed(s, line, 1);
    check_limit(s);
    model_stream_free(s);
    s = stream_new(REPLY_MAX);
    feed(s, TEXT("a"));
    model_stream_feed(s, line, MODEL_STREAM_LINE_MAX + 1);
    check_cut(s, &r);
    ck_assert_str_eq(r.text, "a");
    model_stream_free(s);
    free(line);
}
END_TEST

/* Of a text, cut between two letters; one that only thinks is not cut. */
START_TEST(text_is_limited)
{
    const struct model_stream_options o = {.max_reply_bytes = REPLY_MAX,
                                           .max_text_bytes = 8,
                                           .call_id_prefix = "req_9"};
    static const char *const STREAMS[] = {
        TEXT("abcdef\u20ac") CALLS("{\"index\":0,\"id\":\"z\"}"),
        TEXT("abc") TEXT("def\u20acgh") TEXT("ij"),
        "{\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"message\":{"
        "\"content\":\"abcdef\u20acghij\"}}]}"};
    struct model_reply r;

    for (size_t i = 0; i < sizeof(STREAMS) / sizeof(STREAMS[0]); i++) {
        struct model_stream *s = NULL;

        ck_assert_int_eq(model_stream_new(&o, &s), RC_OK);
        feed(s, STREAMS[i]);
        if (i == 2) {
            model_stream_end(s);
        }
        check_cut(s, &r);
        ck_assert_str_eq(r.text, "abcdef");
        model_stream_free(s);
    }
}
END_TEST

START_TEST(reasoning_is_kept_to_a_bound)
{
    struct model_stream *s = stream_new(REPLY_MAX);
    size_t len = MODEL_STREAM_LINE_MAX / 2;
    char *chunk = malloc(len + sizeof(DELTA("\"reasoning\":\"\"")));
    struct model_reply r;

    ck_assert_ptr_nonnull(chunk);
    (void)sprintf(chunk, DELTA("\"reasoning\":\"%0*d\""), (int)len, 0);
    for (size_t n = 0; n <= MODEL_STREAM_REASONING_MAX; n += len) {
        feed(s, chunk);
    }
    feed(s, TEXT("done") FINISH("stop") DONE);
    ck_assert_int_eq(model_stream_verdict(s), MODEL_COMPLETE);
    model_stream_reply(s, &r);
    ck_assert_str_eq(r.text, "done");
    ck_assert_uint_eq(strlen(r.reasoning), MODEL_STREAM_REASONING_MAX);
    model_stream_free(s);
    free(chunk);
}
END_TEST

START_TEST(calls_are_limited)
{
    struct model_stream *s = stream_new(REPLY_MAX);
    struct model_reply r;

    for (int i = 0; i < MODEL_STREAM_CALLS_MAX; i++) {
        char chunk[256];

        (void)snprintf(chunk, sizeof(chunk),
                       CALLS("{\"index\":%d,\"id\":\"c%d\",\"function\":{"
                             "\"name\":\"f\",\"arguments\":\"{}\"}}"),
                       i, i);
        feed(s, chunk);
    }
    ck_assert_int_eq(model_stream_verdict(s), MODEL_OPEN);
    feed(s, CALLS("{\"index\":99,\"id\":\"z\"}"));
    check_cut(s, &r);
    ck_assert_uint_eq(r.n_calls, MODEL_STREAM_CALLS_MAX);
    ck_assert_str_eq(r.calls[MODEL_STREAM_CALLS_MAX - 1].id, "c63");
    ck_assert(r.calls[MODEL_STREAM_CALLS_MAX - 1].arguments_valid);
    model_stream_free(s);
}
END_TEST

/* A call whose arguments are text of so many bytes, and eight more. */
#define LONG_CALL                                                              \
    CALLS("{\"index\":%d,\"id\":\"c%d\",\"function\":{\"name\":\"f\","         \
          "\"arguments\":\"{\\\"a\\\":\\\"%0*d\\\"}\"}}")

/* Those of one call, and those of all calls together. */
START_TEST(arguments_are_limited)
{
    struct model_stream *s = NULL;
    const struct model_stream_options o = {.max_reply_bytes = REPLY_MAX,
                                           .max_text_bytes = 1000,
                                           .call_id_prefix = "req_9"};
    size_t len = MODEL_STREAM_ARGUMENTS_MAX / 4;
    char *chunk = malloc(len + sizeof(LONG_CALL) + 32);
    struct model_reply r;

    ck_assert_ptr_nonnull(chunk);
    ck_assert_int_eq(model_stream_new(&o, &s), RC_OK);
    (void)sprintf(chunk, LONG_CALL, 0, 0, 500, 1);
    feed(s, chunk);
    (void)sprintf(chunk, LONG_CALL, 1, 1, 1000, 1);
    feed(s, chunk);
    check_cut(s, &r);
    ck_assert_uint_eq(r.n_calls, 2);
    ck_assert(r.calls[0].arguments_valid);
    ck_assert_uint_eq(strlen(r.calls[1].arguments), 1000);
    ck_assert(!r.calls[1].arguments_valid);
    model_stream_free(s);

    s = stream_new(REPLY_MAX);
    for (int i = 0; i < 5; i++) {
        (void)sprintf(chunk, LONG_CALL, i, i, (int)len - 10, 1);
        feed(s, chunk);
        ck_assert_int_eq(model_stream_verdict(s),
                         i < 4 ? MODEL_OPEN : MODEL_LENGTH);
    }
    check_cut(s, &r);
    ck_assert_uint_eq(r.n_calls, 5);
    ck_assert(r.calls[3].arguments_valid);
    ck_assert(!r.calls[4].arguments_valid);
    model_stream_free(s);
    free(chunk);
}
END_TEST

/* --- errors ------------------------------------------------------------ */

static const struct {
    const char *name;
    long status;
    const char *body;
    enum model_error_kind kind;
    const char *code;
    const char *message; /* the beginning */
} ERRORS[] = {
    {"OpenAI: throttled, though it names the billing page", 429,
     "{\"error\":{\"message\":\"Rate limit reached. Visit account/billing\","
     "\"type\":\"requests\",\"param\":null,\"code\":\"rate_limit_exceeded\"}}",
     MODEL_ERROR_RATE, "rate_limit_exceeded", "Rate limit reached"},
    {"the same without a code", 429,
     "{\"error\":{\"message\":\"Rate limit reached: check your plan, you "
     "exceeded your current quota\",\"type\":\"tokens\",\"code\":null}}",
     MODEL_ERROR_RATE, "", "Rate limit"},
    {"OpenAI: quota", 429,
     "{\"error\":{\"message\":\"You exceeded your current quota\",\"type\":"
     "\"insufficient_quota\",\"code\":\"insufficient_quota\"}}",
     MODEL_ERROR_QUOTA, "insufficient_quota", "You exceeded"},
    {"quota by its words alone", 429,
     "{\"error\":{\"message\":\"You exceeded your current quota\"}}",
     MODEL_ERROR_QUOTA, "", "You exceeded"},
    {"DeepSeek: balance", 402,
     "{\"error\":{\"message\":\"Insufficient Balance\",\"code\":"
     "\"invalid_request_error\"}}",
     MODEL_ERROR_QUOTA, "invalid_request_error", "Insufficient"},
    {"payment required", 402, "", MODEL_ERROR_QUOTA, "", "HTTP 402"},
    {"a bare 429", 429, "", MODEL_ERROR_RATE, "", "HTTP 429"},
    {"a bare 503", 503, "<html>Service Unavailable</html>", MODEL_ERROR_RATE,
     "", "HTTP 503"},
    {"a bare 500", 500, "<html>oops</html>", MODEL_ERROR_OTHER, "", "HTTP 500"},
    {"words", 500, "Internal\r\nServer Error", MODEL_ERROR_OTHER, "",
     "Internal  Server Error"},
    {"OpenAI: context", 400,
     "{\"error\":{\"message\":\"This model's maximum context length is 8192\","
     "\"type\":\"invalid_request_error\",\"code\":"
     "\"context_length_exceeded\"}}",
     MODEL_ERROR_CONTEXT, "context_length_exceeded", "This model"},
    {"Ollama: the front was dropped", 500,
     "{\"error\":\"template: no user query found in messages\"}",
     MODEL_ERROR_CONTEXT, "", "template"},
    {"Anthropic: prompt", 400,
     "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is "
     "too long: 9 tokens > 8 maximum\"}}",
     MODEL_ERROR_CONTEXT, "", "prompt is too long"},
    {"payload too large", 413, "", MODEL_ERROR_CONTEXT, "", "HTTP 413"},
    {"a wrong key", 401,
     "{\"error\":{\"message\":\"Incorrect API key\",\"code\":"
     "\"invalid_api_key\"}}",
     MODEL_ERROR_AUTH, "invalid_api_key", "Incorrect"},
    {"forbidden", 403, "{}", MODEL_ERROR_AUTH, "", "HTTP 403"},
    {"older llama.cpp", 500,
     "{\"error\":{\"code\":500,\"message\":\"Cannot use tools with stream\","
     "\"type\":\"server_error\"}}",
     MODEL_ERROR_NO_STREAM, "500", "Cannot use tools"},
    {"Mistral: top-level members", 400,
     "{\"object\":\"error\",\"message\":\"Expected last role\",\"type\":"
     "\"invalid_request_message_order\",\"param\":null,\"code\":\"3230\"}",
     MODEL_ERROR_OTHER, "3230", "Expected last role"},
    {"FastAPI: a detail", 422, "{\"detail\":[{\"msg\":\"field required\"}]}",
     MODEL_ERROR_OTHER, "", "[{\"msg\":\"field required\"}]"},
    {"FastAPI: words", 404, "{\"detail\":\"Not Found\"}", MODEL_ERROR_OTHER, "",
     "Not Found"},
    {"OpenRouter: what the provider said", 400,
     "{\"error\":{\"message\":\"Provider returned error\",\"code\":400,"
     "\"metadata\":{\"raw\":\"context window exceeded\"}}}",
     MODEL_ERROR_CONTEXT, "400", "Provider returned error: context window"},
    {"Gemini: a list", 429, "[{\"error\":{\"code\":429,\"message\":\"Slow\"}}]",
     MODEL_ERROR_RATE, "429", "Slow"},
    {"an event", 500, "data: {\"error\":{\"message\":\"Overloaded\"}}\n\n",
     MODEL_ERROR_RATE, "", "Overloaded"},
    {"bytes that are no text", 500, "\xff\xfe\x01", MODEL_ERROR_OTHER, "",
     "\xef\xbf\xbd\xef\xbf\xbd "},
};

START_TEST(errors_of_other_statuses)
{
    struct model_error e;

    model_chat_error(ERRORS[_i].body, strlen(ERRORS[_i].body),
                     ERRORS[_i].status, &e);
    ck_assert_msg(e.kind == ERRORS[_i].kind, "%s: %s", ERRORS[_i].name,
                  model_error_kind_name(e.kind));
    ck_assert_msg(strcmp(e.code, ERRORS[_i].code) == 0, "%s: %s",
                  ERRORS[_i].name, e.code);
    ck_assert_msg(
        strncmp(e.message, ERRORS[_i].message, strlen(ERRORS[_i].message)) == 0,
        "%s: %s", ERRORS[_i].name, e.message);
    ck_assert_int_eq(e.status, ERRORS[_i].status);
}
END_TEST

START_TEST(a_long_error_is_cut_between_letters)
{
    /* Every alignment of a three-byte letter against the end. */
    for (size_t shift = 0; shift < 3; shift++) {
        struct model_error e;
        struct buf body;
        size_t len;

        buf_init(&body, 4096);
        buf_printf(&body, "{\"error\":\"%.*s", (int)shift, "xxx");
        while (body.len < 3000) {
            buf_puts(&body, "\xe2\x82\xac");
        }
        buf_puts(&body, "\"}");
        model_chat_error(buf_str(&body), body.len, 500, &e);
        len = strlen(e.message);
        ck_assert_uint_gt(len, sizeof(e.message) - 4);
        ck_assert(utf8_valid(e.message, len));
        buf_free(&body);
    }
}
END_TEST

Suite *model_stream_suite(void)
{
    Suite *s = suite_create("model_stream");
    TCase *t = tcase_create("model_stream");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, streams_whole_and_cut_anywhere, 0, N_ROWS);
    tcase_add_loop_test(t, streams_byte_by_byte, 0, N_ROWS);
    tcase_add_test(t, no_beginning_of_a_stream_is_complete);
    tcase_add_test(t, open_until_done_or_end);
    tcase_add_test(t, reply_bytes_are_limited);
    tcase_add_test(t, a_line_is_limited);
    tcase_add_test(t, text_is_limited);
    tcase_add_test(t, reasoning_is_kept_to_a_bound);
    tcase_add_test(t, calls_are_limited);
    tcase_add_test(t, arguments_are_limited);
    tcase_add_loop_test(t, errors_of_other_statuses, 0,
                        (int)(sizeof(ERRORS) / sizeof(ERRORS[0])));
    tcase_add_test(t, a_long_error_is_cut_between_letters);
    suite_add_tcase(s, t);
    return s;
}
