/* jitter.c - makes a program late, now and then, at what it asks of the kernel.
 *
 * Loaded before the libraries (LD_PRELOAD) by `make jitter`. A machine that is
 * quiet has one order of events, and what leans on it looks right; here one
 * call in some seventy waits up to 25 ms, and one in two thousand 150 ms.
 */
#include <dlfcn.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define CALLS    10000u /* of so many calls … */
#define LATE     145u   /* … so many are late, */
#define LATE_MS  25u    /* by up to so much, */
#define STUCK    5u     /* … and so many */
#define STUCK_MS 150u

#define NS_PER_MS 1000000

static uint64_t draw(void)
{
    static _Thread_local uint64_t state; /* xorshift64 */

    if (state == 0) {
        struct timespec now;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        state = ((uint64_t)now.tv_nsec << 20) ^ (uintptr_t)&state;
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void be_late(void)
{
    uint64_t n = draw();
    uint64_t which = (n >> 8) % CALLS;
    struct timespec rest = {0};

    if (which < STUCK) {
        rest.tv_nsec = (long)STUCK_MS * NS_PER_MS;
    } else if (which < STUCK + LATE) {
        rest.tv_nsec = (long)((n >> 32) % LATE_MS) * NS_PER_MS;
    } else {
        return;
    }
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
}

/* The same call as the library has it; POSIX lets dlsym() give functions. */
#define LATE_CALL(type, name, params, args)                                    \
    type name params                                                           \
    {                                                                          \
        __typeof__(&(name)) next;                                              \
        *(void **)&next = dlsym(RTLD_NEXT, #name);                             \
        be_late();                                                             \
        return next args;                                                      \
    }

LATE_CALL(int, poll, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms))
LATE_CALL(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
LATE_CALL(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n))
LATE_CALL(ssize_t, recv, (int fd, void *to, size_t n, int flags),
          (fd, to, n, flags))
LATE_CALL(ssize_t, send, (int fd, const void *from, size_t n, int flags),
          (fd, from, n, flags))
LATE_CALL(ssize_t, sendmsg, (int fd, const struct msghdr *msg, int flags),
          (fd, msg, flags))
LATE_CALL(ssize_t, pwrite64, (int fd, const void *from, size_t n, off_t at),
          (fd, from, n, at))
LATE_CALL(int, fdatasync, (int fd), (fd))
