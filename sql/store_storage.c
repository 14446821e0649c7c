#include "sql/store_storage.h"

#include <assert.h>
#include <sys/stat.h>

#include "sql/store_priv.h"

/* Four times of what makes SQLite begin its log anew. */
#define LOG_LARGE_BYTES ((off_t)64 << 20)

static int trouble;

int *store_trouble(void)
{
    return &trouble;
}

enum storage store_storage(void)
{
    switch ((enum db_trouble)__atomic_load_n(&trouble, __ATOMIC_RELAXED)) {
    case DB_FULL:
        return STORAGE_FULL;
    case DB_READ_ONLY:
        return STORAGE_READ_ONLY;
    case DB_FAILING:
        return STORAGE_FAILING;
    case DB_DAMAGED:
        return STORAGE_DAMAGED;
    case DB_SOUND:
    case DB_TROUBLE__MAX:
        break;
    }
    return STORAGE_OK;
}

enum storage store_storage_look(struct store *st)
{
    enum storage storage = store_storage();
    struct stat log;

    if (db_is_lost(st->db)) {
        return STORAGE_REPLACED;
    }
    if (storage == STORAGE_OK && stat(st->log, &log) == 0 &&
        log.st_size > LOG_LARGE_BYTES) {
        return STORAGE_LOG_LARGE;
    }
    return storage;
}

const char *store_storage_word(enum storage storage)
{
    static const char *const word[STORAGE__MAX] = {
        [STORAGE_OK] = "ok",
        [STORAGE_FULL] = "full",
        [STORAGE_READ_ONLY] = "read_only",
        [STORAGE_FAILING] = "failing",
        [STORAGE_DAMAGED] = "damaged",
        [STORAGE_LOG_LARGE] = "log_large",
        [STORAGE_REPLACED] = "replaced",
    };

    assert((int)storage >= 0 && storage < STORAGE__MAX);
    return word[storage];
}

enum rc store_storage_made(struct store *st, int64_t *made_ms)
{
    return db_one_i64(db_use(st->db, STMT_FACT_CREATED), made_ms);
}

static enum rc probe(struct store *st, void *arg)
{
    enum rc rc = db_run_one(db_use(st->db, STMT_ARCHIVE_PROBE));

    (void)arg;
    return rc == RC_OK ? db_run_one(db_use(st->db, STMT_ARCHIVE_PROBED)) : rc;
}

enum rc store_storage_probe(struct store *st)
{
    return store_tx(st, probe, NULL);
}
