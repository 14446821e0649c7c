/* cmd_audit.h - "aside audit": the audit log, newest first. */
#ifndef ASIDE_RUNTIME_CMD_AUDIT_H
#define ASIDE_RUNTIME_CMD_AUDIT_H

int cmd_audit(int argc, char **argv);

#endif
