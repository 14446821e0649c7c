/* store_conversation.h - conversations and the messages in them. */
#ifndef ASIDE_SQL_STORE_CONVERSATION_H
#define ASIDE_SQL_STORE_CONVERSATION_H

#include "sql/store.h"

struct conversation {
    int64_t id;
    int64_t account_id;
    const char *title; /* "" until named or first written to */
    int64_t created_ms;
    int64_t updated_ms;
    int64_t active_runs;
    int64_t unread; /* research ends not yet seen */
};

struct message {
    int64_t id;
    int64_t conversation_id;
    const char *body; /* verbatim */
    int64_t created_ms;
    int64_t run_id; /* the Run it started; 0: none */
    int64_t *handoff_ids;
    size_t n_handoffs;
};

/* RC_NOT_FOUND also for another account's. */
enum rc store_conversation_get(struct store *, int64_t account_id, int64_t id,
                               struct arena *,
                               struct conversation *) RC_MUST_CHECK;
/* Newest first, at most limit. */
enum rc store_conversation_list(struct store *, int64_t account_id,
                                int64_t limit, struct arena *,
                                struct conversation **,
                                size_t *n) RC_MUST_CHECK;

/* A new one. title may be "". Keyed (R02). */
enum rc store_conversation_create(struct store *, struct store_call *,
                                  const char *title,
                                  struct conversation *) RC_MUST_CHECK;
/* Rename (title not NULL) and mark its notifications seen (seen). A key is
 * optional, as it is for deleting; one that is given is bound (R02). */
enum rc store_conversation_update(struct store *, struct store_call *,
                                  int64_t id, const char *title, bool seen,
                                  struct conversation *) RC_MUST_CHECK;
/* With everything in it. RC_CONFLICT while a Run is active. */
enum rc store_conversation_delete(struct store *, struct store_call *,
                                  int64_t id) RC_MUST_CHECK;

/* The same without a call: rows and change, in a transaction. */
enum rc store_conversation_remove(struct store *, int64_t account_id,
                                  int64_t id, struct arena *) RC_MUST_CHECK;

/* A page of messages, oldest first: the newest limit ones below before (0: from
 * the end). *more tells whether older ones exist. */
enum rc store_message_page(struct store *, int64_t conversation_id,
                           int64_t before, int64_t limit, struct arena *,
                           struct message **, size_t *n,
                           bool *more) RC_MUST_CHECK;
/* account_id 0: of any account. */
enum rc store_message_get(struct store *, int64_t account_id, int64_t id,
                          struct arena *, struct message *) RC_MUST_CHECK;

#endif
