/* cmd_doctor.h - "aside doctor": looks for the usual faults of a set-up, and
 * says what to do about each. Changes nothing. */
#ifndef ASIDE_RUNTIME_CMD_DOCTOR_H
#define ASIDE_RUNTIME_CMD_DOCTOR_H

int cmd_doctor(int argc, char **argv);

#endif
