/* What tests of searches share: texts turned into the sections that they are. */
#ifndef TESTS_UNIT_SEARCH_SETTING_H
#define TESTS_UNIT_SEARCH_SETTING_H

#include "policies/search_space.h"
#include "tests/unit/plan_setting.h"

static inline SearchSpec *spec_of(const char *text) {
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) section = yaml_load_text(text, "s.yaml", &error);
    g_assert_no_error(error);
    SearchSpec *spec = search_spec_read(section, &error);
    g_assert_no_error(error);
    return spec;
}

static inline Policy *policy_of(const char *text) {
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) section = yaml_load_text(text, "p.yaml", &error);
    g_assert_no_error(error);
    Policy *policy = policy_read(section, DEVICE_MT3000, &error);
    g_assert_no_error(error);
    return policy;
}

#endif
