/* What tests of plans share: a small machine, a model, and a policy text turned into a plan. */
#ifndef TESTS_UNIT_PLAN_SETTING_H
#define TESTS_UNIT_PLAN_SETTING_H

#include "policies/plan.h"

static const Model llama_2_7b = {.name = "llama-2-7b",
                                 .hidden = 4096,
                                 .layers = 32,
                                 .heads = 32,
                                 .kv_heads = 32,
                                 .head_dim = 128,
                                 .ffn = 11008,
                                 .vocab = 32000,
                                 .max_context = 4096,
                                 .data_type = DATA_TYPE_FP16};

/* 2 nodes of 4 processors of 4 clusters, 20 GB each. */
static const Platform machine = {.name = "toy",
                                 .nodes = 2,
                                 .processors_per_node = 4,
                                 .clusters_per_processor = 4,
                                 .cluster = {.ddr_usable_bytes = 20e9}};

typedef struct Setting {
    YamlNode *section;
    Policy *policy;
    Plan *plan;
    GError *error;
} Setting;

static inline void setting_clear(Setting *setting) {
    g_clear_pointer(&setting->section, yaml_node_free);
    g_clear_pointer(&setting->policy, policy_free);
    g_clear_pointer(&setting->plan, plan_free);
    g_clear_error(&setting->error);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Setting, setting_clear)

/* Reads the policy and plans; 'error' tells why there is no plan. */
static inline Setting setting_on(const char *text, const Model *model, const Platform *platform) {
    Setting setting = {0};
    setting.section = yaml_load_text(text, "p.yaml", &setting.error);
    g_assert_no_error(setting.error);
    setting.policy = policy_read(setting.section, platform->kind, &setting.error);
    g_assert_no_error(setting.error);
    setting.plan = plan_new(setting.policy, model, platform, setting.section, &setting.error);
    return setting;
}

static inline Setting setting_of(const char *text, const Model *model) {
    Setting setting = setting_on(text, model, &machine);
    g_assert_no_error(setting.error);
    return setting;
}

#endif
