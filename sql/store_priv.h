/* store_priv.h - what the store's files share among themselves. Only
 * sql/store*.c includes it. */
#ifndef ASIDE_SQL_STORE_PRIV_H
#define ASIDE_SQL_STORE_PRIV_H

#include "sql/db.h"
#include "sql/store.h"
#include "sql/store_run.h"

struct store {
    struct db *db;
    char *log; /* path of the database's log */
    int64_t busy_ms;
    int64_t epoch;            /* of the lease this store owns; 0: none */
    int64_t renewed_boot_ms;  /* when the lease row was last renewed */
    struct hash_heads *heads; /* of bodies of model requests */
};

/* As store_open_read, of what a restore that was cut short has left, too. */
enum rc store_open_half(const char *dir, int64_t busy_ms,
                        struct store **out) RC_MUST_CHECK;

/* A value of a word list from a text column. A word outside the list cannot
 * be stored (CHECK), so it is kept as RC_DB. */
int store_word(struct dbq *, int col, enum states_list);
void store_bind_word(struct dbq *, const char *name, enum states_list, int);

/* Room for one more item at the end of an arena list that doubles; NULL when
 * the arena is full. *items and *n are brought up to date. */
void *store_list_add(struct arena *, void **items, size_t *n, size_t item_size);

/* One row into a struct; failures stay with the query. */
typedef void store_read_fn(struct dbq *, struct arena *, void *item);
/* The first row of a query, or RC_NOT_FOUND. */
enum rc store_read_one(struct dbq *, struct arena *, store_read_fn *,
                       void *item) RC_MUST_CHECK;
/* All rows of a query, as an array of n items of item_size in the arena. */
enum rc store_read_list(struct dbq *, struct arena *, store_read_fn *,
                        size_t item_size, void *items, size_t *n) RC_MUST_CHECK;
/* Run a query to its end and list the ids in its first column. */
enum rc store_read_ids(struct dbq *, struct arena *, int64_t **ids,
                       size_t *n) RC_MUST_CHECK;

/* Where the stores of this process leave what they meet: an enum db_trouble. */
int *store_trouble(void);

enum rc store_as_of(struct store *, int64_t *seq) RC_MUST_CHECK;

/* --- the feed ---------------------------------------------------------- */

struct change_new {
    enum change_kind kind;
    int64_t account_id;
    int64_t conversation_id; /* 0: none */
    int64_t run_id;          /* 0: none */
    int64_t ref;             /* 0: none */
};
enum rc store_change_add(struct store *,
                         const struct change_new *) RC_MUST_CHECK;
/* A change of something that belongs to a Run. */
enum rc store_change_of_run(struct store *, const struct run *,
                            enum change_kind, int64_t ref) RC_MUST_CHECK;
enum rc store_change_conversation(struct store *, int64_t account_id,
                                  int64_t conversation_id) RC_MUST_CHECK;
/* A new Run, and its conversation by it. */
enum rc store_change_run_created(struct store *,
                                 const struct run *) RC_MUST_CHECK;
/* The seq of the change that was just added: until something else is. */
int64_t store_change_last(struct store *);

/* --- idempotency (R02) ------------------------------------------------- */

struct key_refs {
    int64_t conversation_id;
    int64_t message_id;
    int64_t run_id;
    int64_t handoff_id;
    int64_t token_id;
};
/* Look the call's key up. call->replayed and *refs are set if it is known;
 * RC_KEY_REUSED if it stands for something else. Without a key: nothing. */
enum rc store_key_find(struct store *, struct store_call *, int64_t account_id,
                       struct key_refs *) RC_MUST_CHECK;
enum rc store_key_bind(struct store *, const struct store_call *,
                       int64_t account_id,
                       const struct key_refs *) RC_MUST_CHECK;

/* --- pieces used by several doors -------------------------------------- */

/* RC_OK, or RC_NOT_FOUND: there is none, or it is another account's. Unlike
 * store_conversation_get it counts nothing, so its cost does not grow with what
 * is going on there. */
enum rc store_conversation_owned(struct store *, int64_t account_id,
                                 int64_t id) RC_MUST_CHECK;

/* Save a message; the conversation is touched and takes its title from it. */
enum rc store_message_add(struct store *, int64_t account_id,
                          int64_t conversation_id, const char *body,
                          int64_t now_ms, int64_t *id) RC_MUST_CHECK;

/* Where the words of a title begin: behind a label ("research: ...") that says
 * only what is to be done, if anything follows it. Points into text. */
const char *store_title_start(const char *text);

/* The first words of a text as a title: one line, at most about 70 bytes. */
void store_title_of(const char *body, char *out, size_t out_len);

/* A free place of the class, or RC_FULL. */
enum rc store_slot_find(struct store *, int64_t account_id, enum slot_class,
                        int64_t limit, int64_t *n) RC_MUST_CHECK;
enum rc store_slot_take(struct store *, int64_t account_id, enum slot_class,
                        int64_t n, int64_t run_id) RC_MUST_CHECK;
enum rc store_slot_free(struct store *, int64_t run_id) RC_MUST_CHECK;

/* Planned requests and tool calls of a Run become skipped. */
enum rc store_effect_skip_planned(struct store *, const struct run *,
                                  enum effect_cause,
                                  int64_t now_ms) RC_MUST_CHECK;

/* Received handoffs of a Run become not_applied. */
enum rc store_handoff_drop(struct store *, const struct run *,
                           enum handoff_reason) RC_MUST_CHECK;

#endif
