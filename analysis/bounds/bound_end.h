/* Private to plan_bound: the end of a run. */
#ifndef ANALYSIS_BOUND_END_H
#define ANALYSIS_BOUND_END_H

#include "analysis/bounds/bound_left.h"

/* Seconds from the start of the run to its last token, at the least. */
double bound_end(const BoundWork *work, const BoundBuffer *buffer);

#endif
