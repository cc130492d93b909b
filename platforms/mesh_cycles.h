/* Cycles of a mesh's core for its local work, and what a message weighs on its links: the only
 * place where the vector unit's arithmetic is. */
#ifndef PLATFORMS_MESH_CYCLES_H
#define PLATFORMS_MESH_CYCLES_H

#include "platforms/platform.h"

/* Of one vector operation: issue + cycles · ⌈elements / lanes⌉; 0 for no element. */
double mesh_vector_cycles(const MeshSpec *mesh, DataType type, guint64 elements);
/* C[m×n] += A[m×k] · B[k×n] of tiles: k · n operations along the m rows. */
double mesh_gemm_cycles(const MeshSpec *mesh, DataType type, guint64 m, guint64 k, guint64 n);
/* y[n] += x[k] · B[k×n]: k operations along the n columns. */
double mesh_gemv_cycles(const MeshSpec *mesh, DataType type, guint64 k, guint64 n);
/* Wavelets of a message of 'elements', packed. */
guint64 mesh_wavelets(const MeshSpec *mesh, DataType type, guint64 elements);
/* Multiply-accumulates a cycle of one core at its peak. */
double mesh_peak_macs_per_cycle(const MeshSpec *mesh, DataType type);

#endif
