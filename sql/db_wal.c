/* db_wal.c - a VFS that differs from the system's in the log's xWrite. */
#include "sql/db_wal.h"

#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

/* Sixteen pages with their headers. */
#define HELD_BYTES (16 * (24 + 4096))

/* The lock of whoever writes, among those of the shared memory. */
#define WRITE_LOCK 0

struct wal {
    sqlite3_file base;  /* must come first */
    sqlite3_file *file; /* the system's, behind this struct */
    struct owner *owner;
    char *held; /* NULL until the first write */
    int n_held;
    sqlite3_int64 at;                     /* where what is held begins */
    alignas(sqlite3_int64) char behind[]; /* as SQLite aligns files */
};

/* Behind the system's file of a database. */
struct owner {
    sqlite3_io_methods methods; /* the system's, but for one */
    int (*lock)(sqlite3_file *, int at, int n, int flags);
    struct wal *wal; /* NULL: none is open */
};

static _Thread_local int write_errno;

static sqlite3_vfs *the_system;
static sqlite3_vfs vfs;

static struct wal *wal_of(sqlite3_file *file)
{
    return (struct wal *)file;
}

static struct owner *owner_of(sqlite3_file *file)
{
    return (struct owner *)(void *)((char *)file + the_system->szOsFile);
}

#ifdef ASIDE_FAULTS

/* The file that ASIDE_FAULT_DISK names says what the disk does from now on:
 * nothing while it is not there. */
static int disk_errno(void)
{
    const char *path = getenv("ASIDE_FAULT_DISK");
    FILE *f = path == NULL ? NULL : fopen(path, "re");
    char word[16] = "";

    if (f == NULL) {
        return 0;
    }
    if (fscanf(f, "%15s", word) != 1) {
        word[0] = '\0';
    }
    (void)fclose(f);
    return strcmp(word, "read_only") == 0 ? EROFS
           : strcmp(word, "full") == 0    ? ENOSPC
           : strcmp(word, "failing") == 0 ? EIO
                                          : 0;
}

#else

static int disk_errno(void)
{
    return 0;
}

#endif

static int put(struct wal *w, const void *bytes, int n, sqlite3_int64 at)
{
    int error = disk_errno();
    int code;

    if (error != 0) {
        write_errno = error;
        return error == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    }
    code = w->file->pMethods->xWrite(w->file, bytes, n, at);
    if (code != SQLITE_OK) {
        write_errno = errno;
    }
    return code;
}

/* What could not be written stays, for the next attempt. */
static int write_held(struct wal *w)
{
    int code = SQLITE_OK;

    if (w->n_held > 0) {
        code = put(w, w->held, w->n_held, w->at);
    }
    if (code == SQLITE_OK) {
        w->n_held = 0;
    }
    return code;
}

/* The end of a transaction. A commit has synchronised; what is held now was
 * rolled back, or fills a sector behind it, and only the lock makes the place
 * ours. */
static int owner_lock(sqlite3_file *file, int at, int n, int flags)
{
    struct owner *o = owner_of(file);

    if (at == WRITE_LOCK && (flags & SQLITE_SHM_UNLOCK) != 0 &&
        o->wal != NULL) {
        (void)write_held(o->wal);
        o->wal->n_held = 0;
    }
    return o->lock(file, at, n, flags);
}

static int wal_write(sqlite3_file *file, const void *bytes, int n,
                     sqlite3_int64 at)
{
    struct wal *w = wal_of(file);
    int code = SQLITE_OK;

    if (w->held == NULL) {
        w->held = sqlite3_malloc(HELD_BYTES);
    }
    if (at != w->at + w->n_held || n > HELD_BYTES - w->n_held) {
        code = write_held(w);
    }
    if (code != SQLITE_OK) {
        return code;
    }
    if (w->held == NULL || n > HELD_BYTES) {
        return put(w, bytes, n, at);
    }
    if (w->n_held == 0) {
        w->at = at;
    }
    memcpy(w->held + w->n_held, bytes, (size_t)n);
    w->n_held += n;
    return SQLITE_OK;
}

static int wal_read(sqlite3_file *file, void *bytes, int n, sqlite3_int64 at)
{
    struct wal *w = wal_of(file);
    int code = SQLITE_OK;

    if (at < w->at + w->n_held && w->at < at + n) {
        code = write_held(w);
    }
    return code == SQLITE_OK ? w->file->pMethods->xRead(w->file, bytes, n, at)
                             : code;
}

static int wal_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct wal *w = wal_of(file);
    int code = write_held(w);

    return code == SQLITE_OK ? w->file->pMethods->xTruncate(w->file, size)
                             : code;
}

static int wal_sync(sqlite3_file *file, int flags)
{
    struct wal *w = wal_of(file);
    int code = write_held(w);

    return code == SQLITE_OK ? w->file->pMethods->xSync(w->file, flags) : code;
}

static int wal_size(sqlite3_file *file, sqlite3_int64 *size)
{
    struct wal *w = wal_of(file);
    int code = write_held(w);

    return code == SQLITE_OK ? w->file->pMethods->xFileSize(w->file, size)
                             : code;
}

static int wal_close(sqlite3_file *file)
{
    struct wal *w = wal_of(file);

    w->owner->wal = NULL;
    sqlite3_free(w->held);
    w->held = NULL;
    return w->file->pMethods->xClose(w->file);
}

static int wal_lock(sqlite3_file *file, int level)
{
    struct wal *w = wal_of(file);

    return w->file->pMethods->xLock(w->file, level);
}

static int wal_unlock(sqlite3_file *file, int level)
{
    struct wal *w = wal_of(file);

    return w->file->pMethods->xUnlock(w->file, level);
}

static int wal_check_lock(sqlite3_file *file, int *locked)
{
    struct wal *w = wal_of(file);

    return w->file->pMethods->xCheckReservedLock(w->file, locked);
}

static int wal_control(sqlite3_file *file, int op, void *arg)
{
    struct wal *w = wal_of(file);

    return w->file->pMethods->xFileControl(w->file, op, arg);
}

static int wal_sector(sqlite3_file *file)
{
    struct wal *w = wal_of(file);

    return w->file->pMethods->xSectorSize(w->file);
}

static int wal_traits(sqlite3_file *file)
{
    struct wal *w = wal_of(file);

    return w->file->pMethods->xDeviceCharacteristics(w->file);
}

static const sqlite3_io_methods METHODS = {
    .iVersion = 1,
    .xClose = wal_close,
    .xRead = wal_read,
    .xWrite = wal_write,
    .xTruncate = wal_truncate,
    .xSync = wal_sync,
    .xFileSize = wal_size,
    .xLock = wal_lock,
    .xUnlock = wal_unlock,
    .xCheckReservedLock = wal_check_lock,
    .xFileControl = wal_control,
    .xSectorSize = wal_sector,
    .xDeviceCharacteristics = wal_traits,
};

static int open_wal(const char *name, struct wal *w, int flags, int *out_flags)
{
    int code;

    memset(w, 0, sizeof(*w));
    w->file = (sqlite3_file *)(void *)w->behind;
    code = the_system->xOpen(the_system, name, w->file, flags, out_flags);
    if (w->file->pMethods != NULL) {
        w->base.pMethods = &METHODS;
        w->owner = owner_of(sqlite3_database_file_object(name));
        w->owner->wal = w;
    }
    return code;
}

static void watch_lock(sqlite3_file *file)
{
    struct owner *o = owner_of(file);

    o->methods = *file->pMethods;
    o->lock = o->methods.xShmLock;
    o->wal = NULL;
    o->methods.xShmLock = owner_lock;
    file->pMethods = &o->methods;
}

/* Files that are neither database nor log are the system's alone. */
static int open_any(sqlite3_vfs *self, const char *name, sqlite3_file *file,
                    int flags, int *out_flags)
{
    int code;

    (void)self;
    if ((flags & SQLITE_OPEN_WAL) != 0) {
        return open_wal(name, wal_of(file), flags, out_flags);
    }
    code = the_system->xOpen(the_system, name, file, flags, out_flags);
    if (code == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB) != 0) {
        watch_lock(file);
    }
    return code;
}

void db_wal_register(void)
{
    the_system = sqlite3_vfs_find(NULL);
    if (the_system == NULL) {
        return;
    }
    vfs = *the_system;
    vfs.zName = "aside";
    vfs.szOsFile +=
        (int)(sizeof(struct wal) > sizeof(struct owner) ? sizeof(struct wal)
                                                        : sizeof(struct owner));
    vfs.xOpen = open_any;
    vfs.pNext = NULL;
    if (sqlite3_vfs_register(&vfs, 0) != SQLITE_OK) {
        vfs.zName = NULL;
    }
}

const char *db_wal_name(void)
{
    return vfs.zName;
}

int db_wal_take_errno(void)
{
    int error = write_errno;

    write_errno = 0;
    return error;
}
