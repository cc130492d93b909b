/* Seeded operands for a simulated operator, and the comparison of what it computed with a naive
 * double-precision reference, element by element. */
#ifndef ANALYSIS_OPERATOR_NUMBERS_H
#define ANALYSIS_OPERATOR_NUMBERS_H

#include "analysis/operators/operator_run.h"

/* FALSE and an error for a data type without numbers, and operands for which this machine has no
 * memory. */
gboolean operator_numbers_possible(const OperatorSpec *spec, GError **error);

typedef struct OperatorNumbers OperatorNumbers;
/* Uniform in [−1, 1). Refuses what is not possible. */
OperatorNumbers *operator_numbers_new(const OperatorSpec *spec, GError **error);
void operator_numbers_free(OperatorNumbers *numbers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OperatorNumbers, operator_numbers_free)

/* Where the operator finds them; borrowed. */
void operator_numbers_gemm(OperatorNumbers *numbers, GemmOptions *options);
AttentionNumbers operator_numbers_attention(OperatorNumbers *numbers);
float *const *operator_numbers_vectors(OperatorNumbers *numbers); /* a rank */

/* A product's partial sums were rounded to FP16 so often on their way, besides once at the end. */
void operator_numbers_rounded(OperatorNumbers *numbers, guint roundings);

/* Of large results a part is compared: of a product at least one element of every row and column.
 *
 * Bounds, with u = 2^-24 for FP32, h = 2^-11 for a result kept in FP16, γ(n) = n·u / (1 − n·u)
 * (Higham 2002, "Accuracy and Stability of Numerical Algorithms", section 3.1):
 *   gemm        operator_sum_bound(k, Σ|x·w|, roundings) · (1 + h) + h · |y|
 *   attention   max|v| · (2·γ(head_dim + 8)·s + 2·γ(context + 8) + h · (1 + stores) +
 *               context · 2^-25), where s is the largest Σ|q·k| / √head_dim of the row: what
 * rounding moves a score by, moves its weight by; weights are FP16 (subnormal ones too), and O is
 * stored once, in Flash after every K/V block. Unfused, scores travel as FP16: 2 · (e^(h·s) − 1)
 * more all-reduce  γ(ranks) · Σ|v| */
OperatorCheck operator_numbers_check(OperatorNumbers *numbers, const AttentionBlocks *blocks);

/* Of a sum of so many terms of that magnitude in FP32, whose partial sums were rounded to FP16 r
 * times on the way of every term: Σ|v| · (γ(n) · (1 + h)^r + (1 + h)^r − 1), and the smallest step
 * of a half a term where r > 0. */
double operator_sum_bound(double terms, double magnitude, guint roundings);
/* Takes one element's error and its bound into the check. */
void operator_check_note(OperatorCheck *check, double error, double bound);

#endif
