#include "sql/base/conf_key.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

#define TEXT(name, fallback, type, field, help)                                \
    {                                                                          \
        {name, fallback, help}, type, offsetof(struct conf, field), 0, 0       \
    }
#define NUMBER(name, fallback, min, max, field, help)                          \
    {                                                                          \
        {name, #fallback, help}, TYPE_NUMBER, offsetof(struct conf, field),    \
            min, max                                                           \
    }

/* clang-format off */
static const struct conf_row ROW[] = {
    TEXT("data", "./var/data", TYPE_TEXT, data,
         "Directory of the database and its doorbell."),
    TEXT("prefix", "", TYPE_PREFIX, prefix,
         "URL path before `/api` and the page, for a sub-folder of a shared "
         "host: empty, or like `/aside`."),
    TEXT("auth", "none", TYPE_AUTH, auth,
         "Who may use it. `none`: whoever is on this machine, as account "
         "`me`. `proxy`: whom the web server names in REMOTE_USER. `token`: "
         "whoever has a token of an account (see below)."),
    TEXT("hosts", "", TYPE_TEXT, hosts,
         "With `auth = none`, further names under which this machine is "
         "reached, separated by spaces."),
    TEXT("log.level", "info", TYPE_LEVEL, log_level,
         "The least level that is logged: `debug`, `info`, `warn` or "
         "`error`."),
    TEXT("model.url", "http://127.0.0.1:8080/offline/v1", TYPE_URL, model_url,
         "The model endpoint, up to and without `/chat/completions`. The "
         "default is the bundled offline model."),
    TEXT("model.key", "", TYPE_SECRET, model_key,
         "Sent to the endpoint as bearer token, unless it is empty."),
    TEXT("model.name", "offline", TYPE_TEXT, model_name,
         "The model's name in requests."),
    NUMBER("model.max_concurrent", 4, 1, 10000, model_max_concurrent,
           "Requests at the endpoint at once."),
    NUMBER("model.context_tokens", 32768, 1024, 100000000,
           model_context_tokens,
           "Tokens that a request and its answer may hold together."),
    NUMBER("model.max_output_tokens", 4096, 16, 10000000,
           model_max_output_tokens,
           "Tokens of one answer."),
    NUMBER("model.prompt_tokens", 65536, 512, 100000000, model_prompt_tokens,
           "Tokens that a request may hold beside its answer, even if the "
           "model could hold more: a longer research is cut to it, oldest "
           "steps first."),
    NUMBER("model.connect_timeout_ms", 10000, 10, 3600000,
           model_connect_timeout_ms,
           "Milliseconds until the connection must stand."),
    NUMBER("model.first_byte_timeout_ms", 60000, 10, 3600000,
           model_first_byte_timeout_ms,
           "Milliseconds from the request to the first byte of the answer."),
    NUMBER("model.silence_timeout_ms", 60000, 10, 3600000,
           model_silence_timeout_ms,
           "Milliseconds between two bytes of an answer."),
    NUMBER("model.total_timeout_ms", 600000, 10, 86400000,
           model_total_timeout_ms,
           "Milliseconds for one whole request."),
    NUMBER("short.limit", 3, 1, 1000, short_limit,
           "Short answers of one account at once."),
    NUMBER("background.limit", 1, 1, 1000, background_limit,
           "Researches of one account at once."),
    NUMBER("budget.normal.requests", 24, 2, 100000, normal.requests,
           "Model requests of a research of normal depth, the closing one "
           "included."),
    NUMBER("budget.normal.tool_calls", 60, 0, 100000, normal.tool_calls,
           "Its tool calls."),
    NUMBER("budget.normal.seconds", 900, 1, 2592000, normal.seconds,
           "Its working time in seconds; waiting for the user does not "
           "count."),
    NUMBER("budget.normal.tokens", 400000, 100, 10000000000, normal.tokens,
           "Its tokens, input and output together."),
    NUMBER("budget.deep.requests", 80, 2, 100000, deep.requests,
           "The same for deep research."),
    NUMBER("budget.deep.tool_calls", 200, 0, 100000, deep.tool_calls,
           "The same for deep research."),
    NUMBER("budget.deep.seconds", 3600, 1, 2592000, deep.seconds,
           "The same for deep research."),
    NUMBER("budget.deep.tokens", 2000000, 100, 10000000000, deep.tokens,
           "The same for deep research."),
    TEXT("library", "", TYPE_TEXT, library,
         "Folders of documents to search, separated by `:`. All accounts "
         "search them, beside what each has added itself."),
    NUMBER("library.max_files", 1000, 0, 10000, library_max_files,
           "Files that one account may add to its library; 0: none."),
    NUMBER("library.max_bytes", 268435456, 0, 1000000000000, library_max_bytes,
           "Their bytes together. One file has at most 5 MiB."),
    TEXT("web.fetch", "off", TYPE_SWITCH, web_fetch,
         "`on`: the model may read pages of the web, by `web_fetch`."),
    TEXT("web.allow", "", TYPE_ALLOWED, web_allow,
         "What `web_fetch` may reach beside the public internet: addresses, "
         "ranges like `10.0.0.0/8`, and host names, separated by spaces."),
    TEXT("web.ports", "80 443", TYPE_PORTS, web_ports,
         "Ports of the public internet that `web_fetch` may reach, and ranges "
         "like `8000-8999`, separated by spaces. Empty: it reaches only what "
         "`web.allow` opens, which is open on all ports."),
    TEXT("web.agent", "Aside (reads single pages for a person's research)",
         TYPE_TEXT, web_agent,
         "How `web_fetch` and `web_search` introduce themselves to web "
         "servers; a place for an address to write to."),
    NUMBER("web.max_bytes", 5242880, 1024, 5242880, web_max_bytes,
           "Bytes of one page, as they are after decompression."),
    NUMBER("web.timeout_ms", 20000, 100, 120000, web_timeout_ms,
           "Milliseconds for one page, redirects included, and for one "
           "search."),
    TEXT("web.search_url", "", TYPE_URL_OR_NONE, web_search_url,
         "A search service that answers `?q=...&format=json` as SearXNG does, "
         "like `https://searx.example/search`. Empty: the model is offered "
         "no `web_search`."),
    NUMBER("tools.parallel", 4, 1, 64, tools_parallel,
           "Tool calls of one Run at once; those that do not only read are "
           "made alone."),
    NUMBER("db.busy_timeout_ms", 2000, 1, 60000, busy_timeout_ms,
           "Milliseconds to wait for the database's write lock before a "
           "request is answered 503."),
    NUMBER("wait.max_seconds", 86400, 1, 31536000, max_wait_seconds,
           "Seconds that a research waits for the user's reply."),
    NUMBER("retention.days", 0, 0, 36500, retention_days,
           "Conversations in which nothing has happened for so many days are "
           "removed; 0: none."),
    NUMBER("retention.conversations", 0, 0, 1000000, retention_conversations,
           "Of each account the newest so many conversations are kept; 0: "
           "all."),
    NUMBER("audit.days", 0, 0, 36500, audit_days,
           "Lines of the audit log that are older than so many days are "
           "removed; 0: none. 30 is the least."),
    NUMBER("poll.max_parked", 8000, 1, 1000000, poll_max_parked,
           "Waiting polls that one responder holds."),
    NUMBER("poll.max_per_account", 256, 0, 1000000, poll_max_per_account,
           "Of these, how many may be one account's, unless `auth = none`; "
           "further ones are answered at once. `0`: all."),
    NUMBER("limit.account_per_minute", 6000, 0, 1000000,
           limit_account_per_minute,
           "Writes of one account in a minute, at one responder; `0`: any "
           "number."),
    NUMBER("limit.address_per_minute", 12000, 0, 1000000,
           limit_address_per_minute,
           "Writes from one address in a minute, at one responder; `0`: any "
           "number. This machine's own addresses are not counted."),
    NUMBER("limit.login_per_minute", 30, 0, 1000000, limit_login_per_minute,
           "Logins with a wrong token from one address in a minute, at one "
           "responder, before they are answered 429; `0`: any number."),
    NUMBER("offline.words_per_second", 40, 1, 1000000,
           offline_words_per_second,
           "Pace of the offline model."),
};
/* clang-format on */

/* --- what each server has -------------------------------------------------- */

#define MCP_TEXT(name, type, field, help)                                      \
    {                                                                          \
        {CONF_KEY_ANY_NAME name, "", help}, type,                              \
            offsetof(struct conf_mcp, field), 0, 0                             \
    }

/* clang-format off */
static const struct conf_row MCP_ROW[] = {
    MCP_TEXT("url", TYPE_PLACE, url,
             "A server of the Model Context Protocol: where it speaks "
             "Streamable HTTP. `<name>` is yours to choose, of small letters "
             "and digits; its tools are offered as `<name>__tool`."),
    MCP_TEXT("token", TYPE_SECRET, token,
             "Sent to this server as bearer token, unless it is empty."),
    MCP_TEXT("header", TYPE_HEADER, header,
             "A further header for this server, as `Name: value`."),
    {{CONF_KEY_ANY_NAME "timeout_ms", "60000",
      "Milliseconds for one call of a tool of this server."},
     TYPE_NUMBER, offsetof(struct conf_mcp, timeout_ms), 100, 3600000},
};
/* clang-format on */

/* --- what each tool may have, and each server ------------------------------ */

#define LIMIT_MOST 1000000000

#define LIMIT(name, field, help)                                               \
    {                                                                          \
        {CONF_KEY_ANY_TOOL name, "", help}, TYPE_NUMBER,                       \
            offsetof(struct conf_policy, field), 0, LIMIT_MOST                 \
    }

/* clang-format off */
static const struct conf_row POLICY_ROW[] = {
    {{CONF_KEY_ANY_TOOL, "",
      "What the model may do with a tool of this name, with all tools of a "
      "server (`policy.files`) or with one of them (`policy.files__remove`, "
      "which goes before): `allow`, `ask` (each call waits for the person) or "
      "`deny`. Empty: `allow` for Aside's own tools and for those that a server "
      "says only read, `ask` for all others."},
     TYPE_VERDICT, offsetof(struct conf_policy, verdict), 0, 0},
    LIMIT(".per_run", per_run,
          "Calls that may be made of it in one Run; of a server, of all its "
          "tools together. Empty: no limit but the Run's own."),
    LIMIT(".per_day", per_day,
          "Calls that may be made of it for one account in one day of UTC."),
};
/* clang-format on */

/* --- all ------------------------------------------------------------------- */

_Static_assert(COUNT(ROW) <= CONF_KEY_MOST, "a key has no place for its line");
_Static_assert(COUNT(MCP_ROW) <= CONF_KEY_FEW, "likewise");
_Static_assert(COUNT(POLICY_ROW) <= CONF_KEY_FEW, "likewise");

const struct conf_table conf_key_own = {ROW, COUNT(ROW)};
const struct conf_table conf_key_server = {MCP_ROW, COUNT(MCP_ROW)};
const struct conf_table conf_key_policy = {POLICY_ROW, COUNT(POLICY_ROW)};

/* Aside's own tools, as runtime/tool/tool.c has them. What a model does to the
 * conversation itself (start_research, ask_user, deliver_report and their like)
 * is no tool of a policy. */
static const char *const OWN_TOOL[] = {
    "library_search", "library_read", "web_search",    "web_fetch",
    "note",           "recall",       "publish_draft",
};

const struct conf_key *conf_key_at(size_t i)
{
    if (i < COUNT(ROW)) {
        return &ROW[i].key;
    }
    i -= COUNT(ROW);
    if (i < COUNT(MCP_ROW)) {
        return &MCP_ROW[i].key;
    }
    i -= COUNT(MCP_ROW);
    return i < COUNT(POLICY_ROW) ? &POLICY_ROW[i].key : NULL;
}

const char *conf_tool_at(size_t i)
{
    return i < COUNT(OWN_TOOL) ? OWN_TOOL[i] : NULL;
}
