#include "runtime/document/pdf.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/document/child.h"
#include "runtime/document/markdown_text.h"

#define NO_PROGRAM 127 /* as a shell has it */

/* In the child. */
static void run(int in, int out)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (nowhere >= 0 && dup2(in, STDIN_FILENO) >= 0 &&
        dup2(out, STDOUT_FILENO) >= 0 && dup2(nowhere, STDERR_FILENO) >= 0 &&
        child_give_up_rights(PDF_TEXT_BYTES) && child_limit_memory() &&
        lseek(STDIN_FILENO, 0, SEEK_SET) == 0) {
        (void)signal(SIGXFSZ, SIG_IGN); /* then it ends, with what it wrote */
        (void)execlp("pdftotext", "pdftotext", "-q", "-enc", "UTF-8", "-", "-",
                     (char *)NULL);
    }
    _exit(NO_PROGRAM);
}

static const char *verdict(int out, int status, bool *is_cut)
{
    struct stat st;

    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PROGRAM) {
        return "PDF cannot be read here: pdftotext (Debian: poppler-utils) is "
               "not installed";
    }
    *is_cut = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    if (*is_cut && (fstat(out, &st) != 0 || st.st_size == 0)) {
        return WIFEXITED(status) ? "it is no PDF that can be read"
                                 : "it takes too long to read";
    }
    return NULL;
}

const char *pdf_text(int in, int *out, bool *is_cut, bool *again)
{
    int fd = memfd_create("text", MFD_CLOEXEC);
    const char *why = "no process could be started";
    pid_t pid = fd < 0 ? -1 : fork();
    int status = 0;

    if (pid == 0) {
        run(in, fd);
    }
    *again = true;
    if (pid > 0 && waitpid(pid, &status, 0) == pid) {
        why = verdict(fd, status, is_cut);
        *again = WIFEXITED(status) && WEXITSTATUS(status) == NO_PROGRAM;
    }
    if (why == NULL) {
        *out = fd;
    } else if (fd >= 0) {
        (void)close(fd);
    }
    return why;
}

enum rc pdf_read(const char *text, size_t len, block_fn *add, void *arg)
{
    enum rc rc = RC_OK;
    char heading[32];
    size_t page = 1;

    while (len > 0 && rc == RC_OK) {
        const char *end = memchr(text, '\f', len);
        size_t n = end != NULL ? (size_t)(end - text) : len;
        struct block b = {.kind = BLOCK_HEADING, .level = 1, .text = heading};

        b.len = (size_t)snprintf(heading, sizeof(heading), "Page %zu", page++);
        add(arg, &b);
        rc = markdown_text_read_plain(text, n, add, arg);
        text += n + (end != NULL ? 1 : 0);
        len -= n + (end != NULL ? 1 : 0);
    }
    return rc;
}
