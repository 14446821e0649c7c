/* cmd_backup.h - "aside backup": a whole copy into one file. */
#ifndef ASIDE_RUNTIME_CMD_BACKUP_H
#define ASIDE_RUNTIME_CMD_BACKUP_H

int cmd_backup(int argc, char **argv);

#endif
