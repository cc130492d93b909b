/* A cluster of the shipped MT-3000 in a child process (SimGrid has one engine a process): an actor
 * on it runs a body, which hands back what it found in shared memory. */
#ifndef TESTS_ENGINE_CHILD_H
#define TESTS_ENGINE_CHILD_H

#include "platforms/platform.h"

/* The shipped platform; the caller frees it. */
Platform *child_platform(void);

typedef struct ChildJob {
    const Platform *platform;
    gpointer data; /* the caller's; shared with it when it is from child_shared */
} ChildJob;

/* Starts the engine in a child with one actor, on cluster 0, that runs 'body'. Fails the test when
 * the child does. */
void child_run(void (*body)(const ChildJob *job), gpointer data);

/* Memory that child and parent share; kept until the process ends. */
gpointer child_shared(gsize bytes);

#endif
