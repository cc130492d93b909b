/* Seeded operands for an operator on a mesh, and the comparison of what its cores computed with a
 * naive double-precision reference. */
#ifndef ANALYSIS_MESH_NUMBERS_H
#define ANALYSIS_MESH_NUMBERS_H

#include "analysis/operators/mesh_run.h"

/* FALSE and an INPUT_ERROR for data types without numbers and operands for which this machine has
 * no memory. */
gboolean mesh_numbers_possible(const MeshRunSpec *spec, GError **error);

typedef struct MeshNumbers MeshNumbers;
/* Uniform in [−1, 1). Borrows 'spec'. */
MeshNumbers *mesh_numbers_new(const MeshRunSpec *spec);
void mesh_numbers_free(MeshNumbers *numbers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MeshNumbers, mesh_numbers_free)

/* Where a product finds its operands (dist-GEMM-T: B transposed) and leaves its result. Borrowed.
 */
void mesh_numbers_product(MeshNumbers *numbers, const void **a, const void **b, void **c);
/* An all-reduce: a vector for each core, in order of rows. Borrowed. */
float *const *mesh_numbers_vectors(MeshNumbers *numbers);

/* Products as operator_numbers_check does, their partial sums rounded as often as they were sent.
 * All-reduce: every element of every core that has the sum, by operator_sum_bound with one rounding
 * to FP16 a message, and 2^-11 of the sum for the last one. */
OperatorCheck mesh_numbers_check(MeshNumbers *numbers);

#endif
