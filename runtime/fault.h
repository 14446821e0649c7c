/* fault.h - dying on purpose where something reaches outside, for the crash
 * tests. In a release build all of this does nothing. */
#ifndef ASIDE_RUNTIME_FAULT_H
#define ASIDE_RUNTIME_FAULT_H

#include <stdint.h>

struct tool;

/* An effect (a model request or a tool call) is about to leave. Returns its
 * number in this process, for fault_after_send. ASIDE_FAULT_SEND = "before:N"
 * dies here at the N-th. */
int64_t fault_before_send(void);
/* Effect n has left, and nothing is recorded of it yet. "after:N" dies. */
void fault_after_send(int64_t n);
/* A Run that has ended is about to be settled: ASIDE_FAULT_SETTLING dies. */
void fault_at_settling(void);
/* usual_ms, or ASIDE_FAULT_LOOK milliseconds: how often a stand-by looks. */
int64_t fault_look_ms(int64_t usual_ms);

/* usual_ms, or ASIDE_FAULT_STEADY milliseconds: how long the clock must have
 * been steady. */
int64_t fault_steady_ms(int64_t usual_ms);

/* Tools that no model is offered: fault_abort dies, fault_hang does not return
 * while ASIDE_FAULT_HANG is set, fault_once is not safe to repeat and adds a
 * line to the file ASIDE_FAULT_FILE. fault_get reads {"url"} over HTTP, and is done
 * when the reply is; fault_get_once is the same and not safe to repeat;
 * fault_get_soon and fault_get_once_soon have 0.3 s and 3 s for it; to cancel any
 * of these dies while ASIDE_FAULT_CANCEL is set. NULL: none of that name. */
const struct tool *fault_tool(const char *name);

#endif
