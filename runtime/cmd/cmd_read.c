/* cmd_read.c - "aside read": one fetched document on standard input, as passages
 * in JSON on standard output. The runtime starts it, see reader.h.
 *
 * The document is a stranger's. So this process gives up, before it reads a byte
 * of it, what it could be made to do harm with: time, memory, files. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/document/child.h"
#include "runtime/cmd/cmd_read.h"
#include "runtime/document/html.h"
#include "runtime/document/page.h"
#include "runtime/document/pdf.h"

/* A sanitizer's own memory is far beyond any limit. */
static bool give_up_memory(void)
{
#ifdef __SANITIZE_ADDRESS__
    return true;
#else
    return child_limit_memory();
#endif
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
    int fd = -1;
    bool again;
    const char *why = pdf_text(STDIN_FILENO, &fd, &in->is_cut, &again);

    return why != NULL ? complain(why) : read_from(fd, in);
}

int cmd_read(int argc, char **argv)
{
    struct page_input in = {.charset = argc == 3 ? argv[2] : ""};

    if (argc != 3 || page_type_named(argv[1], &in.type) != RC_OK) {
        (void)fprintf(stderr, "usage: aside read type charset < document\n");
        return 2;
    }
    if (!child_give_up_rights(PAGE_JSON_BYTES)) {
        return 1;
    }
    return in.type == PAGE_PDF ? read_pdf(&in) : read_from(STDIN_FILENO, &in);
}
