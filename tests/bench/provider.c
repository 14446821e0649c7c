/* provider.c - a model endpoint whose tokens carry the time they were sent, and
 * the clients that wait for them.
 *
 *   provider stream   then on standard input: PORT RUNS TOKENS PER_SECOND ONE
 *   provider instant  until standard input ends
 *
 * First it prints {"port":N}: where it speaks Chat Completions. instant answers
 * every request at once. stream starts RUNS Runs over the API at PORT, each for
 * an account of its own (ONE: all for one account), lets each answer TOKENS
 * tokens at a steady pace, follows every account by long polls, and prints the
 * microseconds from each token's write to the moment its poll's reply was read.
 *
 * Both sides are one thread with one clock, so no message between processes
 * adds to what is measured; at 100 Runs it uses a small part of a processor,
 * which is printed as well.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/wire.h"

#define MAX_RUNS     1000
#define MAX_CALLS    2000
#define QUIET_END_US 5000000
#define STAMP_DIGITS 16

#define SSE_HEAD                                                               \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"                   \
    "Transfer-Encoding: chunked\r\n\r\n"
#define CHUNK_HEAD                                                             \
    "{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,"        \
    "\"model\":\"m\",\"choices\":"

/* What an event of epoll is about. */
enum what { WHAT_LISTEN, WHAT_INPUT, WHAT_CALL, WHAT_POLL };

struct source {
    enum what what;
    struct wire wire;
    /* Of a call to the model. */
    int64_t next_us; /* 0: nothing is being answered */
    int64_t left;
    /* Of a poll. */
    char account[32];
    int64_t cursor;
};

struct provider {
    int epoll;
    int listening;
    bool instant;
    int64_t tokens;
    int64_t every_us;
    struct source listener, input;
    struct source *calls;
    size_t n_calls;
    struct source *polls;
    size_t n_polls;
    int64_t sent;
    int64_t seen;
    int64_t heard_us; /* when a token was last sent or seen */
    int64_t *sample;
    size_t max_samples;
};

static void watch(struct provider *p, int fd, struct source *s)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = s};

    if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e) != 0) {
        wire_die("epoll: %s", strerror(errno));
    }
}

/* --- the model's side ------------------------------------------------------
 */

/* One event of the stream, as one chunk of the transfer coding. */
static void send_event(struct source *s, const char *json)
{
    char text[1024];
    int len = snprintf(text, sizeof(text), "%zx\r\ndata: %s\n\n\r\n",
                       strlen(json) + 8, json);

    if (len < 0 || (size_t)len >= sizeof(text)) {
        wire_die("an event is too long");
    }
    wire_send(&s->wire, text, (size_t)len);
}

static void send_text(struct source *s, const char *content)
{
    char json[512];

    (void)snprintf(json, sizeof(json),
                   CHUNK_HEAD "[{\"index\":0,\"delta\":{\"content\":\"%s\"},"
                              "\"finish_reason\":null}]}",
                   content);
    send_event(s, json);
}

static void send_end(struct source *s)
{
    static const char LAST[] = "0\r\n\r\n";

    send_event(s, CHUNK_HEAD "[{\"index\":0,\"delta\":{},"
                             "\"finish_reason\":\"stop\"}]}");
    send_event(s, CHUNK_HEAD "[],\"usage\":{\"prompt_tokens\":10,"
                             "\"completion_tokens\":10,\"total_tokens\":20}}");
    send_event(s, "[DONE]");
    wire_send(&s->wire, LAST, sizeof(LAST) - 1);
}

static void send_token(struct provider *p, struct source *s)
{
    char token[32];

    (void)snprintf(token, sizeof(token), "@%0*" PRId64 " ", STAMP_DIGITS,
                   wire_now_us());
    send_text(s, token);
    p->sent++;
    s->left--;
    s->next_us += p->every_us;
    if (s->left == 0) {
        send_end(s);
        s->next_us = 0;
    }
}

static void begin_answer(struct provider *p, struct source *s)
{
    wire_send(&s->wire, SSE_HEAD, sizeof(SSE_HEAD) - 1);
    if (p->instant) {
        send_text(s, "A short answer to it.");
        send_end(s);
        return;
    }
    s->left = p->tokens;
    /* Not all in step: the requests come in a burst. */
    s->next_us = wire_now_us() + p->every_us * (int64_t)(s - p->calls) /
                                     (int64_t)(p->n_polls + 1);
}

static void answer_models(struct source *s)
{
    static const char REPLY[] =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        "Content-Length: 27\r\n\r\n{\"object\":\"list\",\"data\":[]}";

    wire_send(&s->wire, REPLY, sizeof(REPLY) - 1);
}

static void on_call(struct provider *p, struct source *s)
{
    enum wire_got got = wire_read(&s->wire);

    if (got == WIRE_CLOSED) {
        wire_close(&s->wire);
        s->next_us = 0;
    } else if (got == WIRE_WHOLE) {
        bool get = strncmp(buf_str(&s->wire.in), "GET ", 4) == 0;

        wire_next(&s->wire);
        if (get) {
            answer_models(s);
        } else {
            begin_answer(p, s);
        }
    }
}

static struct source *free_call(struct provider *p)
{
    for (size_t i = 0; i < p->n_calls; i++) {
        if (p->calls[i].wire.fd < 0) {
            return &p->calls[i];
        }
    }
    if (p->n_calls == MAX_CALLS) {
        wire_die("too many calls at once");
    }
    return &p->calls[p->n_calls++];
}

static void on_listen(struct provider *p)
{
    int fd = accept4(p->listening, NULL, NULL, SOCK_CLOEXEC);

    if (fd >= 0) {
        struct source *s = free_call(p);

        *s = (struct source){.what = WHAT_CALL};
        wire_take(&s->wire, fd);
        watch(p, fd, s);
    }
}

/* Send what is due; milliseconds until the next is. */
static int pace(struct provider *p)
{
    int64_t now_us = wire_now_us();
    int64_t soonest_us = now_us + 100000;

    for (size_t i = 0; i < p->n_calls; i++) {
        struct source *s = &p->calls[i];

        if (s->next_us != 0 && s->next_us <= now_us) {
            send_token(p, s);
            p->heard_us = now_us;
        }
        if (s->next_us != 0 && s->next_us < soonest_us) {
            soonest_us = s->next_us;
        }
    }
    return soonest_us <= now_us ? 0 : (int)((soonest_us - now_us) / 1000 + 1);
}

/* --- the clients' side -----------------------------------------------------
 */

static void ask(struct source *s)
{
    char path[96];

    (void)snprintf(path, sizeof(path),
                   "/api/v1/changes?after=%" PRId64 "&wait=25", s->cursor);
    wire_get(&s->wire, s->account, path);
}

static void take_samples(struct provider *p, const char *text)
{
    int64_t now_us = wire_now_us();

    for (const char *at = strchr(text, '@'); at != NULL;
         at = strchr(at + 1, '@')) {
        char *end;
        int64_t stamp = strtoll(at + 1, &end, 10);

        if (end - at != STAMP_DIGITS + 1 || (size_t)p->seen >= p->max_samples) {
            wire_die("a token was cut or doubled: %.40s", at);
        }
        p->sample[p->seen++] = now_us - stamp;
        p->heard_us = now_us;
    }
}

static void on_poll(struct provider *p, struct source *s)
{
    enum wire_got got = wire_read(&s->wire);

    if (got == WIRE_MORE) {
        return;
    }
    if (got == WIRE_CLOSED || wire_status(&s->wire) != 200) {
        wire_die("a poll got: %s", buf_str(&s->wire.in));
    }
    take_samples(p, wire_body(&s->wire));
    s->cursor = wire_number(&s->wire, "next");
    wire_next(&s->wire);
    ask(s);
}

static void start_run(struct source *s, int port, const char *account)
{
    static const char ID[] = "\"conversation\":{\"id\":\"conv_";
    char path[96];
    const char *id;

    wire_open(&s->wire, port);
    wire_post(&s->wire, account, "/api/v1/conversations", "{}");
    wire_wait(&s->wire);
    id = strstr(wire_body(&s->wire), ID);
    if (id == NULL) {
        wire_die("no conversation: %s", buf_str(&s->wire.in));
    }
    (void)snprintf(path, sizeof(path),
                   "/api/v1/conversations/conv_%lld/messages",
                   strtoll(id + strlen(ID), NULL, 10));
    wire_next(&s->wire);
    wire_post(&s->wire, account, path, "{\"body\":\"Count for me.\"}");
    wire_wait(&s->wire);
    if (wire_status(&s->wire) != 202) {
        wire_die("no Run: %s", buf_str(&s->wire.in));
    }
    wire_next(&s->wire);
    s->cursor = 0;
}

static void start_runs(struct provider *p, int port, size_t runs, bool one)
{
    struct source *s = p->polls;

    p->n_polls = one ? 1 : runs;
    for (size_t i = 0; i < runs; i++) {
        if (i < p->n_polls) {
            s = &p->polls[i];
            s->what = WHAT_POLL;
            (void)snprintf(s->account, sizeof(s->account), "s-%zu", i);
        } else {
            wire_close(&s->wire);
        }
        start_run(s, port, s->account);
    }
    for (size_t i = 0; i < p->n_polls; i++) {
        watch(p, p->polls[i].wire.fd, &p->polls[i]);
        ask(&p->polls[i]);
    }
}

/* --- both ------------------------------------------------------------------
 */

/* One turn. False: standard input has ended. */
static bool turn(struct provider *p)
{
    struct epoll_event events[256];
    int n = epoll_wait(p->epoll, events, 256, pace(p));

    for (int i = 0; i < n; i++) {
        struct source *s = events[i].data.ptr;
        char piece[64];

        switch (s->what) {
        case WHAT_LISTEN:
            on_listen(p);
            break;
        case WHAT_INPUT:
            if (read(STDIN_FILENO, piece, sizeof(piece)) <= 0) {
                return false;
            }
            break;
        case WHAT_CALL:
            on_call(p, s);
            break;
        case WHAT_POLL:
            on_poll(p, s);
            break;
        }
    }
    return true;
}

static double processor_s(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void print_result(const struct provider *p, double busy)
{
    (void)printf("{\"sent\":%" PRId64 ",\"seen\":%" PRId64
                 ",\"busy\":%.3f,\"us\":[",
                 p->sent, p->seen, busy);
    for (int64_t i = 0; i < p->seen; i++) {
        (void)printf("%s%" PRId64, i == 0 ? "" : ",", p->sample[i]);
    }
    (void)printf("]}\n");
}

static void stream(struct provider *p)
{
    int port;
    int one;
    size_t runs;
    int64_t per_second;
    int64_t from_us;
    double from_s;

    if (scanf("%d %zu %" SCNd64 " %" SCNd64 " %d", &port, &runs, &p->tokens,
              &per_second, &one) != 5 ||
        runs == 0 || runs > MAX_RUNS || p->tokens <= 0 || per_second <= 0) {
        wire_die("expected PORT RUNS TOKENS PER_SECOND ONE");
    }
    p->every_us = 1000000 / per_second;
    p->max_samples = runs * (size_t)p->tokens;
    p->sample = calloc(p->max_samples, sizeof(p->sample[0]));
    if (p->sample == NULL) {
        wire_die("no memory");
    }
    start_runs(p, port, runs, one != 0);
    from_us = wire_now_us();
    from_s = processor_s();
    p->heard_us = from_us;
    while ((size_t)p->seen < p->max_samples &&
           wire_now_us() - p->heard_us < QUIET_END_US) {
        (void)turn(p);
    }
    print_result(p, (processor_s() - from_s) * 1e6 /
                        (double)(wire_now_us() - from_us));
    free(p->sample);
}

int main(int argc, char **argv)
{
    struct provider p = {.listener.what = WHAT_LISTEN,
                         .input.what = WHAT_INPUT};
    int port;

    if (argc != 2) {
        wire_die("usage: provider stream|instant");
    }
    p.instant = strcmp(argv[1], "instant") == 0;
    p.calls = calloc(MAX_CALLS, sizeof(p.calls[0]));
    p.polls = calloc(MAX_RUNS, sizeof(p.polls[0]));
    p.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (p.calls == NULL || p.polls == NULL || p.epoll < 0) {
        wire_die("cannot start");
    }
    p.listening = wire_listen(&port);
    watch(&p, p.listening, &p.listener);
    (void)printf("{\"port\":%d}\n", port);
    (void)fflush(stdout);
    if (p.instant) {
        watch(&p, STDIN_FILENO, &p.input);
        while (turn(&p)) {
        }
    } else {
        stream(&p);
    }
    free(p.calls);
    free(p.polls);
    return EXIT_SUCCESS;
}
