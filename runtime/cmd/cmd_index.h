/* cmd_index.h - `aside index`: bring the library up to date, once.
 *
 *   aside index [-c file] [-w] [--json]
 *
 * Prints one line about what was done, or that another run is at work; with -w
 * waits for that first.
 */
#ifndef ASIDE_RUNTIME_CMD_INDEX_H
#define ASIDE_RUNTIME_CMD_INDEX_H

/* Returns the exit status: 0 if all folders were read, 1 if not, 2 for wrong
 * usage; if the run ended early 1, or with -w LIBRARY_INDEX_EXIT_FAILED and more.
 * Blocks, for seconds. */
int cmd_index(int argc, char **argv);

#endif
