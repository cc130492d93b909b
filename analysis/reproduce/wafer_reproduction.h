/* Published tables of whole models on a wafer beside simulated ones, figure by figure. What was
 * published is read from analysis/reference/waferllm and is compared, never simulated from; where a
 * ratio to GPUs is published, which are not simulated, the GPUs' time is the published one and is
 * said to be. */
#ifndef ANALYSIS_WAFER_REPRODUCTION_H
#define ANALYSIS_WAFER_REPRODUCTION_H

#include "platforms/platform.h"

typedef enum {
    WAFER_TABLE_END_TO_END,     /* table 2 */
    WAFER_TABLE_PREFILL,        /* 3 */
    WAFER_TABLE_DECODE,         /* 4 */
    WAFER_TABLE_KV,             /* 5 */
    WAFER_TABLE_GEMV,           /* 6 */
    WAFER_TABLE_PREFILL_ENERGY, /* 7 */
    WAFER_TABLE_DECODE_ENERGY,  /* 8 */
    N_WAFER_TABLES
} WaferTable;
extern const char *const wafer_table_names[]; /* "wafer-table2" …, NULL-terminated */

typedef enum {
    WAFER_TOKENS_PER_S,
    WAFER_TOKENS,
    WAFER_MILLISECONDS,
    WAFER_ENERGY_RATIO, /* of the GPUs' energy to the wafer's */
    WAFER_TOKEN_RATIO,  /* of outputs by shift to outputs by concat */
    N_WAFER_QUANTITIES
} WaferQuantity;
extern const char *const wafer_quantity_names[]; /* "tokens/s" … */

typedef struct WaferRow {
    char *model;   /* as published; "GEMV 16384" in table 6 */
    char *system;  /* "WaferLLM", "T10", "8 A100s" … */
    char *setting; /* "480 x 480", "2048 + 128 tokens" … */
    WaferQuantity quantity;
    double published, simulated; /* simulated: NaN where it is not */
    gboolean calibrated;         /* a number of the platform was fitted to it */
    const char *note;            /* why it is not simulated, or cannot agree; static text or NULL */
    char *detail;                /* what the simulated figure is made of, or NULL */
} WaferRow;

typedef struct WaferReproduction {
    WaferTable table;
    GArray *rows; /* WaferRow, in the order of the file */
    guint simulations;
} WaferReproduction;

/* Reads the table and simulates all that a wafer does in it. The platform is of kind wafer. */
WaferReproduction *wafer_reproduction_new(WaferTable table, const Platform *platform,
                                          GError **error);
void wafer_reproduction_free(WaferReproduction *reproduction);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WaferReproduction, wafer_reproduction_free)

/* Relative error of a row, with its sign; NaN where it is not simulated. */
double wafer_row_error(const WaferRow *row);

/* Errors of a system's figures of one quantity: of those that nothing was calibrated on. */
typedef struct WaferErrors {
    const char *system; /* borrowed */
    WaferQuantity quantity;
    guint rows;
    double median, worst; /* of the magnitudes */
} WaferErrors;
/* WaferErrors for each that has such rows, in order of appearance; the caller unrefs. */
GArray *wafer_reproduction_errors(const WaferReproduction *reproduction);

#endif
