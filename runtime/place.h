/* place.h - where `aside run` finds programs and page, and where it keeps what
 * nginx and the sockets need.
 *
 * Each function logs what is wrong, in one line, and returns it.
 */
#ifndef ASIDE_RUNTIME_PLACE_H
#define ASIDE_RUNTIME_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "sql/base/rc.h"

struct place {
    char bin[PATH_MAX];     /* our programs: ASIDE_BIN, or beside this one */
    char pages[PATH_MAX];   /* ASIDE_STATIC, or bin/../static */
    char nginx[PATH_MAX];   /* the program */
    char run_dir[PATH_MAX]; /* dir/run: configuration, pid, temporary files */
    char sockets[PATH_MAX]; /* run_dir, or a short temporary folder */
    bool sockets_made;      /* that folder was made, and is ours to remove */
    int lock;               /* held while this process owns run_dir */
};

/* Find everything for state folder dir, making what is missing. RC_BUSY:
 * another process owns it. End with place_leave in any case. */
enum rc place_find(struct place *, const char *dir) RC_MUST_CHECK;
/* Give up the folder, and remove one made for sockets if it is empty. */
void place_leave(struct place *);

/* dir and name, one after the other, in out. */
enum rc place_join(char out[PATH_MAX], const char *dir,
                   const char *name) RC_MUST_CHECK;
/* Make a folder, and those above it. An existing one is fine. */
enum rc place_make_dir(const char *path, mode_t mode) RC_MUST_CHECK;

/* Can somebody listen on this port of 127.0.0.1? *ipv6: on [::1] too. */
enum rc place_check_port(int port, bool *ipv6) RC_MUST_CHECK;

#endif
