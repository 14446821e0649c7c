/* hello.c - the yardstick: the least that a libfcgi program can do.
 *
 *   hello SOCKET THREADS
 *
 * Reads the body of each request and answers a fixed 202. The library's wait
 * for the peer at each close is off, as it is in the responder; otherwise the
 * comparison would flatter us.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <fcgiapp.h>

#define BACKLOG     4096
#define MAX_THREADS 64

static const char REPLY[] = "Status: 202 Accepted\r\n"
                            "Content-Type: application/json\r\n"
                            "Content-Length: 17\r\n\r\n"
                            "{\"hello\":\"world\"}";

static int listening;

static void *serve(void *unused)
{
    FCGX_Request r;
    char piece[8192];

    (void)unused;
    if (FCGX_InitRequest(&r, listening, 0) != 0) {
        return NULL;
    }
    while (FCGX_Accept_r(&r) == 0) {
        while (FCGX_GetStr(piece, sizeof(piece), r.in) > 0) {
        }
        (void)FCGX_PutStr(REPLY, (int)sizeof(REPLY) - 1, r.out);
        FCGX_Finish_r(&r);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    long n = argc == 3 ? strtol(argv[2], NULL, 10) : 0;

    if (n < 1 || n > MAX_THREADS) {
        (void)fprintf(stderr, "usage: hello SOCKET THREADS\n");
        return EXIT_FAILURE;
    }
    if (setenv("LIBFCGI_OS_CLOSE_POLL_TIMEOUT", "0", 1) != 0 ||
        FCGX_Init() != 0) {
        return EXIT_FAILURE;
    }
    listening = FCGX_OpenSocket(argv[1], BACKLOG);
    if (listening < 0) {
        return EXIT_FAILURE;
    }
    for (long i = 0; i < n; i++) {
        if (pthread_create(&thread[i], NULL, serve, NULL) != 0) {
            return EXIT_FAILURE;
        }
    }
    for (long i = 0; i < n; i++) {
        (void)pthread_join(thread[i], NULL);
    }
    return EXIT_SUCCESS;
}
