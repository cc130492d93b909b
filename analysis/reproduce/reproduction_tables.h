/* The published tables and figures that can be reproduced, as data. */
#ifndef ANALYSIS_REPRODUCTION_TABLES_H
#define ANALYSIS_REPRODUCTION_TABLES_H

#include "analysis/reproduce/reference_table.h"
#include "analysis/reproduce/reproduction.h"
#include "platforms/platform.h"

/* One number of a machine put in place of its own. */
typedef struct MachineChange {
    const char *machine;       /* the platform's name; others stay as they are */
    const char *setting;       /* "platform.cluster.clock=1 GHz" */
    const Reproduction *known; /* the table without it, which has the experiments on others */
} MachineChange;

/* How to simulate. */
typedef struct ReproduceSetup {
    const char *platform; /* a machine in place of the one that a table was measured on, or NULL */
    guint workers;        /* of serving experiments; 0: as many as processors */
    gboolean quiet;
    const MachineChange *change; /* or NULL */
} ReproduceSetup;

/* A table in the making. */
typedef struct TableBuild {
    Reproduction *reproduction;
    const ReferenceTable *reference;
    const Platform *platform; /* NULL: its cells are experiments, each with its own */
    const ReproduceSetup *setup;
} TableBuild;

typedef struct TableKind {
    const char *name, *paper, *title;
    const char *reference; /* the published figures */
    const char *platform;  /* the shipped machine of 'build' */
    const char *serving;   /* the cells that are serving experiments (serving_spec.h), or NULL */
    gboolean derived;
    /* Adds cells and claims that are made of operators; NULL: there are none. */
    gboolean (*build)(TableBuild *build, GError **error);
} TableKind;
#define N_TABLE_KINDS 16
extern const TableKind table_kinds[N_TABLE_KINDS];
/* Their names and then "all", NULL-terminated. */
extern const char *const table_kind_names[N_TABLE_KINDS + 2];

/* Reads the published table and simulates all of it. NULL and an INPUT_ERROR where the platform is
 * of another kind than the table's, or the reference data or the experiments are wrong. */
Reproduction *reproduction_make(const TableKind *kind, const ReproduceSetup *setup, GError **error);
/* The machines of its cells, each once: Platform *, which the caller frees with the array. */
GPtrArray *reproduction_machines(const TableKind *kind, const ReproduceSetup *setup,
                                 GError **error);

/* The builders, by file: operator_tables.c, wafer_tables.c, mesh_claims.c. */
gboolean build_io_counts(TableBuild *build, GError **error);
gboolean build_linear(TableBuild *build, GError **error);
gboolean build_attention(TableBuild *build, GError **error);
gboolean build_utilisation(TableBuild *build, GError **error);
gboolean build_speedups(TableBuild *build, GError **error);
gboolean build_wafer_end_to_end(TableBuild *build, GError **error);
gboolean build_wafer_prefill(TableBuild *build, GError **error);
gboolean build_wafer_decode(TableBuild *build, GError **error);
gboolean build_wafer_kv(TableBuild *build, GError **error);
gboolean build_wafer_gemv(TableBuild *build, GError **error);
gboolean build_wafer_prefill_energy(TableBuild *build, GError **error);
gboolean build_wafer_decode_energy(TableBuild *build, GError **error);
gboolean build_mesh_gemm_claims(TableBuild *build, GError **error);
gboolean build_mesh_gemv_claims(TableBuild *build, GError **error);

#endif
