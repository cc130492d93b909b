#include "analysis/output/interrupt.h"
#include <stddef.h>

/* A signal handler can reach nothing else than a static: the one mutable state at file scope. */
static volatile sig_atomic_t interrupted;

static void interrupt_note(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

volatile sig_atomic_t *interrupt_watch(void) {
    struct sigaction action = {.sa_handler = interrupt_note, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &interrupted;
}
