/* req.c - how libfcgi is used here.
 *
 * Accepting is done by this file, not by the library, so that every read and
 * write of a connection carries a time-out from its first byte on, and so that
 * threads can be ended without touching a listening socket that may be shared.
 * The library then reads the request from the connection it is given.
 */
#include "fcgi/req.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fcgiapp.h>

#include "fcgi/target.h"
#include "sql/base/buf.h"
#include "sql/base/clock.h"
#include "sql/base/log.h"

#define BACKLOG             4096
#define ACCEPT_BACK_OFF_US  50000
#define FCGI_ROLE_RESPONDER 1

/* Wakes a thread out of accept(2). Not one that a process manager sends. */
#define POKE_SIGNAL SIGUSR2

/* A parked reply (128 KiB and a bit) fits into the socket's buffer, so that no
 * peer can hold up the thread that sends it. The kernel doubles the figure. */
#define PARKED_SEND_BUFFER_BYTES (160 * 1024)

#define PIECE_BYTES 8192

/* FastCGI 1.0: record types (section 8) and the longest content of a record
 * that needs no padding. */
#define RECORD_END    3
#define RECORD_STDOUT 6
#define RECORD_BYTES  65528
#define HEAD_BYTES    2048

struct req_listener {
    int fd;
    bool local; /* a Unix socket: permissions say who may connect */
    const char *prefix;
    atomic_bool stopping;
    char *path; /* own socket file, or NULL */
    dev_t dev;
    ino_t ino;
};

struct req {
    FCGX_Request fcgx;
    struct arena *arena;
    enum req_method method;
    const char *method_name;
    const char *path;
    const struct target_pair *query;
    size_t n_query;
    bool query_malformed;
    bool path_malformed;
    bool body_taken;
    enum rc body_rc;
    struct buf body;
    bool answering; /* a reply or stream has begun */
    bool parked;    /* libfcgi's streams and parameters are gone */
    int status;
};

/* --- listening -------------------------------------------------------------
 */

static void on_poke(int signal)
{
    (void)signal; /* its only effect is EINTR */
}

enum rc req_setup(void)
{
    struct sigaction poke = {.sa_handler = on_poke};

    (void)sigemptyset(&poke.sa_mask);
    if (sigaction(POKE_SIGNAL, &poke, NULL) != 0 ||
        signal(SIGPIPE, SIG_IGN) == SIG_ERR ||
        /* A limit on file sizes is a full disk, not an end. */
        signal(SIGXFSZ, SIG_IGN) == SIG_ERR) {
        log_error(NULL, "cannot set signal handlers: %s", strerror(errno));
        return RC_IO;
    }
    /* The library would wait up to 2 s for the peer to close first. */
    if (setenv("LIBFCGI_OS_CLOSE_POLL_TIMEOUT", "0", 1) != 0 ||
        FCGX_Init() != 0) {
        log_error(NULL, "cannot start libfcgi");
        return RC_IO;
    }
    return RC_OK;
}

/* RC_CONFLICT: somebody listens there. RC_OK: nothing, or a stale socket. */
static enum rc check_path(const char *path, const struct sockaddr_un *address)
{
    struct stat st;
    int fd;
    int connected;

    if (lstat(path, &st) != 0) {
        return errno == ENOENT ? RC_OK : RC_IO;
    }
    if (!S_ISSOCK(st.st_mode)) {
        log_error(NULL, "%s exists and is no socket", path);
        return RC_INVALID;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return RC_IO;
    }
    connected = connect(fd, (const struct sockaddr *)address, sizeof(*address));
    /* A listener whose backlog is full is a listener. */
    connected = connected == 0 || errno == EAGAIN;
    (void)close(fd);
    if (connected) {
        log_error(NULL, "another process listens on %s", path);
        return RC_CONFLICT;
    }
    return RC_OK;
}

/* Bind under another name, listen, and only then take the name: nobody ever
 * sees a socket that refuses. */
static enum rc bind_and_rename(int fd, const char *path, mode_t mode)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    mode_t old_mask;
    int len;
    int bound;

    len = snprintf(address.sun_path, sizeof(address.sun_path), "%s.%ld", path,
                   (long)getpid());
    if (len < 0 || (size_t)len >= sizeof(address.sun_path)) {
        log_error(NULL, "socket path too long: %s", path);
        return RC_INVALID;
    }
    (void)unlink(address.sun_path);
    old_mask = umask(0777 & ~mode);
    bound = bind(fd, (const struct sockaddr *)&address, sizeof(address));
    (void)umask(old_mask);
    if (bound != 0) {
        log_error(NULL, "cannot bind %s: %s", path, strerror(errno));
        return RC_IO;
    }
    if (listen(fd, BACKLOG) != 0 || rename(address.sun_path, path) != 0) {
        log_error(NULL, "cannot listen on %s: %s", path, strerror(errno));
        (void)unlink(address.sun_path);
        return RC_IO;
    }
    return RC_OK;
}

static enum rc listen_on_path(struct req_listener *l, const char *path,
                              mode_t mode)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;
    enum rc rc;

    if (strlen(path) >= sizeof(address.sun_path)) {
        log_error(NULL, "socket path too long: %s", path);
        return RC_INVALID;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    rc = check_path(path, &address);
    if (rc != RC_OK) {
        return rc;
    }
    l->local = true;
    l->path = strdup(path);
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (l->path == NULL || l->fd < 0) {
        return RC_IO;
    }
    rc = bind_and_rename(l->fd, path, mode == 0 ? 0660 : mode);
    if (rc == RC_OK && lstat(path, &st) == 0) {
        l->dev = st.st_dev;
        l->ino = st.st_ino;
    }
    return rc;
}

static enum rc listen_on_descriptor_0(struct req_listener *l)
{
    int listening = 0;
    int domain = 0;
    socklen_t len = sizeof(listening);

    if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) !=
            0 ||
        !listening) {
        log_error(NULL, "descriptor 0 is no listening socket: start this "
                        "program from a web server or give a socket path");
        return RC_INVALID;
    }
    len = sizeof(domain);
    if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_DOMAIN, &domain, &len) != 0) {
        return RC_IO;
    }
    l->local = domain == AF_UNIX;
    l->fd = STDIN_FILENO;
    return RC_OK;
}

enum rc req_listen(const struct req_listen_options *options,
                   struct req_listener **out)
{
    struct req_listener *l = calloc(1, sizeof(*l));
    enum rc rc;

    if (l == NULL) {
        return RC_NOMEM;
    }
    l->fd = -1;
    l->prefix = options->prefix == NULL ? "" : options->prefix;
    atomic_init(&l->stopping, false);
    rc = options->path == NULL
             ? listen_on_descriptor_0(l)
             : listen_on_path(l, options->path, options->mode);
    if (rc != RC_OK) {
        req_listener_free(l);
        return rc;
    }
    *out = l;
    return RC_OK;
}

void req_listener_stop(struct req_listener *l)
{
    atomic_store(&l->stopping, true);
}

void req_poke(pthread_t thread)
{
    (void)pthread_kill(thread, POKE_SIGNAL);
}

void req_listener_free(struct req_listener *l)
{
    struct stat st;

    if (l == NULL) {
        return;
    }
    /* Another responder may have taken the name meanwhile. */
    if (l->path != NULL && l->ino != 0 && lstat(l->path, &st) == 0 &&
        st.st_dev == l->dev && st.st_ino == l->ino) {
        (void)unlink(l->path);
    }
    if (l->fd > STDIN_FILENO) {
        (void)close(l->fd);
    }
    free(l->path);
    free(l);
}

/* --- accepting -------------------------------------------------------------
 */

/* A TCP peer must be this machine: whoever can connect can claim to be
 * anyone. */
static bool is_this_machine(int fd)
{
    struct sockaddr_in peer = {0};
    socklen_t len = sizeof(peer);

    return getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
           peer.sin_family == AF_INET &&
           ntohl(peer.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static bool prepare_connection(const struct req_listener *l, int fd)
{
    const struct timeval receive = {.tv_sec = REQ_RECEIVE_MS / 1000};
    const struct timeval send = {.tv_sec = REQ_SEND_MS / 1000};
    const int yes = 1;

    if (!l->local &&
        (!is_this_machine(fd) ||
         setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) != 0)) {
        return false;
    }
    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &receive, sizeof(receive)) ==
               0 &&
           setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &send, sizeof(send)) == 0;
}

/* After a failing accept(2): wait until trying again makes sense. */
static void wait_after_accept(const struct req_listener *l, int error)
{
    static _Thread_local long long last_ms;
    struct pollfd p = {.fd = l->fd, .events = POLLIN};

    if (error == EINTR || error == ECONNABORTED) {
        return;
    }
    if (error == EAGAIN) { /* an inherited socket may be non-blocking */
        (void)poll(&p, 1, -1);
        return;
    }
    log_rarely(&last_ms, LOG_LEVEL_ERROR, NULL, "cannot accept: %s",
               strerror(error));
    clock_nap_us(ACCEPT_BACK_OFF_US);
}

/* A new connection, or -1 when the listener is stopping. The poke reaches the
 * thread only here: elsewhere it would interrupt a request in hand. */
static int accept_connection(struct req_listener *l)
{
    sigset_t poke;
    int fd = -1;

    (void)sigemptyset(&poke);
    (void)sigaddset(&poke, POKE_SIGNAL);
    (void)pthread_sigmask(SIG_UNBLOCK, &poke, NULL);
    while (fd < 0 && !atomic_load(&l->stopping)) {
        fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) {
            wait_after_accept(l, errno);
        }
    }
    (void)pthread_sigmask(SIG_BLOCK, &poke, NULL);
    return fd;
}

static enum req_method method_of(const char *name)
{
    static const char *const NAME[REQ__MAX] = {
        [REQ_GET] = "GET", [REQ_HEAD] = "HEAD",   [REQ_POST] = "POST",
        [REQ_PUT] = "PUT", [REQ_PATCH] = "PATCH", [REQ_DELETE] = "DELETE",
    };

    for (enum req_method m = REQ_GET; m < REQ_OTHER; m++) {
        if (strcmp(NAME[m], name) == 0) {
            return m;
        }
    }
    return REQ_OTHER;
}

/* Read the target of the request. Only a lack of memory fails. */
static enum rc parse_target(struct req *r, const char *prefix)
{
    const char *uri = req_param(r, "REQUEST_URI");
    const char *query = req_param(r, "QUERY_STRING");
    enum rc rc;

    r->method_name = req_param(r, "REQUEST_METHOD");
    if (r->method_name == NULL) {
        r->method_name = "";
    }
    r->method = method_of(r->method_name);
    rc = target_path(r->arena, uri == NULL ? "" : uri, prefix, &r->path);
    if (rc == RC_NOMEM) {
        return rc;
    }
    r->path_malformed = rc == RC_INVALID;
    rc = target_query(r->arena, query == NULL ? "" : query, &r->query,
                      &r->n_query);
    r->query_malformed = rc == RC_INVALID;
    return rc == RC_NOMEM ? rc : RC_OK;
}

/* Wait for a request to begin. Here rather than in the library's read: one with
 * a time-out ends with EINTR when the process was stopped and goes on. */
static bool await_input(int fd)
{
    int64_t until_ms = clock_boot_ms() + REQ_RECEIVE_MS;
    struct pollfd p = {.fd = fd, .events = POLLIN};

    for (;;) {
        int64_t left_ms = until_ms - clock_boot_ms();
        int n = poll(&p, 1, left_ms <= 0 ? 0 : (int)left_ms);

        if (n > 0) {
            return true;
        }
        if (left_ms <= 0) {
            return false;
        }
    }
}

/* Let the library read the request from fd, which it owns from here on.
 * NULL: it was no request. */
static struct req *read_request(int fd, const char *prefix)
{
    struct req *r = calloc(1, sizeof(*r));

    if (r == NULL || !await_input(fd)) {
        (void)close(fd);
        free(r);
        return NULL;
    }
    buf_init(&r->body, 0);
    (void)FCGX_InitRequest(&r->fcgx, -1, FCGI_FAIL_ACCEPT_ON_INTR);
    r->fcgx.ipcFd = fd;
    /* Or FCGX_Accept_r would close the connection before it reads. After a
     * failure it has closed it, and accepted no other from descriptor -1. */
    r->fcgx.keepConnection = 1;
    if (FCGX_Accept_r(&r->fcgx) != 0) {
        free(r);
        return NULL;
    }
    r->fcgx.keepConnection = 0;
    r->arena = arena_new(REQ_ARENA_BYTES);
    /* Variables that broke off must not pass for all there are: without an
     * answer the web server asks another responder. */
    if (FCGX_GetError(r->fcgx.in) != 0 || r->fcgx.role != FCGI_ROLE_RESPONDER ||
        r->arena == NULL || parse_target(r, prefix) != RC_OK) {
        req_finish(r);
        return NULL;
    }
    return r;
}

enum rc req_accept(struct req_listener *l, struct req **out)
{
    for (;;) {
        int fd = accept_connection(l);
        struct req *r;

        if (fd < 0) {
            return RC_CONFLICT;
        }
        if (!prepare_connection(l, fd)) {
            (void)close(fd);
            continue;
        }
        r = read_request(fd, l->prefix);
        if (r != NULL) {
            *out = r;
            return RC_OK;
        }
        log_debug(NULL, "a connection without a request");
    }
}

/* --- reading ---------------------------------------------------------------
 */

struct arena *req_arena(struct req *r)
{
    return r->arena;
}

enum req_method req_method(const struct req *r)
{
    return r->method;
}

const char *req_method_name(const struct req *r)
{
    return r->method_name;
}

const char *req_path(const struct req *r)
{
    return r->path;
}

bool req_path_malformed(const struct req *r)
{
    return r->path_malformed;
}

const char *req_query(const struct req *r, const char *name)
{
    for (size_t i = 0; i < r->n_query; i++) {
        if (strcmp(r->query[i].name, name) == 0) {
            return r->query[i].value;
        }
    }
    return NULL;
}

bool req_query_malformed(const struct req *r)
{
    return r->query_malformed;
}

/* The variable, from *at on, which is moved behind it; or NULL. */
static const char *next_param(char *const **at, const char *name)
{
    size_t len = strlen(name);

    /* Some twenty variables are asked for in each request: not all of each
     * other one is compared, as FCGX_GetParam does it. */
    for (char *const *p = *at; p != NULL && *p != NULL; p++) {
        if (**p == *name && strncmp(*p, name, len) == 0 && (*p)[len] == '=') {
            *at = p + 1;
            return *p + len + 1;
        }
    }
    return NULL;
}

const char *req_param(const struct req *r, const char *name)
{
    char *const *at = r->fcgx.envp;

    return next_param(&at, name);
}

/* A header, or all of that name in one: the web server may pass each on. Who
 * lacks the memory sees what no header can say. */
static const char *joined_header(const struct req *r, const char *variable)
{
    char *const *at = r->fcgx.envp;
    const char *value = next_param(&at, variable);
    const char *more = value == NULL ? NULL : next_param(&at, variable);

    while (more != NULL) {
        value = arena_printf(r->arena, "%s, %s", value, more);
        if (value == NULL) {
            return ", ";
        }
        more = next_param(&at, variable);
    }
    return value;
}

const char *req_header(const struct req *r, const char *name)
{
    char variable[64] = "HTTP_";
    size_t len;
    const char *value;

    /* RFC 3875 4.1.2 and 4.1.3: these two have names of their own. */
    if (strcasecmp(name, "Content-Type") == 0) {
        value = req_param(r, "CONTENT_TYPE");
        return value == NULL || *value == '\0' ? NULL : value;
    }
    len = strlen(name);
    assert(len < sizeof(variable) - sizeof("HTTP_"));
    for (size_t i = 0; i <= len; i++) {
        char c = name[i];

        if (c >= 'a' && c <= 'z') {
            c = (char)(c - 'a' + 'A');
        } else if (c == '-') {
            c = '_';
        }
        variable[sizeof("HTTP_") - 1 + i] = c;
    }
    return joined_header(r, variable);
}

/* What the library has in its buffer, after reading once if it is empty. 0 at
 * the end of the input, or when it failed. */
static size_t take_piece(FCGX_Stream *in, char *out, size_t room)
{
    int first = FCGX_GetChar(in);
    size_t ready;

    /* The process was stopped, and goes on: so does the stream. */
    while (first == EOF && FCGX_GetError(in) == EINTR) {
        FCGX_ClearError(in);
        in->isClosed = 0;
        first = FCGX_GetChar(in);
    }
    if (first == EOF) {
        return 0;
    }
    out[0] = (char)first;
    ready = (size_t)(in->stop - in->rdNext);
    if (ready > room - 1) {
        ready = room - 1;
    }
    return 1 + (size_t)FCGX_GetStr(out + 1, (int)ready, in);
}

/* Read and forget the rest of the input. False if it did not end in time. */
static bool drain(struct req *r)
{
    int64_t until_ms = clock_boot_ms() + REQ_DRAIN_MS;
    size_t total = 0;
    char piece[PIECE_BYTES];

    if (r->parked) {
        return true;
    }
    if (FCGX_GetError(r->fcgx.in) != 0) {
        return false; /* nothing more can be understood */
    }
    while (total <= REQ_DRAIN_BYTES && clock_boot_ms() < until_ms) {
        size_t n = take_piece(r->fcgx.in, piece, sizeof(piece));

        if (n == 0) {
            return FCGX_GetError(r->fcgx.in) == 0;
        }
        total += n;
    }
    return false;
}

/* Bytes announced by Content-Length, or -1. */
static int64_t announced_len(const struct req *r)
{
    const char *text = req_param(r, "CONTENT_LENGTH");
    char *end;
    long long n;

    if (text == NULL || *text < '0' || *text > '9') {
        return -1;
    }
    errno = 0;
    n = strtoll(text, &end, 10);
    return errno != 0 || *end != '\0' ? -1 : n;
}

/* Each piece of the body to take, at most limit bytes. */
static enum rc read_pieces(struct req *r, size_t limit, req_take_fn *take,
                           void *arg, bool *arrived)
{
    int64_t until_ms = clock_boot_ms() + REQ_BODY_MS;
    int64_t announced = announced_len(r);
    char piece[PIECE_BYTES];
    size_t total = 0;
    size_t n;

    *arrived = true;
    while ((n = take_piece(r->fcgx.in, piece, sizeof(piece))) > 0) {
        enum rc rc;

        total += n;
        rc = total > limit ? RC_TOO_LARGE : take(arg, piece, n);
        if (rc != RC_OK) {
            (void)drain(r);
            return rc;
        }
        if (clock_boot_ms() > until_ms) {
            *arrived = false;
            return RC_IO;
        }
    }
    *arrived = FCGX_GetError(r->fcgx.in) == 0 &&
               (announced < 0 || (size_t)announced == total);
    return *arrived ? RC_OK : RC_IO;
}

static enum rc add_to_body(void *arg, const void *bytes, size_t len)
{
    struct buf *body = arg;

    buf_add(body, bytes, len);
    return buf_rc(body);
}

static enum rc read_body(struct req *r, size_t limit)
{
    bool arrived;

    buf_init(&r->body, limit);
    return read_pieces(r, limit, add_to_body, &r->body, &arrived);
}

enum rc req_body_pieces(struct req *r, size_t limit_bytes, req_take_fn *take,
                        void *arg, bool *arrived)
{
    assert(!r->body_taken);
    r->body_taken = true;
    r->body_rc = RC_NOT_FOUND; /* nothing is kept */
    return read_pieces(r, limit_bytes, take, arg, arrived);
}

enum rc req_body(struct req *r, size_t limit_bytes, const char **out,
                 size_t *len)
{
    if (!r->body_taken) {
        r->body_taken = true;
        r->body_rc = read_body(r, limit_bytes);
    }
    if (r->body_rc != RC_OK) {
        return r->body_rc;
    }
    *out = buf_str(&r->body);
    *len = r->body.len;
    return RC_OK;
}

/* --- answering -------------------------------------------------------------
 */

static const char *reason_phrase(int status)
{
    static const struct {
        int status;
        const char *text;
    } PHRASE[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {409, "Conflict"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {422, "Unprocessable Content"},
        {428, "Precondition Required"},
        {429, "Too Many Requests"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
        {507, "Insufficient Storage"},
    };

    for (size_t i = 0; i < sizeof(PHRASE) / sizeof(PHRASE[0]); i++) {
        if (PHRASE[i].status == status) {
            return PHRASE[i].text;
        }
    }
    return "Status";
}

static bool put(struct req *r, const char *text, size_t len)
{
    /* The library counts in int; a reply is far below that. */
    assert(len <= INT32_MAX);
    return len == 0 || FCGX_PutStr(text, (int)len, r->fcgx.out) == (int)len;
}

/* Build the head of a reply; length < 0: unknown. */
static void put_head(struct req *r, struct buf *out, int status,
                     const char *type, int64_t length, const char *headers)
{
    assert(!r->answering);
    r->answering = true;
    r->status = status;
    buf_printf(out, "Status: %d %s\r\nContent-Type: %s\r\n", status,
               reason_phrase(status), type);
    if (length >= 0) {
        buf_printf(out, "Content-Length: %" PRId64 "\r\n", length);
    }
    if (headers != NULL) {
        buf_puts(out, headers);
    }
    buf_puts(out, "\r\n");
}

static bool send_by_library(struct req *r, const struct buf *head,
                            const char *body, size_t len)
{
    bool whole = put(r, head->data, head->len) && put(r, body, len);

    /* Closing both streams sends everything with the end record in one go. */
    if (FCGX_FClose(r->fcgx.err) != 0 || FCGX_FClose(r->fcgx.out) != 0) {
        whole = false;
    }
    return whole;
}

static void put_record(struct buf *out, const struct req *r, uint8_t type,
                       const char *content, size_t len)
{
    const char header[] = {1, /* version */
                           (char)type,
                           (char)(r->fcgx.requestId >> 8),
                           (char)r->fcgx.requestId,
                           (char)(len >> 8),
                           (char)len,
                           0, /* padding */
                           0};

    buf_add(out, header, sizeof(header));
    buf_add(out, content, len);
}

/* What the library would write: output in records, its end, the end of the
 * request. For a parked request, whose buffers it cannot make again. */
static bool send_by_hand(const struct req *r, const struct buf *text)
{
    static const char COMPLETE[8] = {0}; /* status 0, FCGI_REQUEST_COMPLETE */
    struct buf out;
    size_t sent = 0;
    bool whole;

    buf_init(&out, text->len + (text->len / RECORD_BYTES + 3) * 16);
    for (size_t at = 0; at < text->len; at += RECORD_BYTES) {
        size_t left = text->len - at;

        put_record(&out, r, RECORD_STDOUT, text->data + at,
                   left < RECORD_BYTES ? left : RECORD_BYTES);
    }
    put_record(&out, r, RECORD_STDOUT, "", 0);
    put_record(&out, r, RECORD_END, COMPLETE, sizeof(COMPLETE));
    whole = buf_rc(&out) == RC_OK;
    while (whole && sent < out.len) {
        ssize_t n =
            send(r->fcgx.ipcFd, out.data + sent, out.len - sent, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        whole = n > 0;
        sent += whole ? (size_t)n : 0;
    }
    buf_free(&out);
    return whole;
}

enum rc req_reply(struct req *r, const struct req_reply *reply)
{
    size_t len = r->method == REQ_HEAD ? 0 : reply->body_len;
    struct buf text;
    bool whole;

    (void)drain(r); /* if it fails, the peer may still get the reply */
    buf_init(&text, HEAD_BYTES + len);
    put_head(r, &text, reply->status, reply->type, (int64_t)reply->body_len,
             reply->headers);
    if (r->parked) {
        buf_add(&text, reply->body, len);
    }
    whole = buf_rc(&text) == RC_OK &&
            (r->parked ? send_by_hand(r, &text)
                       : send_by_library(r, &text, reply->body, len));
    buf_free(&text);
    return whole ? RC_OK : RC_IO;
}

int req_status(const struct req *r)
{
    return r->status;
}

enum rc req_stream_begin(struct req *r, int status, const char *type)
{
    struct buf head;
    bool whole;

    (void)drain(r);
    buf_init(&head, HEAD_BYTES);
    put_head(r, &head, status, type, -1,
             "Cache-Control: no-store\r\n"
             "X-Accel-Buffering: no\r\n");
    whole = buf_rc(&head) == RC_OK && put(r, head.data, head.len) &&
            FCGX_FFlush(r->fcgx.out) == 0;
    buf_free(&head);
    return whole ? RC_OK : RC_IO;
}

enum rc req_stream_write(struct req *r, const char *text, size_t len)
{
    assert(r->answering);
    return put(r, text, len) && FCGX_FFlush(r->fcgx.out) == 0 ? RC_OK : RC_IO;
}

enum rc req_stream_wait(struct req *r, int64_t ms)
{
    int64_t until_ms = clock_boot_ms() + ms;
    struct pollfd p = {.fd = r->fcgx.ipcFd, .events = POLLRDHUP};

    for (;;) {
        int64_t left_ms = until_ms - clock_boot_ms();
        int n = poll(&p, 1, left_ms <= 0 ? 0 : (int)left_ms);

        if (n > 0) {
            return RC_IO;
        }
        if (left_ms <= 0) {
            return RC_OK;
        }
    }
}

/* --- parking and finishing -------------------------------------------------
 */

static void free_memory(struct req *r)
{
    arena_free(r->arena);
    r->arena = NULL;
    r->path = NULL;
    r->query = NULL;
    r->n_query = 0;
    buf_free(&r->body);
}

enum rc req_park(struct req *r)
{
    int bytes = PARKED_SEND_BUFFER_BYTES;

    /* A late end of the input would make the descriptor readable. */
    if (!drain(r)) {
        return RC_IO;
    }
    (void)setsockopt(r->fcgx.ipcFd, SOL_SOCKET, SO_SNDBUF, &bytes,
                     sizeof(bytes));
    /* Streams and parameters, some 10 KiB; the connection stays. */
    FCGX_Free(&r->fcgx, 0);
    r->fcgx.envp = NULL;
    r->parked = true;
    free_memory(r);
    return RC_OK;
}

int req_fd(const struct req *r)
{
    return r->fcgx.ipcFd;
}

static void finish_by_library(struct req *r)
{
    /* Closing is safe at once if all input was read; else the library lets the
     * peer take the reply first. */
    if (drain(r)) {
        (void)FCGX_Detach(&r->fcgx);
    }
    FCGX_Finish_r(&r->fcgx);
}

void req_finish(struct req *r)
{
    if (r == NULL) {
        return;
    }
    if (r->parked) {
        (void)close(r->fcgx.ipcFd);
    } else {
        finish_by_library(r);
    }
    free_memory(r);
    free(r);
}
