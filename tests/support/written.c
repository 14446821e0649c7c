#include "tests/support/written.h"

#include <semaphore.h>
#include <string.h>

struct wait {
    struct writer_job job; /* first: settled gets a pointer to it */
    sem_t settled;
};

static void settled(struct writer_job *job)
{
    (void)sem_post(&((struct wait *)job)->settled);
}

enum rc written(struct writer *w, store_fn *fn, void *arg,
                char feed[STORE_FEED_BYTES])
{
    struct wait wait = {.job = {.fn = fn, .arg = arg, .settled = settled}};

    (void)sem_init(&wait.settled, 0, 0);
    writer_hand_over(w, &wait.job);
    while (sem_wait(&wait.settled) != 0) {
    }
    (void)sem_destroy(&wait.settled);
    if (feed != NULL) {
        memcpy(feed, wait.job.feed, sizeof(wait.job.feed));
    }
    return wait.job.rc;
}
