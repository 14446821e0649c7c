/* cmd_token.h - "aside token": what browsers and programs log in with. */
#ifndef ASIDE_RUNTIME_CMD_TOKEN_H
#define ASIDE_RUNTIME_CMD_TOKEN_H

int cmd_token(int argc, char **argv);

#endif
