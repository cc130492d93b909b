/* A reproduction of a wafer's table as a table, as CSV and as JSON. Callers free the texts. */
#ifndef ANALYSIS_WAFER_REPRODUCTION_TEXT_H
#define ANALYSIS_WAFER_REPRODUCTION_TEXT_H

#include "analysis/reproduce/wafer_reproduction.h"

char *wafer_reproduction_table(const WaferReproduction *reproduction);
char *wafer_reproduction_csv(const WaferReproduction *reproduction);
char *wafer_reproduction_json(const WaferReproduction *reproduction, const Platform *platform);

#endif
