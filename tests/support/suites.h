/* suites.h - one suite per module; check_main.c runs them all. */
#ifndef ASIDE_TESTS_SUITES_H
#define ASIDE_TESTS_SUITES_H

#include <check.h>
#include <stdbool.h>

/* False where all tests share one process (CK_FORK=no): tests that expect an
 * assertion to abort are left out then. */
bool suite_may_abort(void);

Suite *access_suite(void);
Suite *address_suite(void);
Suite *arena_suite(void);
Suite *buf_suite(void);
Suite *citations_suite(void);
Suite *conf_suite(void);
Suite *context_suite(void);
Suite *data_mark_suite(void);
Suite *db_suite(void);
Suite *doorbell_suite(void);
Suite *embed_suite(void);
Suite *excerpt_suite(void);
Suite *html_suite(void);
Suite *http_suite(void);
Suite *id_suite(void);
Suite *json_suite(void);
Suite *layers_suite(void);
Suite *library_files_suite(void);
Suite *library_suite(void);
Suite *limit_suite(void);
Suite *log_suite(void);
Suite *mask_suite(void);
Suite *mcp_message_suite(void);
Suite *mcp_tool_suite(void);
Suite *memory_suite(void);
Suite *model_suite(void);
Suite *model_chat_suite(void);
Suite *model_stream_suite(void);
Suite *moves_suite(void);
Suite *nginx_conf_suite(void);
Suite *offline_suite(void);
Suite *offline_research_suite(void);
Suite *offline_wire_suite(void);
Suite *offline_words_suite(void);
Suite *page_suite(void);
Suite *park_suite(void);
Suite *passages_suite(void);
Suite *policy_suite(void);
Suite *prompt_suite(void);
Suite *report_suite(void);
Suite *req_suite(void);
Suite *route_suite(void);
Suite *secret_suite(void);
Suite *states_suite(void);
Suite *stmt_suite(void);
Suite *store_suite(void);
Suite *target_suite(void);
Suite *tokens_suite(void);
Suite *torn_suite(void);
Suite *utf8_suite(void);
Suite *web_turns_suite(void);
Suite *writer_suite(void);

#endif
