#include "sql/base/clock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t read_us(clockid_t id)
{
    struct timespec t;
    int failed = clock_gettime(id, &t);

    assert(failed == 0);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

#ifdef ASIDE_FAULTS

/* The file that ASIDE_FAULT_CLOCK names holds how many milliseconds the wall
 * clock has been put forward, or back. */
static int64_t jumped_ms(void)
{
    const char *path = getenv("ASIDE_FAULT_CLOCK");
    FILE *f = path == NULL ? NULL : fopen(path, "re");
    long long ms = 0;

    if (f != NULL) {
        if (fscanf(f, "%lld", &ms) != 1) {
            ms = 0;
        }
        (void)fclose(f);
    }
    return (int64_t)ms;
}

#else

static int64_t jumped_ms(void)
{
    return 0;
}

#endif

int64_t clock_unix_ms(void)
{
    return read_us(CLOCK_REALTIME) / 1000 + jumped_ms();
}

int64_t clock_boot_ms(void)
{
    return read_us(CLOCK_BOOTTIME) / 1000;
}

int64_t clock_boot_us(void)
{
    return read_us(CLOCK_BOOTTIME);
}

void clock_nap_us(int64_t us)
{
    struct timespec t;

    assert(us >= 0);
    t.tv_sec = (time_t)(us / 1000000);
    t.tv_nsec = (long)(us % 1000000 * 1000);
    (void)nanosleep(&t, NULL);
}

void clock_boot_id(char out[37])
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    size_t n = 0;

    if (f != NULL) {
        n = fread(out, 1, 36, f);
        (void)fclose(f);
    }
    out[n == 36 ? 36 : 0] = '\0';
}
