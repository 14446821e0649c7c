#include "sql/base/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum rc standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        /* Those below are open, so this one is the lowest that is free. */
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", O_RDONLY) != fd) {
            return RC_IO;
        }
    }
    return RC_OK;
}
