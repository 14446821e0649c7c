/* cmd_runs.h - "aside runs": the Runs of an account, newest first. */
#ifndef ASIDE_RUNTIME_CMD_RUNS_H
#define ASIDE_RUNTIME_CMD_RUNS_H

int cmd_runs(int argc, char **argv);

#endif
