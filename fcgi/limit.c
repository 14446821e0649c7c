#include "fcgi/limit.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sql/base/hash.h"

#define MINUTE_US INT64_C(60000000)
#define WAYS      8 /* entries that a name may be in */
#define SETS      (LIMIT_ENTRIES / WAYS)
#define KEY_BYTES 16

/* A bucket is one number: when it will be full. What is taken out moves that
 * time on; a minute ahead it is empty. */
struct entry {
    uint8_t key[KEY_BYTES];
    int64_t full_us; /* boot time; 0: unused */
};

struct limit {
    int64_t each_us[LIMIT__MAX]; /* what one costs; 0: nothing */
    uint64_t seed;
    pthread_mutex_t lock; /* of the entries */
    struct entry entries[LIMIT_ENTRIES];
};

enum rc limit_new(const int64_t per_minute[LIMIT__MAX], uint64_t seed,
                  struct limit **out)
{
    struct limit *l = calloc(1, sizeof(*l));

    if (l == NULL) {
        return RC_NOMEM;
    }
    for (int kind = 0; kind < LIMIT__MAX; kind++) {
        l->each_us[kind] =
            per_minute[kind] == 0 ? 0 : MINUTE_US / per_minute[kind];
    }
    l->seed = seed;
    (void)pthread_mutex_init(&l->lock, NULL);
    *out = l;
    return RC_OK;
}

void limit_free(struct limit *l)
{
    if (l == NULL) {
        return;
    }
    (void)pthread_mutex_destroy(&l->lock);
    free(l);
}

/* --- whose ----------------------------------------------------------------- */

/* What of an address counts; text that is none counts as it stands. */
struct place {
    uint8_t bytes[sizeof(struct in6_addr)];
    struct hash_part part;
    bool here; /* this machine */
};

static void place_v4(struct place *p)
{
    p->part.len = sizeof(struct in_addr);
    p->here = p->bytes[0] == 127;
}

static void place_of(const char *address, struct place *p)
{
    static const uint8_t MAPPED[12] = {[10] = 0xff, [11] = 0xff};
    static const uint8_t LOOPBACK[16] = {[15] = 1};

    *p = (struct place){.part = {.bytes = p->bytes}};
    if (address == NULL) {
        p->part.bytes = NULL;
    } else if (inet_pton(AF_INET, address, p->bytes) == 1) {
        place_v4(p);
    } else if (inet_pton(AF_INET6, address, p->bytes) != 1) {
        p->part = (struct hash_part){.bytes = address, .len = strlen(address)};
    } else if (memcmp(p->bytes, MAPPED, sizeof(MAPPED)) == 0) {
        memmove(p->bytes, p->bytes + sizeof(MAPPED), sizeof(struct in_addr));
        place_v4(p);
    } else {
        p->part.len = sizeof(p->bytes) / 2;
        p->here = memcmp(p->bytes, LOOPBACK, sizeof(LOOPBACK)) == 0;
    }
}

/* --- buckets, under the lock ----------------------------------------------- */

/* The bucket of this name. A new one is full, in the place of the one that
 * misses least. */
static struct entry *find(struct limit *l, enum limit_kind kind,
                          const struct hash_part *name)
{
    const uint8_t sort = (uint8_t)kind;
    const struct hash_part parts[] = {
        {.bytes = &l->seed, .len = sizeof(l->seed)},
        {.bytes = &sort, .len = sizeof(sort)},
        *name,
    };
    uint8_t hash[HASH_BYTES];
    struct entry *set;
    struct entry *least;

    hash_parts(parts, sizeof(parts) / sizeof(parts[0]), hash);
    set = l->entries +
          WAYS * (((size_t)hash[KEY_BYTES] << 8 | hash[KEY_BYTES + 1]) % SETS);
    least = set;
    for (size_t i = 0; i < WAYS; i++) {
        if (memcmp(set[i].key, hash, KEY_BYTES) == 0) {
            return &set[i];
        }
        if (set[i].full_us < least->full_us) {
            least = &set[i];
        }
    }
    memcpy(least->key, hash, KEY_BYTES);
    least->full_us = 0;
    return least;
}

/* When it will be full if one more is taken out. */
static int64_t taken_us(const struct entry *e, int64_t each_us, int64_t now_us)
{
    return (e->full_us > now_us ? e->full_us : now_us) + each_us;
}

static int64_t wait_ms(int64_t full_us, int64_t now_us)
{
    int64_t over_us = full_us - now_us - MINUTE_US;

    return over_us <= 0 ? 0 : (over_us + 999) / 1000;
}

/* --- asking ---------------------------------------------------------------- */

int64_t limit_write(struct limit *l, const char *account, const char *address,
                    int64_t now_us)
{
    const struct hash_part who = {.bytes = account, .len = strlen(account)};
    struct entry *entry[2] = {NULL, NULL};
    int64_t full_us[2] = {0, 0};
    struct place place;
    int64_t ms = 0;

    if (l == NULL) {
        return 0;
    }
    place_of(address, &place);
    (void)pthread_mutex_lock(&l->lock);
    if (l->each_us[LIMIT_ACCOUNT] > 0) {
        entry[0] = find(l, LIMIT_ACCOUNT, &who);
        full_us[0] = taken_us(entry[0], l->each_us[LIMIT_ACCOUNT], now_us);
        ms = wait_ms(full_us[0], now_us);
    }
    if (ms == 0 && l->each_us[LIMIT_ADDRESS] > 0 && !place.here) {
        entry[1] = find(l, LIMIT_ADDRESS, &place.part);
        full_us[1] = taken_us(entry[1], l->each_us[LIMIT_ADDRESS], now_us);
        ms = wait_ms(full_us[1], now_us);
    }
    for (size_t i = 0; i < 2 && ms == 0; i++) {
        if (entry[i] != NULL) {
            entry[i]->full_us = full_us[i];
        }
    }
    (void)pthread_mutex_unlock(&l->lock);
    return ms;
}

int64_t limit_login(struct limit *l, const char *address, int64_t now_us)
{
    struct place place;
    struct entry *entry;
    int64_t full_us;
    int64_t ms;

    if (l == NULL || l->each_us[LIMIT_LOGIN] == 0) {
        return 0;
    }
    place_of(address, &place);
    (void)pthread_mutex_lock(&l->lock);
    entry = find(l, LIMIT_LOGIN, &place.part);
    full_us = taken_us(entry, l->each_us[LIMIT_LOGIN], now_us);
    ms = wait_ms(full_us, now_us);
    if (ms == 0) {
        entry->full_us = full_us;
    }
    (void)pthread_mutex_unlock(&l->lock);
    return ms;
}
