/* The numbers of a serving run: with them on, stages compute their layers, KV caches hold real keys
 * and values, and migrations, pulls and hops carry them. Nothing here takes simulated time; every
 * call follows the simulated activity that it belongs to. Tokens are equal to those of the
 * single-process reference (kernels/reference.h), request by request. */
#ifndef ACTORS_SERVING_NUMERICS_H
#define ACTORS_SERVING_NUMERICS_H

#include "actors/serving/serving.h"

/* Prompt and weights of the run; NULL setup: no numbers, and every call below does nothing. */
typedef struct Numerics Numerics;
Numerics *numerics_new(const Simulation *simulation, const NumericsSetup *setup);
void numerics_free(Numerics *numerics);

/* A request begins its prompt on a replica (again after a preemption: its KV is gone). */
void numerics_begin(Numerics *numerics, Served *served);
void numerics_end(Served *served); /* frees what it holds */

/* A stage has computed a step: its layers, for every token of the step. The last stage samples. */
void numerics_run_step(Numerics *numerics, Stage *stage, Step *step);

/* KV of layers [first, end) has arrived in the buffer, and in a decode stage's clusters. */
void numerics_migrated(Numerics *numerics, Served *served, guint first, guint end);
void numerics_pulled(Numerics *numerics, Served *served, const StagePlan *stage, guint first,
                     guint end);

/* The prefill replica, or the buffer, gives up its copy. */
void numerics_left_prefill(Served *served);
void numerics_left_buffer(Served *served);

#endif
