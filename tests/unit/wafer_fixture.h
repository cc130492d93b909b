/* The shipped models, and a wafer of the size that the published tables are about. */
#ifndef TESTS_UNIT_WAFER_FIXTURE_H
#define TESTS_UNIT_WAFER_FIXTURE_H

#include "workloads/model.h"

#define WAFER_COLUMNS 750
#define WAFER_ROWS 994
#define WAFER_USABLE_BYTES 44976.0

static inline Model *shipped_model(const char *name) {
    g_autofree char *file = g_strconcat(name, ".json", NULL);
    g_autofree char *path =
        g_test_build_filename(G_TEST_DIST, "..", "workloads", "models", file, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) root = yaml_load_file(path, &error);
    g_assert_no_error(error);
    Model *model = model_read(root, &error);
    g_assert_no_error(error);
    return model;
}

#endif
