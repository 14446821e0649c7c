/* store_requirement.c - what a research has to cover, and the bound on it. */
#include <string.h>

#include "sql/base/tokens.h"
#include "sql/store_handoff.h"
#include "sql/store_priv.h"

/* Adds what the texts in a query's first column cost. */
static enum rc count(struct dbq *q, int64_t *tokens)
{
    while (db_next(q)) {
        *tokens += tokens_estimate(db_peek(q, 0), db_bytes(q, 0));
    }
    return db_end(q);
}

enum rc store_requirements_fit(struct store *st, const struct conf *conf,
                               const struct requirements *r)
{
    int64_t tokens =
        r->added != NULL ? tokens_estimate(r->added, strlen(r->added)) : 0;
    struct dbq *q;
    enum rc rc = RC_OK;

    if (r->run_id != 0) {
        q = db_use(st->db, STMT_REQUIREMENT_OF_RUN);
        db_bind_i64(q, ":run", r->run_id);
        rc = count(q, &tokens);
    }
    if (rc == RC_OK && r->continues != 0) {
        q = db_use(st->db, STMT_REQUIREMENT_NOT_APPLIED);
        db_bind_i64(q, ":run", r->continues);
        rc = count(q, &tokens);
    }
    if (rc == RC_OK && r->added_message_id != 0) {
        q = db_use(st->db, STMT_REQUIREMENT_MESSAGE);
        db_bind_i64(q, ":message", r->added_message_id);
        rc = count(q, &tokens);
    }
    return rc == RC_OK && tokens > conf_context_tokens(conf) / 2 ? RC_TOO_LONG
                                                                 : rc;
}
