/* clock.h - the two clocks.
 *
 * Unix milliseconds are what rows and the wire carry. Everything that is
 * measured or waited for uses boot time, which no administrator can set and
 * which goes on while the machine sleeps.
 */
#ifndef ASIDE_BASE_CLOCK_H
#define ASIDE_BASE_CLOCK_H

#include <stdint.h>

int64_t clock_unix_ms(void);
int64_t clock_boot_ms(void); /* CLOCK_BOOTTIME */
int64_t clock_boot_us(void);

/* Sleep for about this long; returns early on a signal. Only for short naps
 * while waiting for a lock: everything else waits on events. */
void clock_nap_us(int64_t us);

/* An identity of this boot, 36 characters and NUL ("" if the system has
 * none): boot times are comparable only under the same one. */
void clock_boot_id(char out[37]);

#endif
