/* The numbers of a Linear operator while it is simulated: buffers that stand for the tiers (one Xg
 * in GSM; two X2 in each SM; two W2 and three Y2 in AM), blocks copied between them as the schedule
 * moves them, products by the kernels. Private to gemm.c. */
#ifndef ACTORS_CLUSTER_GEMM_NUMBERS_H
#define ACTORS_CLUSTER_GEMM_NUMBERS_H

#include "policies/gemm_schedule.h"

typedef struct GemmNumbers GemmNumbers;
/* Borrows the plan and the operands (see GemmOptions). */
GemmNumbers *gemm_numbers_new(const GemmPlan *plan, const void *x, const void *w, void *y);
void gemm_numbers_free(GemmNumbers *numbers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GemmNumbers, gemm_numbers_free)

/* What the lane brings for a step; at most one step is ahead of the one that computes. */
void gemm_numbers_load(GemmNumbers *numbers, const GemmStep *step);
void gemm_numbers_compute(GemmNumbers *numbers, const GemmStep *step);
/* Y2 of a pass from AM to DDR, and back. */
void gemm_numbers_store(GemmNumbers *numbers, guint64 pass);
void gemm_numbers_fetch(GemmNumbers *numbers, guint64 pass);

#endif
