/* cmd_watch.h - "aside watch": what happens, as it happens. */
#ifndef ASIDE_RUNTIME_CMD_WATCH_H
#define ASIDE_RUNTIME_CMD_WATCH_H

int cmd_watch(int argc, char **argv);

#endif
