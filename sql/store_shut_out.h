/* store_shut_out.h - who was shut out since a backup was made stays shut out when
 * it is restored.
 *
 * Of the backup's tokens those stand that stand in what is replaced. That is
 * asked only if both come of one database; by its time of making they are known.
 */
#ifndef ASIDE_SQL_STORE_SHUT_OUT_H
#define ASIDE_SQL_STORE_SHUT_OUT_H

#include "sql/base/hash.h"
#include "sql/store_access.h"
#include "sql/store_backup.h"

/* What a database says of who may come in: not those that it shuts out. */
struct shut_out {
    int64_t created_ms; /* of the database; 0: nothing is known */
    struct access_token {
        int64_t id;
        int64_t account_id;
        uint8_t hash[HASH_BYTES];
    } * tokens; /* that stand, by hash */
    size_t n_tokens;
    struct account *accounts;
    size_t n_accounts;
};

/* From the database in b->dir, as far as it can be read: else created_ms is 0.
 * Beside no claim on its file. */
void store_shut_out_read(struct store_backup *b, struct shut_out *out);

/* In the database that takes its place, in a transaction: revoke what was
 * revoked since. b->tokens_kept_out and b->back are set. */
enum rc store_shut_out_keep(struct store *, struct store_backup *b,
                            const struct shut_out *old) RC_MUST_CHECK;

#endif
