/* What simulations of a wafer's operators have found, kept from run to run: a text file in the
 * cache folder (cost_fill.h) for each mesh, and for each build of the program, since the cycles
 * come from its code. A file that is not whole is not believed. */
#ifndef ANALYSIS_WAFER_CACHE_H
#define ANALYSIS_WAFER_CACHE_H

#include "analysis/costs/wafer_job.h"

/* The file for a mesh; NULL when INFERGRID_CACHE is empty. Caller frees. */
char *wafer_cache_path(const MeshSpec *spec);
/* Adds what the file has to 'known' (WaferJobKey → WaferJobCycles, both owned). */
void wafer_cache_read(const char *path, GHashTable *known);
/* Puts all of 'known', and what others have put there meanwhile, into the file; where that cannot
 * be, the next run simulates again. */
void wafer_cache_write(const char *path, GHashTable *known);

#endif
