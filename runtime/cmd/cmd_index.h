/* cmd_index.h - `aside index`: bring the library up to date, once.
 *
 *   aside index [-c file] [-w]
 *
 * Prints one line about what was done. Ends quietly if another run is at work;
 * with -w waits for it first.
 */
#ifndef ASIDE_RUNTIME_CMD_INDEX_H
#define ASIDE_RUNTIME_CMD_INDEX_H

/* Returns the exit status: 0 if all folders were read, 1 if not, 2 for wrong
 * usage, LIBRARY_INDEX_EXIT_FAILED and more if the run ended early. Blocks, for
 * seconds. */
int cmd_index(int argc, char **argv);

#endif
