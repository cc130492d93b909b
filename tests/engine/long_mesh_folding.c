/* One line of cores stands for all lines, exactly: what takes too long for every day. */
#include "tests/engine/mesh_folding.h"

static void test_both_axes(void) {
    for (guint side = 3; side <= 24; side++)
        mesh_assert_folds(side, side, side % 2 == 0);
    for (guint columns = 1; columns <= 8; columns++)
        for (guint rows = 1; rows <= 8; rows++)
            if (columns != rows)
                mesh_assert_folds(columns, rows, (columns + rows) % 2 == 0);
}

static void test_larger(void) {
    static const struct {
        guint columns, rows;
    } grids[] = {{32, 32}, {48, 17}, {17, 48}, {64, 64}, {96, 96}, {128, 40}, {128, 128}};

    for (gsize i = 0; i < G_N_ELEMENTS(grids); i++)
        for (guint along_y = 0; along_y < 2; along_y++)
            mesh_assert_folds(grids[i].columns, grids[i].rows, along_y);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh_folding/both_axes", test_both_axes);
    g_test_add_func("/mesh_folding/larger", test_larger);
    return g_test_run();
}
