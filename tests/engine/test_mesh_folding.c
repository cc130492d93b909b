/* One line of cores stands for all lines, exactly. Larger meshes are in long_mesh_folding.c. */
#include "tests/engine/mesh_folding.h"

static void test_squares(void) {
    for (guint side = 3; side <= 24; side++)
        mesh_assert_folds(side, side, side % 2);
}

static void test_non_square(void) {
    for (guint columns = 1; columns <= 8; columns++)
        for (guint rows = 1; rows <= 8; rows++)
            if (columns != rows)
                mesh_assert_folds(columns, rows, (columns + rows) % 2);
}

static void test_large(void) {
    mesh_assert_folds(96, 96, FALSE);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh_folding/squares", test_squares);
    g_test_add_func("/mesh_folding/non_square", test_non_square);
    g_test_add_func("/mesh_folding/large", test_large);
    return g_test_run();
}
