/* cmd_read.c - "aside read": one fetched document on standard input, as passages
 * in JSON on standard output. The runtime starts it, see reader.h.
 *
 * The document is a stranger's. So this process gives up, before it reads a byte
 * of it, what it could be made to do harm with: time, memory, files. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/cmd_read.h"
#include "runtime/html.h"
#include "runtime/page.h"

#define CPU_SECONDS  10
#define MEMORY_BYTES (512u << 20)
#define FILES_MAX    16

static bool limit(int what, rlim_t most)
{
    const struct rlimit l = {.rlim_cur = most, .rlim_max = most};

    return setrlimit(what, &l) == 0;
}

static bool limit_memory(void)
{
    return limit(RLIMIT_AS, MEMORY_BYTES);
}

static bool give_up_rights(void)
{
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           limit(RLIMIT_CPU, CPU_SECONDS) && limit(RLIMIT_CORE, 0) &&
           limit(RLIMIT_NOFILE, FILES_MAX) &&
           limit(RLIMIT_FSIZE, PAGE_JSON_BYTES);
}

/* A sanitizer's own memory is far beyond any limit. */
static bool give_up_memory(void)
{
#ifdef __SANITIZE_ADDRESS__
    return true;
#else
    return limit_memory();
#endif
}

/* --- PDF ------------------------------------------------------------------- */

/* In the child of a child. */
static void run_pdftotext(int out)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (nowhere >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(nowhere, STDERR_FILENO) >= 0 && give_up_rights() &&
        limit_memory() && lseek(STDIN_FILENO, 0, SEEK_SET) == 0) {
        (void)signal(SIGXFSZ, SIG_IGN); /* then it ends, with what it wrote */
        (void)execlp("pdftotext", "pdftotext", "-q", "-enc", "UTF-8", "-", "-",
                     (char *)NULL);
    }
    _exit(127);
}

/* *status: how it ended. -1: it could not be started. */
static int pdf_to_text(int *status)
{
    int out = memfd_create("text", MFD_CLOEXEC);
    pid_t pid;

    if (out < 0) {
        return -1;
    }
    pid = fork();
    if (pid == 0) {
        run_pdftotext(out);
    }
    if (pid < 0 || waitpid(pid, status, 0) != pid) {
        (void)close(out);
        return -1;
    }
    return out;
}

/* --- input and output -------------------------------------------------------- */

static enum rc map(int fd, const char **bytes, size_t *len)
{
    struct stat st;
    void *at;

    if (fstat(fd, &st) != 0) {
        return RC_IO;
    }
    *len = (size_t)st.st_size;
    *bytes = "";
    if (*len == 0) {
        return RC_OK;
    }
    at = mmap(NULL, *len, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) {
        return RC_NOMEM;
    }
    *bytes = at;
    return RC_OK;
}

static int complain(const char *why)
{
    (void)printf("{\"error\":\"%s\"}", why);
    return fflush(stdout) == 0 ? 0 : 1;
}

static int tell(enum rc rc, const struct buf *json)
{
    if (rc == RC_NOT_FOUND) {
        return complain("there is no text in it");
    }
    if (rc == RC_INVALID) {
        return complain("it is no text");
    }
    if (rc != RC_OK) {
        return complain("it is too large to be read");
    }
    return fwrite(buf_str(json), 1, json->len, stdout) == json->len &&
                   fflush(stdout) == 0
               ? 0
               : 1;
}

static int read_from(int fd, struct page_input *in)
{
    struct buf json;
    enum rc rc = give_up_memory() ? map(fd, &in->bytes, &in->len) : RC_IO;
    int status;

    buf_init(&json, PAGE_JSON_BYTES);
    if (rc == RC_OK) {
        html_init();
        rc = page_read(in, &json);
    }
    status = tell(rc, &json);
    buf_free(&json);
    return status;
}

static int read_pdf(struct page_input *in)
{
    int ended = 0;
    int fd = pdf_to_text(&ended);
    struct stat st;

    if (fd < 0) {
        return 1;
    }
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 127) {
        return complain("PDF cannot be read here: pdftotext (Debian: "
                        "poppler-utils) is not installed");
    }
    in->is_cut = !WIFEXITED(ended) || WEXITSTATUS(ended) != 0;
    if (in->is_cut && (fstat(fd, &st) != 0 || st.st_size == 0)) {
        return complain(WIFEXITED(ended) ? "it is no PDF that can be read"
                                         : "it takes too long to read");
    }
    return read_from(fd, in);
}

int cmd_read(int argc, char **argv)
{
    struct page_input in = {.charset = argc == 3 ? argv[2] : ""};

    if (argc != 3 || page_type_named(argv[1], &in.type) != RC_OK) {
        (void)fprintf(stderr, "usage: aside read type charset < document\n");
        return 2;
    }
    if (!give_up_rights()) {
        return 1;
    }
    return in.type == PAGE_PDF ? read_pdf(&in) : read_from(STDIN_FILENO, &in);
}
