/* Scripts of the mesh's pictures: panels, lines, what stands on the axes, and the points. */
#include "analysis/operators/mesh_plot.h"
#include "analysis/operators/plmr.h"

#include <string.h>

static guint count(const char *text, const char *word) {
    guint n = 0;

    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
        n++;
    return n;
}

static MeshRunResult result_of(double cycles, double compute) {
    return (MeshRunResult){.totals = {.cycles = cycles, .compute_cycles = compute}};
}

static void test_sweep(void) {
    const MeshRunSpec specs[] = {
        {.kind = MESH_OPERATOR_MESHGEMM, .grid = {8, 8}, .m = 64, .k = 64, .n = 64},
        {.kind = MESH_OPERATOR_MESHGEMM, .grid = {16, 4}, .m = 32, .k = 64, .n = 64},
        {.kind = MESH_OPERATOR_CANNON, .grid = {32, 32}, .m = 64, .k = 64, .n = 64},
    };
    const MeshRunResult results[] = {result_of(100, 75), result_of(50, 50), result_of(30, 10)};
    MeshPicture picture = {"it's", specs, results, 3};
    g_autofree char *script = mesh_plot_sweep_script(&picture, "a.pdf", "b");

    g_assert_cmpuint(count(script, "set ylabel '"), ==, 2); /* panels */
    g_assert_nonnull(strstr(script, "'it''s'"));
    g_assert_nonnull(strstr(script, "'64 × 64 × 64'"));
    g_assert_nonnull(strstr(script, "'32 × 64 × 64'"));
    g_assert_nonnull(strstr(script, "'16 × 4' 8"));
    g_assert_nonnull(strstr(script, "\n8 100\ne\n8 25\ne\n32 30\ne\n32 20\ne\n"));
    g_assert_nonnull(strstr(script, "\n8 50\ne\n8 NaN\ne\n")); /* nothing but computing */
    g_assert_cmpuint(count(script, "title 'meshgemm'"), ==, 1);
    g_assert_nonnull(strstr(script, "pdfcairo"));
}

static MeshRunResult heat_of(const MeshRunSpec *spec) {
    MeshRunResult result = result_of(200, 0);

    result.heat = g_array_new(FALSE, FALSE, sizeof(MeshCoreHeat));
    for (guint y = 0; y < spec->grid.rows; y++)
        for (guint x = 0; x < spec->grid.columns; x++) {
            MeshCoreHeat heat = {
                .x = x, .y = y, .compute_cycles = 10.0 * x + y, .link_wavelets = y};
            if (spec->full || x == 0 || y == 0)
                g_array_append_val(result.heat, heat);
        }
    return result;
}

static void test_cells(void) {
    MeshRunSpec spec = {.grid = {3, 2}, .full = TRUE};
    g_auto(MeshRunResult) result = heat_of(&spec);
    MeshPicture picture = {"title", &spec, &result, 1};
    g_autofree char *script = mesh_plot_heat_script(&picture, "a.svg", "b");

    g_assert_nonnull(strstr(script, "\n0 0 0\n1 0 0.05\n2 0 0.1\n0 1 0.005\n1 1 0.055\n2 1 0.105\n"
                                    "e\n"));
    g_assert_nonnull(strstr(script, "\n0 0 0\n1 0 0\n2 0 0\n0 1 0.005\n1 1 0.005\n2 1 0.005\ne\n"));
}

/* 601 × 2 cores: cells of three by three, and narrower last ones; the mean of what is 1
 * everywhere is 1 everywhere. */
static void test_large_cells(void) {
    MeshRunSpec spec = {.grid = {601, 2}, .full = TRUE};
    g_auto(MeshRunResult) result = heat_of(&spec);
    MeshPicture picture = {"title", &spec, &result, 1};

    for (guint i = 0; i < result.heat->len; i++) {
        MeshCoreHeat *heat = &g_array_index(result.heat, MeshCoreHeat, i);
        heat->compute_cycles = result.totals.cycles;
        heat->link_wavelets = heat->x == 4 ? 200 : 0;
    }
    g_autofree char *script = mesh_plot_heat_script(&picture, "a.svg", "b");
    g_auto(GStrv) lines = g_strsplit(script, "\n", -1);
    guint cells = 0, full = 0;
    for (char **line = lines; *line != NULL; line++) {
        g_auto(GStrv) words = g_strsplit(*line, " ", -1);
        if (g_strv_length(words) == 3 && g_ascii_isdigit(words[0][0])) {
            cells++;
            full += g_ascii_strtod(words[2], NULL) > 0.999999;
        }
    }
    g_assert_cmpuint(cells, ==, 2 * 201);
    g_assert_cmpuint(full, ==, 201 + 1);
}

static void test_profiles(void) {
    MeshRunSpec spec = {.grid = {3, 2}};
    g_auto(MeshRunResult) result = heat_of(&spec);
    MeshPicture picture = {"title", &spec, &result, 1};
    g_autofree char *script = mesh_plot_heat_script(&picture, "a.svg", "b");

    g_assert_nonnull(strstr(script, "\n0 0\n1 0.05\n2 0.1\ne\n0 0\n1 0.005\ne\n"));
    g_assert_nonnull(strstr(script, "a column, along Y"));
}

static void test_growth(void) {
    static const struct {
        double near, far;
        guint times;
        const char *growth;
    } cases[] = {{0, 0, 2, "none"},      {6, 6, 2, "O(1)"},    {18, 34, 2, "O(N)"},
                 {2, 5, 4, "O(sqrt N)"}, {7, 15, 2, "O(N)"},   {4, 16, 2, "O(N^2.0)"},
                 {100, 105, 2, "O(1)"},  {0, 3, 2, "O(N^inf)"}};

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *growth = plmr_growth(cases[i].near, cases[i].far, cases[i].times);
        g_assert_cmpstr(growth, ==, cases[i].growth);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh-plot/sweeps_have_a_panel_a_size", test_sweep);
    g_test_add_func("/mesh-plot/full_meshes_are_cells", test_cells);
    g_test_add_func("/mesh-plot/large_meshes_are_larger_cells", test_large_cells);
    g_test_add_func("/mesh-plot/folded_meshes_are_profiles", test_profiles);
    g_test_add_func("/plmr/growth_is_read_off_two_counts", test_growth);
    return g_test_run();
}
