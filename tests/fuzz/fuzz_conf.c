/* fuzz_conf.c - a configuration file: taken, or refused in one line that names
 * the file. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sql/base/address.h"
#include "sql/base/conf.h"
#include "tests/fuzz/fuzz.h"

static void check_conf(const struct conf *c)
{
    struct address_list list;
    struct address_ports ports;

    FUZZ_CHECK(c->n_mcp <= CONF_MCP_MAX);
    for (size_t i = 0; i < c->n_mcp; i++) {
        FUZZ_CHECK(c->mcp[i].name[0] != '\0' && c->mcp[i].url[0] != '\0');
        FUZZ_CHECK(i == 0 || strcmp(c->mcp[i - 1].name, c->mcp[i].name) < 0);
    }
    FUZZ_CHECK(c->short_limit > 0 && c->background_limit > 0);
    FUZZ_CHECK(c->model_max_concurrent > 0);
    FUZZ_CHECK(conf_context_tokens(c) > 0);
    FUZZ_CHECK(c->prefix[0] == '\0' || c->prefix[0] == '/');
    FUZZ_CHECK(address_list_parse_named(c->web_allow, &list));
    FUZZ_CHECK(address_ports_parse(c->web_ports, &ports));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    int fd = memfd_create("conf", MFD_CLOEXEC);
    char path[64];
    char err[300] = "";
    struct conf c;
    enum rc rc;

    FUZZ_CHECK(fd >= 0 && write(fd, data, len) == (ssize_t)len);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    rc = conf_load(path, &c, err, sizeof(err));
    FUZZ_CHECK(rc == RC_OK || rc == RC_INVALID);
    if (rc == RC_OK) {
        check_conf(&c);
        conf_free(&c);
    } else {
        FUZZ_CHECK(memchr(err, '\0', sizeof(err)) != NULL);
        FUZZ_CHECK(err[0] != '\0' && fuzz_is_line(err));
    }
    (void)close(fd);
    return 0;
}
