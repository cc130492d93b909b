/* An operator with the machine to itself: the engine, the platform and one actor around it. */
#ifndef ACTORS_CLUSTER_ALONE_H
#define ACTORS_CLUSTER_ALONE_H

#include "platforms/platform.h"

/* Starts the engine, calls body(data) from an actor on cluster 0, and runs until no actor is left;
 * returns the date at which that was, in seconds. Once a process. */
double alone_run(const Platform *platform, DataType type, void (*body)(gpointer data),
                 gpointer data);

#endif
