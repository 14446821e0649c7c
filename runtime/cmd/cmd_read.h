/* cmd_read.h - `aside read`: a document on standard input as passages in JSON on
 * standard output; for the runtime, see reader.h.
 *
 * Its arguments are the document's type, as page.h names it, and a charset's
 * label, which may be empty. Exit status 0: JSON came, which may be an error. */
#ifndef ASIDE_RUNTIME_CMD_READ_H
#define ASIDE_RUNTIME_CMD_READ_H

int cmd_read(int argc, char **argv);

#endif
