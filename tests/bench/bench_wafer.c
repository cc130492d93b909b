/* A decode table of whole models on a wafer: four models on three grids, every operator simulated
 * anew. Prints lines of "name value unit". */
#include "analysis/costs/wafer_cost.h"
#include "workloads/experiment_file.h"
#include <stdio.h>
#include <stdlib.h>

static const char *const models[] = {"llama-3-8b", "llama-2-13b", "codellama-34b", "qwen2-72b"};
static const guint grids[] = {420, 540, 660};

static YamlNode *load(SectionKind kind, const char *name) {
    g_autoptr(GError) error = NULL;
    YamlNode *section = section_load(kind, name, "bench", &error);

    if (section == NULL)
        g_error("%s", error->message);
    return section;
}

static void want_all(WaferCosts *costs, Model *const *loaded) {
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++)
        for (gsize j = 0; j < G_N_ELEMENTS(grids); j++) {
            WaferPoint point = {.model = loaded[i], .grid = grids[j], .tokens = 4096};
            wafer_costs_want_decode(costs, &point);
        }
}

int main(void) {
    g_autoptr(YamlNode) section = load(SECTION_PLATFORM, "wse2");
    g_autoptr(Platform) platform = platform_read(section, NULL);
    g_autoptr(WaferCosts) costs = wafer_costs_new(platform);
    Model *loaded[G_N_ELEMENTS(models)];
    g_autoptr(GError) error = NULL;

    for (gsize i = 0; i < G_N_ELEMENTS(models); i++) {
        g_autoptr(YamlNode) config = load(SECTION_MODEL, models[i]);
        loaded[i] = model_read(config, NULL);
    }
    gint64 start_us = g_get_monotonic_time();
    want_all(costs, loaded);
    if (!wafer_costs_fill(costs, &error))
        g_error("%s", error->message);
    double wall_s = 1e-6 * (double)(g_get_monotonic_time() - start_us);
    printf("%-58s %12.3f s\n", "wafer: decode of 4 models on 3 grids, wall", wall_s);
    printf("%-58s %12u\n", "wafer: decode of 4 models on 3 grids, simulations",
           wafer_costs_simulations(costs));
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++)
        model_free(loaded[i]);
    return EXIT_SUCCESS;
}
