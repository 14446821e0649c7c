/* conf.c - one table of keys; everything else walks it. */
#include "sql/base/conf.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/base/conf_value.h"
#include "sql/base/log.h"
#include "sql/base/mask.h"
#include "sql/base/utf8.h"

extern char **environ;

#define FILE_BYTES 65536 /* the longest file */
#define NAME_BYTES 96
/* Of a faulty value, an error line shows this much. */
#define SHOWN_BYTES 60

struct row {
    struct conf_key key;
    enum conf_type type;
    size_t at;   /* offset in struct conf, conf_mcp or conf_policy */
    int64_t min; /* of a number */
    int64_t max; /* of a number */
};

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
static const struct row ROW[] = {
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
    TEXT("web.agent", "Aside (reads single pages for a person's research)",
         TYPE_TEXT, web_agent,
         "How `web_fetch` introduces itself to web servers; a place for an "
         "address to write to."),
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

#define N_ROWS (sizeof(ROW) / sizeof(ROW[0]))

/* What each server has; the key begins with "mcp." and the server's name. */
#define MCP       "mcp."
#define ANY_NAME  MCP "<name>."
#define NAME_MOST 16

#define MCP_TEXT(name, type, field, help)                                      \
    {                                                                          \
        {ANY_NAME name, "", help}, type, offsetof(struct conf_mcp, field), 0,  \
            0                                                                  \
    }

/* clang-format off */
static const struct row MCP_ROW[] = {
    MCP_TEXT("url", TYPE_PLACE, url,
             "A server of the Model Context Protocol: where it speaks "
             "Streamable HTTP. `<name>` is yours to choose, of small letters "
             "and digits; its tools are offered as `<name>__tool`."),
    MCP_TEXT("token", TYPE_SECRET, token,
             "Sent to this server as bearer token, unless it is empty."),
    MCP_TEXT("header", TYPE_HEADER, header,
             "A further header for this server, as `Name: value`."),
    {{ANY_NAME "timeout_ms", "60000",
      "Milliseconds for one call of a tool of this server."},
     TYPE_NUMBER, offsetof(struct conf_mcp, timeout_ms), 100, 3600000},
};
/* clang-format on */

#define N_MCP_ROWS (sizeof(MCP_ROW) / sizeof(MCP_ROW[0]))

/* What each tool may have, and each server. */
#define POLICY     "policy."
#define ANY_TOOL   POLICY "<name>"
#define TOOL_MOST  64   /* bytes of a tool's name, as endpoints take it */
#define BETWEEN    "__" /* a server's name and its tool's */
#define NO_LIMIT   (-1)
#define LIMIT_MOST 1000000000

#define LIMIT(name, field, help)                                               \
    {                                                                          \
        {ANY_TOOL name, "", help}, TYPE_NUMBER,                                \
            offsetof(struct conf_policy, field), 0, LIMIT_MOST                 \
    }

/* clang-format off */
static const struct row POLICY_ROW[] = {
    {{ANY_TOOL, "",
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

#define N_POLICY_ROWS (sizeof(POLICY_ROW) / sizeof(POLICY_ROW[0]))

/* Aside's own tools, as runtime/tool/tool.c has them. What a model does to the
 * conversation itself (start_research, ask_user, deliver_report and their like)
 * is no tool of a policy. */
static const char *const OWN_TOOL[] = {
    "library_search", "library_read", "web_search",    "web_fetch",
    "note",           "recall",       "publish_draft",
};

#define N_OWN_TOOLS (sizeof(OWN_TOOL) / sizeof(OWN_TOOL[0]))

/* Variables of the tests and of the crash hook, which are no keys. */
static const char *const NOT_KEYS[] = {"ASIDE_FAULT_", "ASIDE_TEST_",
                                       "ASIDE_BIN=", "ASIDE_STATIC="};

const struct conf_key *conf_key_at(size_t i)
{
    if (i < N_ROWS) {
        return &ROW[i].key;
    }
    i -= N_ROWS;
    if (i < N_MCP_ROWS) {
        return &MCP_ROW[i].key;
    }
    i -= N_MCP_ROWS;
    return i < N_POLICY_ROWS ? &POLICY_ROW[i].key : NULL;
}

const char *conf_tool_at(size_t i)
{
    return i < N_OWN_TOOLS ? OWN_TOOL[i] : NULL;
}

const struct conf_policy *conf_policy_of(const struct conf *c, const char *name)
{
    for (size_t i = 0; i < c->n_policy; i++) {
        if (strcmp(c->policy[i].name, name) == 0) {
            return &c->policy[i];
        }
    }
    return NULL;
}

/* Where an error is told, and what is being read. */
struct reading {
    struct conf *conf;
    char *err;
    size_t err_len;
    char place[256];     /* "aside.conf:3" or the variable's name */
    int line_of[N_ROWS]; /* where the file has set each key already */
    int mcp_line_of[CONF_MCP_MAX][N_MCP_ROWS]; /* in order of appearance */
    int policy_line_of[CONF_POLICY_MAX][N_POLICY_ROWS]; /* likewise */
};

/* What a key names: its row, and where its value goes. */
struct slot {
    const struct row *row;
    void *base; /* struct conf, conf_mcp or conf_policy */
    int *line;
};

static enum rc __attribute__((format(printf, 2, 3)))
complain(const struct reading *r, const char *fmt, ...)
{
    va_list args;
    int n = snprintf(r->err, r->err_len, "%s: ", r->place);

    if (n >= 0 && (size_t)n < r->err_len) {
        va_start(args, fmt);
        (void)vsnprintf(r->err + n, r->err_len - (size_t)n, fmt, args);
        va_end(args);
    }
    return RC_INVALID;
}

static void *field(void *base, const struct row *row)
{
    return (char *)base + row->at;
}

static enum rc set(const struct reading *r, void *base, const struct row *row,
                   const char *value)
{
    const char **text = field(base, row);
    char expected[128];
    char *copy;

    if (!conf_value_take(row->type, value, row->min, row->max, text)) {
        conf_value_expected(row->type, row->min, row->max, expected,
                            sizeof(expected));
        if (conf_value_is_secret(row->type, value) ||
            !conf_value_is_plain(value)) {
            return complain(r, "%s: expected %s", row->key.name, expected);
        }
        return complain(
            r, "%s: expected %s, found \"%.*s\"", row->key.name, expected,
            (int)utf8_clip(value, strlen(value), SHOWN_BYTES), value);
    }
    if (!conf_value_is_text(row->type)) {
        return RC_OK;
    }
    copy = strdup(value);
    if (copy == NULL) {
        return RC_NOMEM;
    }
    free((char *)*text);
    *text = copy;
    return RC_OK;
}

/* --- which key --------------------------------------------------------- */

static bool is_name(const char *s, size_t len)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789");

    return len > 0 && len <= NAME_MOST && n >= len && !isdigit((int)s[0]);
}

/* Find the server of this name or add it; RC_FULL: there are too many. */
static enum rc server_named(struct reading *r, const char *name, size_t len,
                            size_t *out)
{
    struct conf *c = r->conf;
    struct conf_mcp *m = c->mcp;
    enum rc rc = RC_OK;

    for (*out = 0; *out < c->n_mcp; ++*out) {
        if (strlen(m[*out].name) == len &&
            memcmp(m[*out].name, name, len) == 0) {
            return RC_OK;
        }
    }
    if (c->n_mcp == CONF_MCP_MAX) {
        return complain(r, "more than %d servers", CONF_MCP_MAX);
    }
    m += c->n_mcp;
    m->name = strndup(name, len);
    if (m->name == NULL) {
        return RC_NOMEM;
    }
    c->n_mcp++;
    for (size_t i = 0; i < N_MCP_ROWS && rc == RC_OK; i++) {
        if (MCP_ROW[i].type == TYPE_PLACE) {
            m->url = strdup(""); /* what must be given, and is looked for */
            rc = m->url == NULL ? RC_NOMEM : RC_OK;
        } else {
            rc = set(r, m, &MCP_ROW[i], MCP_ROW[i].key.fallback);
        }
    }
    return rc;
}

/* "mcp.<name>.url" and the like. RC_NOT_FOUND: no key of a server. */
static enum rc find_server_key(struct reading *r, const char *key,
                               struct slot *out)
{
    const char *name = key + strlen(MCP);
    const char *dot =
        strncmp(key, MCP, strlen(MCP)) == 0 ? strchr(name, '.') : NULL;
    size_t at = 0;
    enum rc rc;

    if (dot == NULL || !is_name(name, (size_t)(dot - name))) {
        return RC_NOT_FOUND;
    }
    for (size_t i = 0; i < N_MCP_ROWS; i++) {
        if (strcmp(MCP_ROW[i].key.name + strlen(ANY_NAME), dot + 1) != 0) {
            continue;
        }
        rc = server_named(r, name, (size_t)(dot - name), &at);
        if (rc == RC_OK) {
            *out = (struct slot){&MCP_ROW[i], &r->conf->mcp[at],
                                 &r->mcp_line_of[at][i]};
        }
        return rc;
    }
    return RC_NOT_FOUND;
}

/* Find what is configured under this name or add it. */
static enum rc policy_named(struct reading *r, const char *name, size_t len,
                            size_t *out)
{
    struct conf *c = r->conf;
    struct conf_policy *p = c->policy;

    for (*out = 0; *out < c->n_policy; ++*out) {
        if (strlen(p[*out].name) == len &&
            memcmp(p[*out].name, name, len) == 0) {
            return RC_OK;
        }
    }
    if (c->n_policy == CONF_POLICY_MAX) {
        return complain(r, "more than %d policies", CONF_POLICY_MAX);
    }
    p[c->n_policy] = (struct conf_policy){.name = strndup(name, len),
                                          .verdict = CONF_UNSET,
                                          .per_run = NO_LIMIT,
                                          .per_day = NO_LIMIT};
    if (p[c->n_policy].name == NULL) {
        return RC_NOMEM;
    }
    c->n_policy++;
    return RC_OK;
}

/* "policy.<name>" and its limits. RC_NOT_FOUND: no key of a policy. */
static enum rc find_policy_key(struct reading *r, const char *key,
                               struct slot *out)
{
    const char *name = key + strlen(POLICY);
    size_t len = strncmp(key, POLICY, strlen(POLICY)) == 0
                     ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-"
                                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
                     : 0;
    size_t at = 0;
    enum rc rc;

    if (len == 0 || len > TOOL_MOST) {
        return RC_NOT_FOUND;
    }
    for (size_t i = 0; i < N_POLICY_ROWS; i++) {
        if (strcmp(POLICY_ROW[i].key.name + strlen(ANY_TOOL), name + len) !=
            0) {
            continue;
        }
        rc = policy_named(r, name, len, &at);
        if (rc == RC_OK) {
            *out = (struct slot){&POLICY_ROW[i], &r->conf->policy[at],
                                 &r->policy_line_of[at][i]};
        }
        return rc;
    }
    return RC_NOT_FOUND;
}

static enum rc find_key(struct reading *r, const char *key, struct slot *out)
{
    enum rc rc;

    for (size_t i = 0; i < N_ROWS; i++) {
        if (strcmp(ROW[i].key.name, key) == 0) {
            *out = (struct slot){&ROW[i], r->conf, &r->line_of[i]};
            return RC_OK;
        }
    }
    rc = find_server_key(r, key, out);
    return rc == RC_NOT_FOUND ? find_policy_key(r, key, out) : rc;
}

/* Without the white space around it. */
static char *trim(char *s)
{
    size_t len;

    s += strspn(s, " \t\r\n");
    len = strlen(s);
    while (len > 0 && strchr(" \t\r\n", s[len - 1]) != NULL) {
        s[--len] = '\0';
    }
    return s;
}

/* One line of the file. */
static enum rc read_line(struct reading *r, char *line, int number)
{
    struct slot slot;
    char *name = trim(line);
    char *value;
    enum rc rc;

    if (name[0] == '\0' || name[0] == '#') {
        return RC_OK;
    }
    value = strchr(name, '=');
    if (value == NULL) {
        return complain(r, "expected \"key = value\"");
    }
    *value = '\0';
    name = trim(name);
    rc = find_key(r, name, &slot);
    if (rc == RC_NOT_FOUND) {
        return conf_value_is_plain(name)
                   ? complain(r, "unknown key \"%.*s\"",
                              (int)utf8_clip(name, strlen(name), SHOWN_BYTES),
                              name)
                   : complain(r, "unknown key");
    }
    if (rc != RC_OK) {
        return rc;
    }
    if (*slot.line != 0) {
        return complain(r, "%s stands already in line %d", name, *slot.line);
    }
    *slot.line = number;
    return set(r, slot.base, slot.row, trim(value + 1));
}

static void set_place(struct reading *r, const char *file, int line)
{
    if (line > 0) {
        (void)snprintf(r->place, sizeof(r->place), "%.200s:%d", file, line);
    } else {
        (void)snprintf(r->place, sizeof(r->place), "%.200s", file);
    }
}

static enum rc read_lines(struct reading *r, const char *file, char *text,
                          size_t len)
{
    enum rc rc = RC_OK;
    char *end = text + len;
    char *next;

    for (int number = 1; rc == RC_OK && text < end; number++, text = next) {
        next = memchr(text, '\n', (size_t)(end - text));
        next = next == NULL ? end : next;
        *next++ = '\0';
        set_place(r, file, number);
        /* A NUL would hide what follows it. */
        if (strlen(text) != (size_t)(next - text) - 1) {
            return complain(r, "a NUL character");
        }
        rc = read_line(r, text, number);
    }
    return rc;
}

static enum rc read_file(struct reading *r, const char *file)
{
    char *text = malloc(FILE_BYTES + 1);
    FILE *f = fopen(file, "re");
    enum rc rc = RC_NOMEM;
    size_t len;

    set_place(r, file, 0);
    if (f == NULL) {
        rc = complain(r, "cannot be opened: %s", strerror(errno));
    } else if (text != NULL) {
        len = fread(text, 1, FILE_BYTES + 1, f);
        if (ferror(f)) {
            rc = complain(r, "cannot be read: %s", strerror(errno));
        } else if (len > FILE_BYTES) {
            rc = complain(r, "longer than %d bytes", FILE_BYTES);
        } else {
            rc = read_lines(r, file, text, len);
        }
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    free(text);
    return rc;
}

/* "model.url" to "ASIDE_MODEL_URL". */
static void variable_name(const char *key, char out[NAME_BYTES])
{
    size_t n = (size_t)snprintf(out, NAME_BYTES, "ASIDE_%s", key);

    assert(n < NAME_BYTES);
    for (size_t i = 0; i < n; i++) {
        int c = toupper((unsigned char)out[i]);
        out[i] = (char)(c == '.' ? '_' : c);
    }
}

/* "ASIDE_MCP_FILES_TIMEOUT_MS" to "mcp.files.timeout_ms": a server's name holds
 * no underscore. */
static void server_key(const char *variable, char out[NAME_BYTES])
{
    const char *rest = variable + strlen("ASIDE_");
    size_t len = 0;
    int dots = 0;

    for (; len < NAME_BYTES - 1 && rest[len] != '\0'; len++) {
        bool dot = rest[len] == '_' && dots < 2;

        dots += dot ? 1 : 0;
        out[len] = (char)(dot ? '.' : tolower((unsigned char)rest[len]));
    }
    out[len] = '\0';
}

/* "ASIDE_POLICY_FILES__REMOVE_PER_DAY" to "policy.files__remove.per_day". */
static void policy_key(const char *variable, char out[NAME_BYTES])
{
    static const char *const limit[] = {"_per_run", "_per_day"};
    const char *rest = variable + strlen("ASIDE_POLICY_");
    size_t start = strlen(POLICY);
    size_t len = start;

    memcpy(out, POLICY, start);
    for (; len < NAME_BYTES - 1 && rest[len - start] != '\0'; len++) {
        out[len] = (char)tolower((unsigned char)rest[len - start]);
    }
    out[len] = '\0';
    for (size_t i = 0; i < sizeof(limit) / sizeof(limit[0]); i++) {
        size_t tail = strlen(limit[i]);

        if (len > start + tail && strcmp(out + len - tail, limit[i]) == 0) {
            out[len - tail] = '.';
        }
    }
}

static enum rc find_variable(struct reading *r, const char *variable,
                             struct slot *out)
{
    char name[NAME_BYTES];

    for (size_t i = 0; i < N_ROWS; i++) {
        variable_name(ROW[i].key.name, name);
        if (strcmp(name, variable) == 0) {
            *out = (struct slot){&ROW[i], r->conf, NULL};
            return RC_OK;
        }
    }
    if (strpbrk(variable, "abcdefghijklmnopqrstuvwxyz") != NULL) {
        return RC_NOT_FOUND;
    }
    if (strncmp(variable, "ASIDE_POLICY_", strlen("ASIDE_POLICY_")) == 0) {
        policy_key(variable, name);
        return find_policy_key(r, name, out);
    }
    server_key(variable, name);
    return find_server_key(r, name, out);
}

static bool is_not_key(const char *variable)
{
    for (size_t i = 0; i < sizeof(NOT_KEYS) / sizeof(NOT_KEYS[0]); i++) {
        if (strncmp(variable, NOT_KEYS[i], strlen(NOT_KEYS[i])) == 0) {
            return true;
        }
    }
    return false;
}

static enum rc read_variable(struct reading *r, const char *assignment)
{
    const char *value = strchr(assignment, '=');
    enum rc rc = RC_NOT_FOUND;
    struct slot slot;
    size_t len;

    if (value == NULL || is_not_key(assignment)) {
        return RC_OK;
    }
    len = utf8_clip(assignment, (size_t)(value - assignment), NAME_BYTES - 1);
    (void)snprintf(r->place, sizeof(r->place), "%.*s", (int)len, assignment);
    if (assignment[len] == '=') {
        rc = find_variable(r, r->place, &slot);
    }
    if (rc == RC_NOT_FOUND) {
        return complain(r, "no key has this variable");
    }
    return rc == RC_OK ? set(r, slot.base, slot.row, value + 1) : rc;
}

static enum rc read_environment(struct reading *r)
{
    enum rc rc = RC_OK;

    for (char **e = environ; rc == RC_OK && e != NULL && *e != NULL; e++) {
        if (strncmp(*e, "ASIDE_", 6) == 0) {
            rc = read_variable(r, *e);
        }
    }
    return rc;
}

static enum rc read_defaults(struct reading *r)
{
    enum rc rc = RC_OK;

    set_place(r, "default", 0);
    for (size_t i = 0; rc == RC_OK && i < N_ROWS; i++) {
        rc = set(r, r->conf, &ROW[i], ROW[i].key.fallback);
    }
    assert(rc != RC_INVALID);
    return rc;
}

static bool is_own_tool(const char *name)
{
    for (size_t i = 0; i < N_OWN_TOOLS; i++) {
        if (strcmp(name, OWN_TOOL[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Is the name, or what stands before its tool's, that of a server? */
static bool is_of_server(const struct conf *c, const char *name)
{
    const char *end = strstr(name, BETWEEN);
    size_t len = end != NULL ? (size_t)(end - name) : strlen(name);

    for (size_t i = 0; i < c->n_mcp; i++) {
        if (strlen(c->mcp[i].name) == len &&
            memcmp(c->mcp[i].name, name, len) == 0) {
            return end == NULL || end[strlen(BETWEEN)] != '\0';
        }
    }
    return false;
}

/* A name that nothing has would forbid nothing, and nobody would see it. */
static enum rc check_policies(struct reading *r)
{
    const struct conf *c = r->conf;

    for (size_t i = 0; i < c->n_policy; i++) {
        const char *name = c->policy[i].name;
        bool own = is_own_tool(name);
        bool server = is_of_server(c, name);

        if (!own && !server) {
            return complain(r, POLICY "%s: no tool and no server of this name",
                            name);
        }
        if (own && server) {
            return complain(r, POLICY "%s: both a tool and a server", name);
        }
    }
    return RC_OK;
}

/* The database holds to it too (0018_audit_kept.sql). */
#define AUDIT_DAYS_LEAST 30

/* What no single key shows. */
static enum rc check_together(struct reading *r)
{
    const struct conf *c = r->conf;

    set_place(r, "configuration", 0);
    if (c->data[0] == '\0') {
        return complain(r, "data: expected a directory");
    }
    if (c->model_max_output_tokens >= c->model_context_tokens) {
        return complain(r,
                        "model.max_output_tokens (%lld): expected less than "
                        "model.context_tokens (%lld)",
                        (long long)c->model_max_output_tokens,
                        (long long)c->model_context_tokens);
    }
    if (c->audit_days > 0 && c->audit_days < AUDIT_DAYS_LEAST) {
        return complain(r, "audit.days (%lld): expected 0, or %d or more",
                        (long long)c->audit_days, AUDIT_DAYS_LEAST);
    }
    for (size_t i = 0; i < c->n_mcp; i++) {
        if (c->mcp[i].url[0] == '\0') {
            return complain(r, "mcp.%s.url: expected, beside its other keys",
                            c->mcp[i].name);
        }
    }
    return check_policies(r);
}

/* Wherever they were set: what is offered to the model keeps its order. */
static int by_name(const void *a, const void *b)
{
    const struct conf_mcp *left = a;
    const struct conf_mcp *right = b;

    return strcmp(left->name, right->name);
}

int64_t conf_context_tokens(const struct conf *c)
{
    int64_t wanted = c->model_prompt_tokens + c->model_max_output_tokens;

    return wanted < c->model_context_tokens ? wanted : c->model_context_tokens;
}

static void hide_rows(void *base, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (conf_value_is_text(rows[i].type)) {
            const char **text = field(base, &rows[i]);

            conf_value_hide(rows[i].type, *text);
        }
    }
}

/* One configuration is a process's own: what it keeps secret is known to all. */
static void hide_secrets(struct conf *c)
{
    mask_clear();
    hide_rows(c, ROW, N_ROWS);
    for (size_t i = 0; i < c->n_mcp; i++) {
        hide_rows(&c->mcp[i], MCP_ROW, N_MCP_ROWS);
    }
}

static int by_policy_name(const void *a, const void *b)
{
    const struct conf_policy *left = a;
    const struct conf_policy *right = b;

    return strcmp(left->name, right->name);
}

enum rc conf_load(const char *file, struct conf *out, char *err, size_t err_len)
{
    struct conf c = {.data = NULL};
    struct reading r = {.conf = &c, .err = err, .err_len = err_len};
    enum rc rc = read_defaults(&r);

    if (rc == RC_OK && file != NULL) {
        rc = read_file(&r, file);
    }
    if (rc == RC_OK) {
        rc = read_environment(&r);
    }
    if (rc == RC_OK) {
        rc = check_together(&r);
    }
    if (rc != RC_OK) {
        if (rc == RC_NOMEM) {
            (void)snprintf(err, err_len, "out of memory");
        }
        conf_free(&c);
        return rc;
    }
    qsort(c.mcp, c.n_mcp, sizeof(c.mcp[0]), by_name);
    qsort(c.policy, c.n_policy, sizeof(c.policy[0]), by_policy_name);
    *out = c;
    hide_secrets(out);
    return RC_OK;
}

static void free_server(struct conf_mcp *m)
{
    for (size_t i = 0; i < N_MCP_ROWS; i++) {
        if (conf_value_is_text(MCP_ROW[i].type)) {
            const char **text = field(m, &MCP_ROW[i]);
            free((char *)*text);
        }
    }
    free((char *)m->name);
    *m = (struct conf_mcp){.name = NULL};
}

void conf_free(struct conf *c)
{
    mask_clear();
    for (size_t i = 0; i < c->n_mcp; i++) {
        free_server(&c->mcp[i]);
    }
    c->n_mcp = 0;
    for (size_t i = 0; i < c->n_policy; i++) {
        free((char *)c->policy[i].name);
        c->policy[i] = (struct conf_policy){.name = NULL};
    }
    c->n_policy = 0;
    for (size_t i = 0; i < N_ROWS; i++) {
        if (conf_value_is_text(ROW[i].type)) {
            const char **text = field(c, &ROW[i]);
            free((char *)*text);
            *text = NULL;
        }
    }
}
