/* handlers.h - one function per route: parse, validate, one store call, reply.
 * They stand in h_<thing>.c and are named in route.c alone. */
#ifndef ASIDE_FCGI_HANDLERS_H
#define ASIDE_FCGI_HANDLERS_H

#include "fcgi/ask.h"

enum serve_then h_health_get(struct ask *);
enum serve_then h_overview_get(struct ask *);

enum serve_then h_conversation_create(struct ask *);
enum serve_then h_conversation_get(struct ask *);
enum serve_then h_conversation_update(struct ask *);
enum serve_then h_conversation_delete(struct ask *);

enum serve_then h_message_send(struct ask *);

enum serve_then h_run_list(struct ask *);
enum serve_then h_run_get(struct ask *);
enum serve_then h_run_stop(struct ask *);
enum serve_then h_run_continue(struct ask *);

enum serve_then h_handoff_adjust(struct ask *);
enum serve_then h_handoff_reply(struct ask *);

enum serve_then h_session_open(struct ask *);
enum serve_then h_session_leave(struct ask *);
enum serve_then h_session_list(struct ask *);
enum serve_then h_session_close(struct ask *);

enum serve_then h_token_list(struct ask *);
enum serve_then h_token_create(struct ask *);
enum serve_then h_token_revoke(struct ask *);
enum serve_then h_approval_decide(struct ask *);

enum serve_then h_search(struct ask *);
enum serve_then h_audit_list(struct ask *);

enum serve_then h_library_get(struct ask *);
enum serve_then h_library_index(struct ask *);
enum serve_then h_library_add(struct ask *);
enum serve_then h_library_remove(struct ask *);

enum serve_then h_report_get(struct ask *);
enum serve_then h_request_input(struct ask *);
enum serve_then h_call_arguments(struct ask *);
enum serve_then h_source_text(struct ask *);

enum serve_then h_changes_get(struct ask *);
/* For struct park_options: what a parked poll is told. */
enum rc h_changes_read(struct store *, const char *account, int64_t *cursor,
                       bool even_if_none, struct buf *out) RC_MUST_CHECK;
enum rc h_changes_stands(struct store *,
                         const struct store_actor *) RC_MUST_CHECK;
void h_changes_reply(struct req *, enum rc, const char *text, size_t len);

#endif
