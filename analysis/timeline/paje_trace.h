/* A sink that writes events in the Pajé format, for ViTE, pajeng and whatever reads pj_dump's
 * tables. Format: L. M. Schnorr, "Paje trace file format", version 1.2.5 (2016).
 *
 * Containers: a "system", in it a "group" for each process (a replica, the network, …), in that a
 * "lane" for each thread (a stage), named by both. Slices are states of their lane, pushed and
 * popped; arrows are links "flow" from slice to slice, phases links "phase" from their group to
 * itself, counters variables of their group, marks events of their lane. Arguments stand in the
 * field "Details" as "key=value …". Names lose their commas and quotes.
 *
 * Dates in a file must not go back, but flows are told when their request ends: lines are sorted on
 * the way (line_sorter.h), in bounded memory. */
#ifndef ANALYSIS_PAJE_TRACE_H
#define ANALYSIS_PAJE_TRACE_H

#include "analysis/timeline/trace_sink.h"

TraceSink *paje_trace_new(const char *path, GError **error);

#endif
