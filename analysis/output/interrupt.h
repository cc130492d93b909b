/* SIGINT and SIGTERM as a wish to stop: the first one sets a flag that the simulation looks at, a
 * second one of the same kind ends the process as it always would. */
#ifndef ANALYSIS_INTERRUPT_H
#define ANALYSIS_INTERRUPT_H

#include <signal.h>

/* Installs the handlers. The flag lives as long as the process. */
volatile sig_atomic_t *interrupt_watch(void);

#endif
