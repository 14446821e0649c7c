/* check_main.c - runs every suite; Check's closing line comes last.
 * CK_FORK=no runs them in one process, for a debugger or valgrind. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/suites.h"

typedef Suite *suite_fn(void);

/* One to a line, so that additions merge. */
/* clang-format off */
static suite_fn *const SUITES[] = {
    access_suite,
    address_suite,
    arena_suite,
    buf_suite,
    citations_suite,
    conf_suite,
    context_suite,
    data_mark_suite,
    db_suite,
    doorbell_suite,
    embed_suite,
    excerpt_suite,
    html_suite,
    http_suite,
    id_suite,
    json_suite,
    layers_suite,
    library_files_suite,
    library_suite,
    limit_suite,
    log_suite,
    mask_suite,
    mcp_message_suite,
    mcp_tool_suite,
    memory_suite,
    model_suite,
    model_chat_suite,
    model_stream_suite,
    moves_suite,
    nginx_conf_suite,
    offline_suite,
    offline_research_suite,
    offline_wire_suite,
    offline_words_suite,
    page_suite,
    park_suite,
    passages_suite,
    policy_suite,
    prompt_suite,
    report_suite,
    req_suite,
    route_suite,
    secret_suite,
    states_suite,
    stmt_suite,
    store_suite,
    target_suite,
    tokens_suite,
    torn_suite,
    utf8_suite,
    web_turns_suite,
    writer_suite,
    NULL,
};
/* clang-format on */

bool suite_may_abort(void)
{
    const char *fork_mode = getenv("CK_FORK");

    return fork_mode == NULL || strcmp(fork_mode, "no") != 0;
}

int main(void)
{
    SRunner *runner = srunner_create(NULL);
    int failed;

    for (size_t i = 0; SUITES[i] != NULL; i++) {
        srunner_add_suite(runner, SUITES[i]());
    }
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
