/* The 'slo' and 'output' sections: which latencies count as good, and what of a run is measured. */
#ifndef ANALYSIS_SLO_H
#define ANALYSIS_SLO_H

#include "workloads/yaml_reader.h"

/* A limit on one latency, and the share of requests that must meet it for the run to pass. */
typedef struct SloLimit {
    double limit_s;    /* 0: no limit */
    double percentile; /* 0 … 1, e.g. 0.99 */
} SloLimit;

typedef struct Slo {
    SloLimit ttft, tpot, e2e;
} Slo;
gboolean slo_read(const YamlNode *section, Slo *slo, GError **error); /* section may be NULL */
void slo_write(const Slo *slo, guint indent, GString *out);
gboolean slo_has_limits(const Slo *slo); /* at least one */

typedef struct OutputSpec {
    double warmup_s, cooldown_s; /* cut from the start and the end for the steady-state window */
    double series_interval_s;    /* of series.csv */
    char *checkpoint;            /* a safetensors file or a folder of them; NULL: seeded weights */
    guint64 top_k;               /* 0: not given */
    double temperature;          /* 0: not given */
    gboolean numerics;           /* the simulated steps compute */
} OutputSpec;
/* On failure as well, release with output_spec_clear. */
gboolean output_spec_read(const YamlNode *section, OutputSpec *output, GError **error);
void output_spec_clear(OutputSpec *output);
void output_spec_write(const OutputSpec *output, guint indent, GString *out);

#endif
