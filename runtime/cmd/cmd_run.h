/* cmd_run.h - `aside run`: everything in the foreground, behind its own nginx.
 *
 *   aside run [-c file] [-p port] [-d dir] [-w seconds]
 *
 * -p or PORT (8080) says where, -d or DATA (./var) in which folder: data/ holds
 * the database unless the configuration names another place, run/ what nginx
 * and the sockets need. -w bounds the start (30). ASIDE_BIN and ASIDE_STATIC
 * name the folders of the programs and of the page, for a layout other than the
 * built one.
 */
#ifndef ASIDE_RUNTIME_CMD_RUN_H
#define ASIDE_RUNTIME_CMD_RUN_H

/* Returns the exit status; blocks until SIGINT, SIGTERM or SIGHUP. */
int cmd_run(int argc, char **argv);

#endif
