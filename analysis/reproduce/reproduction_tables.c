#include "analysis/reproduce/reproduction_tables.h"

#include "analysis/reproduce/serving_table.h"
#include "workloads/experiment_file.h"
#include "workloads/input_error.h"

#define THINFER "THInfer"
#define WAFERLLM "WaferLLM"

const TableKind table_kinds[N_TABLE_KINDS] = {
    {"table3", THINFER, "transfers of attention on one cluster, MT and Flash",
     "table3_io_counts.csv", "mt3000", NULL, FALSE, build_io_counts},
    {"table5", THINFER, "whole models, generated tokens/s, 128 after each prompt",
     "table5_end_to_end.csv", NULL, "table5.yaml", FALSE, NULL},
    {"table7", THINFER, "ablation on 12 clusters, generated tokens/s after prompts of 512 tokens",
     "table7_ablation.csv", NULL, "table7.yaml", FALSE, NULL},
    {"table8", THINFER, "Linear with 4096 inputs on one cluster", "table8_linear.csv", "mt3000",
     NULL, FALSE, build_linear},
    {"table9", THINFER, "attention on one cluster, FP16, batch 4, head dimension 128",
     "table9_attention.csv", "mt3000", NULL, FALSE, build_attention},
    {"figure11", THINFER, "utilisation of Linear against 4.05 (FP32) and 8.10 TFLOPS (FP16)",
     "table8_linear.csv", "mt3000", NULL, TRUE, build_utilisation},
    {"figure12", THINFER, "speed-up of MT attention", "table9_attention.csv", "mt3000", NULL, TRUE,
     build_speedups},
    {"wafer-table2", WAFERLLM, "whole models, generated tokens/s by tokens of prompt and output",
     "waferllm/table2_end_to_end.csv", "wse2", "waferllm/table2.yaml", FALSE,
     build_wafer_end_to_end},
    {"wafer-table3", WAFERLLM, "prompt tokens/s, 4096 tokens", "waferllm/table3_prefill.csv",
     "wse2", "waferllm/table3.yaml", FALSE, build_wafer_prefill},
    {"wafer-table4", WAFERLLM, "decoded tokens/s at a context of 4096 tokens",
     "waferllm/table4_decode.csv", "wse2", "waferllm/table4.yaml", FALSE, build_wafer_decode},
    {"wafer-table5", WAFERLLM, "longest output until a core is full",
     "waferllm/table5_kv_capacity.csv", "wse2", NULL, FALSE, build_wafer_kv},
    {"wafer-table6", WAFERLLM, "vector times matrix, FP16, K-tree without broadcast",
     "waferllm/table6_gemv.csv", "wse2", NULL, FALSE, build_wafer_gemv},
    {"wafer-table7", WAFERLLM, "prefill of 4096 tokens, energy against GPUs",
     "waferllm/table7_prefill_energy.csv", "wse2", NULL, FALSE, build_wafer_prefill_energy},
    {"wafer-table8", WAFERLLM, "decode at a context of 4096 tokens, energy against GPUs",
     "waferllm/table8_decode_energy.csv", "wse2", NULL, FALSE, build_wafer_decode_energy},
    {"wafer-figure9", WAFERLLM, "MeshGEMM against SUMMA and Cannon: what is said of it",
     "waferllm/figure9_claims.csv", "wse2", NULL, FALSE, build_mesh_gemm_claims},
    {"wafer-figure10", WAFERLLM, "MeshGEMV against GEMV by pipeline: what is said of it",
     "waferllm/figure10_claims.csv", "wse2", NULL, FALSE, build_mesh_gemv_claims},
};

const char *const table_kind_names[N_TABLE_KINDS + 2] = {
    "table3",         "table5",       "table7",
    "table8",         "table9",       "figure11",
    "figure12",       "wafer-table2", "wafer-table3",
    "wafer-table4",   "wafer-table5", "wafer-table6",
    "wafer-table7",   "wafer-table8", "wafer-figure9",
    "wafer-figure10", "all",          NULL};

/* The machine 'name', changed where the change is one of it. */
static Platform *load_machine(const char *name, const MachineChange *change, GError **error) {
    g_autoptr(YamlNode) section = section_load(SECTION_PLATFORM, name, "--platform", error);
    g_autoptr(Platform) platform = section == NULL ? NULL : platform_read(section, error);

    if (platform == NULL || change == NULL || !g_str_equal(platform->name, change->machine))
        return g_steal_pointer(&platform);
    const char *const overrides[] = {change->setting, NULL};
    return section_override(SECTION_PLATFORM, section, overrides, error)
               ? platform_read(section, error)
               : NULL;
}

/* The machine of the setup, or the one that the table was measured on. */
static Platform *load_platform(const TableKind *kind, const ReproduceSetup *setup, GError **error) {
    const char *name = setup->platform == NULL ? kind->platform : setup->platform;
    g_autoptr(Platform) own = load_machine(kind->platform, NULL, error);
    g_autoptr(Platform) platform = own == NULL ? NULL : load_machine(name, setup->change, error);

    if (platform == NULL || platform->kind == own->kind)
        return g_steal_pointer(&platform);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "infergrid reproduce: table '%s' is of a machine like '%s', and '%s' is of another "
                "kind",
                kind->name, kind->platform, name);
    return NULL;
}

static gboolean build_own(const TableKind *kind, TableBuild *build, GError **error) {
    g_autoptr(Platform) platform = load_platform(kind, build->setup, error);

    build->platform = platform;
    gboolean built = platform != NULL && kind->build(build, error);
    build->platform = NULL;
    return built;
}

Reproduction *reproduction_make(const TableKind *kind, const ReproduceSetup *setup,
                                GError **error) {
    g_autoptr(Reproduction) reproduction = reproduction_new(kind->name);
    g_autoptr(ReferenceTable) reference = reference_table_load(kind->reference, error);
    TableBuild build = {.reproduction = reproduction, .reference = reference, .setup = setup};

    reproduction->paper = kind->paper;
    reproduction->title = kind->title;
    reproduction->derived = kind->derived;
    if (reference == NULL || (kind->build != NULL && !build_own(kind, &build, error)) ||
        (kind->serving != NULL && !serving_table_build(kind->serving, &build, error)))
        return NULL;
    reproduction_judge(reproduction);
    return g_steal_pointer(&reproduction);
}

GPtrArray *reproduction_machines(const TableKind *kind, const ReproduceSetup *setup,
                                 GError **error) {
    g_autoptr(GPtrArray) machines = g_ptr_array_new_with_free_func((GDestroyNotify)platform_free);
    g_autoptr(ReferenceTable) reference = reference_table_load(kind->reference, error);

    if (reference == NULL)
        return NULL;
    if (kind->platform != NULL) {
        Platform *own = load_platform(kind, setup, error);
        if (own == NULL)
            return NULL;
        g_ptr_array_add(machines, own);
    }
    return kind->serving == NULL ||
                   serving_table_machines(kind->serving, reference, machines, error)
               ? g_steal_pointer(&machines)
               : NULL;
}
