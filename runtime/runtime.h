/* runtime.h - the runtime's own structs, shared by its files.
 *
 * The daemon is one thread and one loop. What it keeps in memory is a cache of
 * rows and the connections under way; when it dies, everything needed to go on
 * is in the database (R29).
 *
 *   loop.c      waits and gathers facts; changes.c looks for what others have
 *               changed, commit.c commits a turn's work together
 *   live.c      the table of Runs at work
 *   run.c       a step of a Run: facts.c puts what happened into rows, decide.c
 *               says what they call for, plan.c what the next request is for,
 *               settle.c ends what was cut short, policy.c says which calls
 *               may be made
 *   entry.c     what the reply to a short Run's request means
 *   research.c  what the reply to a research request means
 *   deliver.c   reports: citations, the end of a research; coverage.c what
 *               they cover
 *   draft.c     what can be read of a report before it is finished
 *   operation.c start, adjust, stop, inspect, reply, continue, ask
 *   context.c   a request's input, from rows: snapshot.c what a Run begins
 *               with, trim.c what is left out when it has grown too long,
 *               excerpt.c too large results, recall.c gives what was left out
 *               back; prompt.c holds the fixed texts
 *   offer.c     what a request may offer
 *   flight.c    one model request under way
 *   standby.c   waiting for the ownership of the database
 *   tool.c      tools: their table, rows of calls, what the model is told
 *   tool_work.c tool calls under way: start, end, time-out, cancel
 *   servers.c   how the servers are that tools depend on
 *   indexer.c   the library's indexer, a child process
 *   mcp.c       servers of the Model Context Protocol, and tool_mcp.c their
 *               tools
 */
#ifndef ASIDE_RUNTIME_RUNTIME_H
#define ASIDE_RUNTIME_RUNTIME_H

#include "runtime/http/http.h"
#include "runtime/model/model_chat.h"
#include "runtime/model/model_stream.h"
#include "sql/base/address.h"
#include "sql/base/arena.h"
#include "sql/base/buf.h"
#include "sql/base/conf.h"
#include "sql/base/json.h"
#include "sql/library.h"
#include "sql/store_effect.h"
#include "sql/store_handoff.h"
#include "sql/store_library.h"
#include "sql/store_server.h"
#include "sql/store_run.h"

struct doorbell;
struct flight;
struct indexer;
struct lease_lock;
struct mcp;
struct page;
struct reader;
struct web_turns;
struct runtime;
struct tool;

/* --- facts: what happened outside since the last commit ---------------- */

/* How a model request ended. */
struct outcome {
    bool there;
    enum model_verdict verdict; /* when the HTTP exchange was whole */
    enum http_end end;
    long status;
    int64_t retry_after_ms; /* -1: not told */
    struct model_error error;
    struct model_reply reply; /* memory of facts.mem */
    bool text_shown;          /* some text of it is in the answer already */
    char detail[240];
};

/* A passage that a tool brought. */
struct passage {
    const char *id;
    const char *title;
    const char *location;
    const char *heading;
    const char *text;
};

/* Where a page leads: an absolute address. */
struct link {
    const char *text;
    const char *url;
};

/* What a tool call brought; memory of its work. */
struct tool_result {
    bool failed;
    bool unknown; /* failed, and it may have been carried out all the same */
    const char *error;   /* failed: told to the model and the person */
    const char *summary; /* told to the person */
    const char *title;   /* of the document read, or NULL */
    const char *location;
    const struct passage *passages;
    size_t n_passages;
    bool has_more;
    const char *note; /* what else the model is told of the passages, or NULL */
    int64_t next_from;        /* with has_more: read on with this from; 0: the
                               * passages have numbers of their own */
    const struct link *links; /* of what was read */
    size_t n_links;
    const struct page *page; /* to be kept with the Run, or NULL */
    const char *text; /* JSON told to the model in place of all this, or NULL */
};

struct facts {
    struct arena *mem;
    struct buf text;    /* streamed text of a short answer, for the next part */
    bool first;         /* the first chunk with a choice has come */
    const char *saying; /* research: what the model says, for the progress */
    struct outcome outcome;
};

/* --- effects: what to do once the turn is committed -------------------- */

struct tool_job {
    int64_t call_id;
    const char *name;
    const char *arguments;
    const char *digest; /* what the tool must be; NULL: whatever it is */
    bool safe;          /* as the row has it */
    struct tool_job *next;
};

/* A call under way whose row has got its outcome without it. */
struct tool_drop {
    int64_t call_id;
    struct tool_drop *next;
};

struct effects {
    bool drop_flight;     /* close the connection */
    int64_t send_request; /* send this request; 0: none */
    enum request_purpose purpose;
    struct buf body;
    struct tool_job *jobs;   /* tools to run, in order of the reply; memory of
                              * live.jobs_mem, as the next */
    struct tool_drop *drops; /* tool calls to cancel */
    bool gone;               /* the Run has ended: forget it */
};

/* --- Runs at work ------------------------------------------------------ */

struct live {
    int64_t id;
    bool dirty;         /* wants a step */
    bool stepped;       /* has had its step in this turn */
    int64_t place_turn; /* its planned request waits for a place since this
                         * turn; 0: it does not */
    bool is_research;   /* as last seen; orders the wait for a place */
    bool known;         /* has had a step: what runs, runs in this process */
    int64_t clock_ms;   /* boot time up to which active_ms is counted */
    bool clock_stopped; /* it awaited input */
    struct {
        int64_t clock_ms; /* 0: as it was */
        bool clock_stopped;
    } next;          /* what becomes of the clock once the turn is committed */
    int64_t wake_ms; /* boot time of its next timer; 0: none */
    int failures;    /* steps that failed in a row */
    struct flight *flight;
    struct facts facts;
    struct effects effects;
    struct arena *jobs_mem;
    struct tool_work *works; /* tool calls under way, ascending by row */
};

/* What a row says of a server that tools depend on. */
struct server_told {
    bool told;
    enum endpoint_state state;
    int64_t tools;
    char detail[STORE_SERVER_DETAIL];
};

struct runtime {
    struct conf conf;
    const char *conf_file; /* NULL: none */
    struct store *store;
    struct lease_lock *lock;
    struct http *http;
    struct doorbell *bell;
    struct library *library; /* NULL until something is indexed */
    struct indexer *indexer;
    struct mcp *mcp;       /* NULL: no server configured */
    struct reader *reader; /* NULL: no web configured */
    struct web_turns *web_turns;
    struct address_list web_allowed;
    struct address_ports web_ports;
    const struct model_chat_profile *profile;
    char *chat_url;
    struct live **lives; /* ascending by id */
    size_t n_lives;
    size_t cap_lives;
    int64_t place_turns;    /* given out so far */
    int64_t cursor;         /* newest change that was looked at */
    int64_t read_ms;        /* boot time when changes were last read */
    int64_t flushed_ms;     /* boot time when text was last committed */
    bool flushed;           /* this turn commits all text whose time had come */
    size_t text_from;       /* the next flush begins with this Run */
    int64_t hold_until_ms;  /* boot time when the transaction is to end */
    int64_t pause_until_ms; /* boot time: the store failed, try again then */
    int64_t retention_ms;   /* boot time of the next look for what is too old */
    int64_t clock_ahead_ms; /* of the wall's clock before boot time, then */
    int64_t steady_ms;      /* boot time since when they agree; 0: not known */
    int64_t renewed_ms;     /* boot time of the last commit */
    bool stopping;
    struct arena *mem; /* of one turn */
    bool touched;      /* a step of this turn concerned other Runs */
    bool unread;       /* changes could not be read */
    int sig_fd;        /* signalfd of SIGTERM, SIGINT, SIGCHLD */
    bool no_stream;    /* the endpoint has refused tools in a stream */
    enum endpoint_state endpoint;
    bool endpoint_told; /* endpoint differs from the row */
    struct server_told servers_told[CONF_MCP_MAX + 1];
    enum endpoint_state search; /* the search service, as found last */
    char search_brief[STORE_SERVER_DETAIL];
};

/* One step of one Run inside the turn's transaction. */
struct step {
    struct runtime *rt;
    struct live *live;
    struct run run;
    struct arena *mem;
    int64_t now_ms; /* Unix */
    int64_t boot_ms;
    int64_t wake_ms;    /* boot time of the next step without a fact; 0: none */
    bool save;          /* run was changed and must be written */
    bool counted;       /* active_ms up to now was written */
    bool closeout;      /* its newest request is the closeout */
    const char *notice; /* said to the model in the next request, or NULL */
};

/* --- live.c ------------------------------------------------------------ */

struct live *live_find(struct runtime *, int64_t run_id);
/* Find or add; RC_NOMEM. A new one is dirty. */
enum rc live_add(struct runtime *, int64_t run_id,
                 struct live **) RC_MUST_CHECK;
void live_remove(struct runtime *, struct live *);
void live_clear_facts(struct live *);
void live_clear_effects(struct live *);
void live_free_all(struct runtime *);
/* Wait for a place of the provider, behind those who wait already. */
void live_await_place(struct runtime *, struct live *);
/* Another Run is before this one: short work, or who waited longer (R20). */
bool live_must_yield(const struct runtime *, const struct live *);

/* --- run.c: the state machine ------------------------------------------ */

/* A step: apply the Run's facts, then do what the rows call for. Called inside
 * the turn's savepoint; what reaches outside is left in live->effects. */
enum rc run_step(struct step *) RC_MUST_CHECK;
/* The same for a Run that only streamed text. */
enum rc run_step_text(struct step *) RC_MUST_CHECK;
/* Settle what is under way as interrupted by a shutdown. */
enum rc run_step_shutdown(struct step *) RC_MUST_CHECK;
/* After repeated internal failures: end it as failed, and settle its effects. */
enum rc run_step_give_up(struct step *) RC_MUST_CHECK;

/* The first limit stays the cause (R26). */
void run_hit_limit(struct step *, enum run_reason);
void run_set_progress(struct step *, const char *text);
/* Is there a handoff that the model has not seen yet? */
enum rc run_has_received(struct step *, bool *out) RC_MUST_CHECK;
enum rc run_end(struct step *, enum run_state, enum run_reason,
                const char *progress) RC_MUST_CHECK;

/* --- entry.c, research.c, operation.c ---------------------------------- */

/* The reply of a done request: insert its calls, carry out operations, end
 * the Run or leave it to go on. */
enum rc entry_take_reply(struct step *, struct request *,
                         const struct model_reply *) RC_MUST_CHECK;
enum rc research_take_reply(struct step *, struct request *,
                            const struct model_reply *) RC_MUST_CHECK;
/* All calls of the last request are settled, or it had none. pending: something
 * was said that no request holds yet, so that this cannot be the end. */
enum rc research_go_on(struct step *, const struct request *last, bool pending,
                       bool *ended) RC_MUST_CHECK;

/* --- deliver.c: reports ------------------------------------------------- */

/* A deliver_report call: it ends the Run, or is held back and told why. */
enum rc deliver_take(struct step *, struct tool_call *,
                     bool closeout) RC_MUST_CHECK;
/* Plain text as the report, from the reply to a request: it ends the Run
 * without a word on coverage, or is held back and told why (s->notice). */
enum rc deliver_text(struct step *, const struct request *from,
                     const struct model_reply *, bool *ended) RC_MUST_CHECK;
/* What a research is told that called nothing; memory of the step. */
enum rc deliver_notice(struct step *, const struct model_reply *,
                       const char **out) RC_MUST_CHECK;
/* The closeout was lost: a report from notes and sources, and the last draft
 * (R26). */
enum rc deliver_assemble(struct step *) RC_MUST_CHECK;
/* Numbers that a report cites, or its coverage (NULL: none) names as evidence,
 * and no source has, as "[7], [12]"; "": none. */
enum rc deliver_find_invented(struct step *, const char *report,
                              const cJSON *coverage,
                              const char **out) RC_MUST_CHECK;

/* --- draft.c ------------------------------------------------------------ */

/* A publish_draft call. */
enum rc draft_take(struct step *, struct tool_call *,
                   const cJSON *args) RC_MUST_CHECK;

struct operation_result {
    bool done;          /* it succeeded */
    bool ends_exchange; /* and the receipt is the outcome (R12) */
    bool became_research;
    int64_t run_id;   /* what it was done to */
    const char *text; /* told to the model */
    const char *summary;
};
/* Carry out an operation of an entry reply; RC_NOT_FOUND: no operation of that
 * name. lead: text said beside it. */
enum rc operation_run(struct step *, const struct request *,
                      const struct model_call *, const char *lead,
                      struct operation_result *) RC_MUST_CHECK;

/* --- context.c, offer.c, prompt.c -------------------------------------- */

/* Plan the next request of the Run for this purpose. last: the newest request,
 * or NULL. RC_TOO_LARGE: the model cannot hold it, however much is left out. */
enum rc context_plan(struct step *, enum request_purpose,
                     const struct request *last, int64_t attempt,
                     int64_t not_before_ms, struct request *out) RC_MUST_CHECK;

/* What an entry or research request may offer, from the facts of the moment
 * (R07). */
struct offer {
    bool start;
    bool steer; /* adjust, stop, inspect */
    bool reply;
    bool proceed;                    /* continue_research */
    bool ask;                        /* ask_user */
    const struct tool *const *tools; /* of the table, as configured */
    size_t n_tools;
    struct occupancy occupancy;
    struct run *listed; /* Runs of the conversation that may be named */
    size_t n_listed;
};
enum rc offer_find(struct step *, struct offer *) RC_MUST_CHECK;
bool offer_any_operation(const struct offer *);

const char *prompt_system(enum request_purpose);
/* JSON array of the tools of this purpose. */
enum rc prompt_tools(enum request_purpose, const struct offer *,
                     struct buf *out) RC_MUST_CHECK;

/* --- flight.c ---------------------------------------------------------- */

/* Send effects->body as the request. Failure to start becomes an outcome. */
void flight_start(struct runtime *, struct live *);
/* Close the connection but keep what came: nothing more comes of it. */
void flight_hang_up(struct live *);
/* Close the connection and forget it. No flight is allowed. */
void flight_drop(struct live *);
bool flight_is(const struct live *, int64_t request_id);
bool flight_finished(const struct live *); /* its finish has been seen */
/* Tokens that an exchange cut short may have used (R25). */
int64_t flight_estimate(const struct live *, int64_t input_estimate);
size_t flight_count(const struct runtime *);
/* Ask the endpoint for its models, to learn how it is. */
void flight_probe(struct runtime *);

/* --- tools --------------------------------------------------------------- */

#define SAID_BYTES 200

struct tool_work;

struct tool {
    const char *name;
    /* May be made again after a crash (R29), and at once with others: it only
     * reads. What is not safe is made alone, in its place among the calls. */
    bool safe;
    bool acts;          /* does more than read, even if it is safe: each call is
                         * meant, and is made alone */
    bool for_research;  /* not for short answers */
    bool needs_index;   /* waits, for a while, until the library is indexed */
    int64_t timeout_ms; /* from run to tool_done */
    const char *schema; /* JSON of the function's parameters */
    const char *description;
    const char *digest; /* of what its server says of it; NULL: Aside's own */
    /* Is it configured? NULL: always. */
    bool (*offered)(const struct runtime *);
    /* Start the call; NULL: see inside. */
    void (*run)(struct tool_work *);
    /* NULL: it always ends within run. */
    void (*cancel)(struct tool_work *);
    /* Without run: settles the call, in the transaction of its reply. */
    enum rc (*inside)(struct step *, struct tool_call *, const cJSON *args);
};

/* A tool call under way: from the commit that says "sent" to the one that has
 * its outcome. tool_work.c makes it and frees it; a Run has as many at once as
 * tools.parallel says, and each has an end in time.
 *
 * It begins with the tool's run, outside any transaction, and ends in one of two
 * ways, never both:
 *
 *   done    the tool has filled in result and calls tool_done: within run, or
 *           later from a callback of the loop (http.h, a descriptor, a timer).
 *           The Run's next step puts the result into rows. Results are told to
 *           the model in the order of its calls, whatever the order they came in.
 *   cancel  the call's row has its outcome already: the Run has ended or was
 *           stopped (R24), the person said something new and 2 s of grace are
 *           over (R21; only what is safe), a deadline has passed, the tool's
 *           own time is over, or the runtime ends. The tool closes what it has
 *           open, gives back what own holds, and does not call back any more.
 *
 * After either the tool does not touch the work. Nothing blocks: run, callbacks
 * and cancel return at once, and slow or hostile bytes are read in a child. A
 * runtime that dies says nothing: the row stays "sent", and the next one runs
 * what is safe again from the start, under the same row, and tells the model of
 * the rest that the outcome is unknown (R29).
 */
struct tool_work {
    struct runtime *rt;
    const struct tool *tool; /* without its texts */
    int64_t run_id;          /* rows */
    int64_t call_id;
    const char *name;      /* as the model called it */
    const char *arguments; /* JSON text of the model: not checked yet */
    const char *digest;    /* the tool that may be called; NULL: any */
    bool safe;             /* what the tool was when it was called */
    struct arena *mem;     /* goes with the work; holds the result */
    struct tool_result result;
    void *own; /* the tool's own state */

    /* tool_work.c's own. */
    struct live *live;
    struct tool kind;      /* a copy: a list of tools may change meanwhile */
    char said[SAID_BYTES]; /* its newest progress */
    bool said_new;         /* which no row has yet */
    int64_t said_ms;       /* boot time */
    enum { WORK_WAITS = 0, WORK_RUNS, WORK_DONE } state;
    int64_t deadline_ms; /* boot time; valid if it runs */
    int64_t effect_n;
    struct tool_work *next;
};

/* --- tool.c ------------------------------------------------------------ */

const struct tool *tool_find(const struct runtime *, const char *name);
/* The i-th of all, configured or not; NULL after the last. Valid in one turn. */
const struct tool *tool_at(const struct runtime *, size_t i);
/* What the model is told of a result; sources get their numbers in the step's
 * transaction. */
enum rc tool_settle(struct step *, struct tool_call *,
                    const struct tool_result *) RC_MUST_CHECK;
/* The n-th call of a reply as a planned row. */
enum rc tool_insert(struct step *, const struct request *,
                    const struct model_call *, size_t n,
                    struct tool_call *) RC_MUST_CHECK;
/* A call that was carried out, or refused, inside this transaction. */
enum rc tool_settle_inside(struct step *, struct tool_call *, bool failed,
                           const char *result,
                           const char *summary) RC_MUST_CHECK;
/* A planned call that repeats another gets the other's outcome, or waits for
 * it: *wait. */
enum rc tool_share(struct step *, struct tool_call *, bool *wait) RC_MUST_CHECK;
/* A look-up within the tool budget stays planned; beyond it, it is answered
 * "limit reached" (R26): *refused. */
enum rc tool_admit(struct step *, struct tool_call *,
                   bool *refused) RC_MUST_CHECK;
/* The call's arguments, for json_free. Left as they are, NULL, where the call was
 * settled because they are no JSON object. */
enum rc tool_arguments(struct step *, struct tool_call *,
                       cJSON **args) RC_MUST_CHECK;
/* A tool without run, in this transaction. */
enum rc tool_carry_out(struct step *, struct tool_call *,
                       const struct tool *) RC_MUST_CHECK;
/* The question of an ask_user call; RC_INVALID if it has none. */
enum rc tool_question(struct step *, const char *arguments,
                      const char **question) RC_MUST_CHECK;
/* A recall call: recall.c. */
enum rc recall_take(struct step *, struct tool_call *,
                    const cJSON *args) RC_MUST_CHECK;

/* --- tool_work.c: for the tools ------------------------------------------ */

/* Why it failed, for the model and the person; copied, and made UTF-8. */
void tool_fail(struct tool_work *, const char *why);
/* How it goes, in one line, which the person sees; too many are dropped. */
void tool_say(struct tool_work *, const char *line);
/* The result is there. Not within cancel. */
void tool_done(struct tool_work *);
/* Around what a callback does for a call, before the call is done: a Run whose
 * bytes bring the runtime down is known by it (R29). */
void tool_enter(struct tool_work *);
void tool_leave(struct tool_work *);

/* --- tool_work.c: for the Run and the loop -------------------------------- */

/* Run a job now, or once the library is indexed. */
void tool_start(struct runtime *, struct live *, const struct tool_job *);
bool tool_under_way(const struct live *, int64_t call_id);
/* Those that are done, to be put into rows: the first, and the one after. */
struct tool_work *tool_next_done(const struct live *,
                                 const struct tool_work *after);
/* Those under way that have said something no row has yet, likewise. */
struct tool_work *tool_next_said(const struct live *,
                                 const struct tool_work *after);
/* Their rows are written: forget them, and what was said. */
void tool_forget_done(struct live *);
/* Cancel; no such call is allowed. */
void tool_cancel(struct live *, int64_t call_id);
/* Cancel those that are not done. */
void tool_cancel_all(struct live *);
void tool_free_all(struct live *);
/* Boot time of the nearest end of a call's time; 0: none. */
int64_t tool_deadline_ms(const struct live *);
/* End the calls whose time is over. */
void tool_expire(struct live *, int64_t boot_ms);
/* The indexer is done: run what waited for it. */
void tool_resume(struct runtime *);

/* --- tool_library.c ------------------------------------------------------ */

void tool_library_search(struct tool_work *);
void tool_library_read(struct tool_work *);
bool tool_library_offered(const struct runtime *);

/* --- servers.c: how the servers are that tools depend on ------------------ */

/* Differs one from its row? */
bool servers_news(const struct runtime *);
/* Inside the turn's transaction: the rows of those that do. */
enum rc servers_tell(struct store *, void *runtime) RC_MUST_CHECK;
/* That transaction was committed. */
void servers_told(struct runtime *);
/* The search service has answered, or has not. */
void servers_search(struct runtime *, const struct http_result *, bool usable);

/* --- tool_mcp.c ---------------------------------------------------------- */

void tool_mcp_run(struct tool_work *);
void tool_mcp_cancel(struct tool_work *);

/* --- tool_web_fetch.c, tool_web_search.c ---------------------------------- */

void tool_web_fetch(struct tool_work *);
void tool_web_fetch_cancel(struct tool_work *);
bool tool_web_fetch_offered(const struct runtime *);
void tool_web_search(struct tool_work *);
void tool_web_search_cancel(struct tool_work *);
bool tool_web_search_offered(const struct runtime *);

/* --- indexer.c --------------------------------------------------------- */

struct indexer_options {
    const char *conf_file; /* for the child; NULL: none */
    const char *dir;       /* the data directory */
    const char *folders;   /* shared ones; all texts are kept by reference */
};
enum rc indexer_new(const struct indexer_options *,
                    struct indexer **) RC_MUST_CHECK;
void indexer_free(struct indexer *);
/* True if there may be documents: shared ones, or those of an account. */
bool indexer_has_documents(const struct indexer *);
/* All that accounts ask to be read (store_library.h): a child is started, unless
 * one is at work; then this is to be called again when it has ended. */
void indexer_want(struct indexer *, const struct library_want *, size_t n);
/* Make the index anew if it is gone, as one that was damaged is. */
void indexer_keep(struct indexer *);
/* Whether there is something to be told in a commit: what was asked and is
 * read, and how the last run ended. */
bool indexer_has_news(const struct indexer *);
const struct library_want *indexer_done(const struct indexer *, size_t *n);
struct library_run indexer_run(const struct indexer *);
void indexer_told(struct indexer *);
/* True if the index is as fresh as can be had; else a child is at work. */
bool indexer_ready(struct indexer *);
/* Boot time when indexer_tick is to be called; 0: not at all. */
int64_t indexer_due_ms(const struct indexer *);
/* A run that failed is made again. True if look-ups have waited long enough for
 * the child. */
bool indexer_tick(struct indexer *, int64_t now_ms);
/* A child has ended (SIGCHLD): true if it was the indexer. */
bool indexer_reap(struct indexer *);

/* --- retention.c -------------------------------------------------------- */

/* Boot time when retention_tick is to be called; 0: not at all. */
int64_t retention_due_ms(const struct runtime *);
/* Remove a few conversations that are older, or more, than is to be kept.
 * RC_FENCED; what fails otherwise is tried again. */
enum rc retention_tick(struct runtime *, int64_t now_ms) RC_MUST_CHECK;

/* --- loop.c ------------------------------------------------------------ */

/* From now on SIGTERM, SIGINT and SIGCHLD wait for loop_run. RC_IO. */
enum rc loop_open_signals(struct runtime *) RC_MUST_CHECK;
/* Run until SIGTERM or SIGINT (RC_OK), or the ownership is lost (RC_FENCED). */
enum rc loop_run(struct runtime *) RC_MUST_CHECK;

#endif
