/* What is told of an operator on a mesh: cycles and what they went into, rates, and everything that
 * a PLMR device limits: hops, stages, bytes, routing paths. */
#ifndef ANALYSIS_MESH_REPORT_H
#define ANALYSIS_MESH_REPORT_H

#include "analysis/operators/mesh_run.h"
#include "analysis/output/facts.h"

/* Caller owns. The same keys for all operators of a family. */
Facts *mesh_report(const MeshRunSpec *spec, const MeshRunResult *result, const Platform *platform);
/* "K-tree (K = 2)" … of an all-reduce or a product's sums. Caller frees. */
char *mesh_report_algorithm(const MeshRunSpec *spec);

#endif
