#include "analysis/run/experiment.h"

#include "analysis/costs/wafer_fill.h"
#include "analysis/run/numbers.h"
#include <errno.h>
#include <stdio.h>

void experiment_free(Experiment *experiment) {
    if (experiment == NULL) {
        return;
    }
    g_clear_pointer(&experiment->wafer_pairs, g_array_unref);
    g_clear_pointer(&experiment->wafer_costs, wafer_costs_free);
    g_clear_pointer(&experiment->plan, plan_free);
    g_clear_pointer(&experiment->policy, policy_free);
    g_clear_pointer(&experiment->workload, workload_spec_free);
    g_clear_pointer(&experiment->model, model_free);
    g_clear_pointer(&experiment->platform, platform_free);
    output_spec_clear(&experiment->output);
    g_clear_pointer(&experiment->search, search_spec_free);
    g_free(experiment->checkpoint_shown);
    g_clear_pointer(&experiment->files, yaml_files_free);
    g_ptr_array_unref(experiment->warnings);
    g_free(experiment);
}

static gboolean sections_read(Experiment *experiment, const ExperimentFile *file, GError **error) {
    YamlNode *const *sections = file->sections;
    experiment->seed = file->seed;
    return (experiment->platform = platform_read(sections[SECTION_PLATFORM], error)) != NULL &&
           (experiment->model = model_read(sections[SECTION_MODEL], error)) != NULL &&
           (experiment->workload = workload_read(sections[SECTION_WORKLOAD],
                                                 file->folders[SECTION_WORKLOAD], error)) != NULL &&
           (experiment->policy =
                policy_read(sections[SECTION_POLICY], experiment->platform->kind, error)) != NULL &&
           slo_read(sections[SECTION_SLO], &experiment->slo, error) &&
           output_spec_read(sections[SECTION_OUTPUT], &experiment->output, error) &&
           (experiment->search = search_spec_read(sections[SECTION_SEARCH], error)) != NULL;
}

/* Requests belong to the steady-state window by their arrival, so it must leave some. */
static gboolean window_is_open(const Experiment *experiment, const YamlNode *place,
                               GError **error) {
    const OutputSpec *output = &experiment->output;
    double cut_s = output->warmup_s + output->cooldown_s;
    double last_s = experiment->facts.last_arrival_s;
    if (experiment->facts.closed_loop && output->cooldown_s > 0) {
        return yaml_error(place, INPUT_ERROR_CONFLICT, error,
                          "'cooldown' needs a last arrival, which a closed loop has not");
    }
    if (cut_s == 0 || experiment->facts.closed_loop || cut_s < last_s) {
        return TRUE;
    }
    g_autofree char *cut = units_format_brief(cut_s, DIMENSION_SECONDS);
    g_autofree char *last = units_format_brief(last_s, DIMENSION_SECONDS);
    return yaml_error(place, INPUT_ERROR_CONFLICT, error,
                      "'warmup' and 'cooldown' cut %s, but the last request arrives at %s: no "
                      "steady-state window is left",
                      cut, last);
}

/* A slip in a rate or in the interval would fill the disk with samples. */
#define MOST_SAMPLES 1e7

static gboolean series_is_sane(const Experiment *experiment, const YamlNode *place,
                               GError **error) {
    double interval_s = experiment->output.series_interval_s;
    double last_s = experiment->facts.last_arrival_s;
    if (experiment->facts.closed_loop || last_s <= interval_s * MOST_SAMPLES) {
        return TRUE;
    }
    g_autofree char *interval = units_format_brief(interval_s, DIMENSION_SECONDS);
    g_autofree char *last = units_format_brief(last_s, DIMENSION_SECONDS);
    return yaml_error(place, INPUT_ERROR_CONFLICT, error,
                      "'series_interval' is %s, but the last request arrives at %s: more than "
                      "10 million samples",
                      interval, last);
}

static void warn_of_idle_prefix_cache(Experiment *experiment) {
    const Policy *policy = experiment->policy;
    PrefixCacheKind kind =
        policy->mode == MODE_PBD ? policy->prefill.prefix_cache : policy->decode.prefix_cache;
    if (kind != PREFIX_CACHE_OFF && !experiment->facts.has_prefixes) {
        g_ptr_array_add(experiment->warnings,
                        g_strdup("the policy asks for a prefix cache, but the workload has no "
                                 "prefix blocks: nothing will be found in it"));
    }
}

static gboolean same_workload(const Experiment *a, const Experiment *b) {
    g_autoptr(GString) text_of_a = g_string_new(NULL);
    g_autoptr(GString) text_of_b = g_string_new(NULL);
    workload_write(a->workload, 0, text_of_a);
    workload_write(b->workload, 0, text_of_b);
    return a->seed == b->seed && g_string_equal(text_of_a, text_of_b);
}

static gboolean facts_find(Experiment *experiment, const Experiment *known, GError **error) {
    if (known != NULL && same_workload(experiment, known)) {
        experiment->facts = known->facts;
        return TRUE;
    }
    return workload_scan(experiment->workload, experiment->seed, &experiment->facts, error);
}

static gboolean workload_count(Experiment *experiment, const Experiment *known,
                               const YamlNode *place, GError **error) {
    if (!facts_find(experiment, known, error)) {
        return FALSE;
    }
    return experiment->facts.requests > 0 ||
           yaml_error(place, INPUT_ERROR_VALUE, error, "the workload has no request to serve");
}

/* Grids that the policy leaves open, for the workload's average lengths. 'policy' gets them. */
static gboolean wafers_tune(Experiment *experiment, const YamlNode *place, Policy *policy,
                            GError **error) {
    const WorkloadFacts *facts = &experiment->facts;
    if (policy->wafer.prefill_grid > 0 && policy->wafer.decode_grid > 0) {
        return TRUE;
    }
    WaferTuneInput input = {.costs = experiment->wafer_costs,
                            .mesh = &experiment->platform->mesh,
                            .model = experiment->model,
                            .spec = policy->wafer,
                            .max_context = policy->max_context > 0 ? policy->max_context
                                                                   : experiment->model->max_context,
                            .mean_prompt = wafer_tune_mean(facts->prompt_tokens, facts->requests),
                            .mean_output = wafer_tune_mean(facts->output_tokens, facts->requests)};
    g_autoptr(GError) cause = NULL;
    experiment->wafer_pairs = wafer_tune(&input, &cause);
    if (experiment->wafer_pairs == NULL) {
        return yaml_error(policy_place(place, "wafer", NULL), INPUT_ERROR_CONFLICT, error,
                          "no grid fits: %s", cause->message);
    }
    const WaferCandidate *chosen = &g_array_index(experiment->wafer_pairs, WaferCandidate, 0);
    policy->wafer.prefill_grid = chosen->prefill_grid;
    policy->wafer.decode_grid = chosen->decode_grid;
    return TRUE;
}

/* Grids may depend on the workload, so on wafers that comes before the plan. */
static gboolean wafers_plan(Experiment *experiment, const ExperimentFile *file,
                            const Experiment *known, GError **error) {
    const YamlNode *place = file->sections[SECTION_POLICY];
    Policy policy = *experiment->policy;
    experiment->wafer_costs = wafer_costs_new(experiment->platform);
    wafer_costs_keep(experiment->wafer_costs);
    if (!workload_count(experiment, known, file->sections[SECTION_WORKLOAD], error) ||
        !wafers_tune(experiment, place, &policy, error)) {
        return FALSE;
    }
    experiment->plan = plan_new(&policy, experiment->model, experiment->platform, place, error);
    return experiment->plan != NULL;
}

static gboolean plan_make(Experiment *experiment, const ExperimentFile *file,
                          const Experiment *known, GError **error) {
    const Policy *policy = experiment->policy;
    if (policy->mode == MODE_WAFER && experiment->platform->kind == DEVICE_WAFER) {
        return wafers_plan(experiment, file, known, error);
    }
    experiment->plan = plan_new(policy, experiment->model, experiment->platform,
                                file->sections[SECTION_POLICY], error);
    return experiment->plan != NULL &&
           workload_count(experiment, known, file->sections[SECTION_WORKLOAD], error);
}

static gboolean experiment_resolve(Experiment *experiment, const ExperimentFile *file,
                                   const Experiment *known, GError **error) {
    if (!sections_read(experiment, file, error) || !numbers_resolve(experiment, file, error) ||
        !plan_make(experiment, file, known, error)) {
        return FALSE;
    }
    const YamlNode *output = file->sections[SECTION_OUTPUT];
    const YamlNode *place = output == NULL ? file->root : output;
    if (!window_is_open(experiment, place, error) || !series_is_sane(experiment, place, error)) {
        return FALSE;
    }
    warn_of_idle_prefix_cache(experiment);
    return TRUE;
}

/* Through the files of 'known', or else its own. */
static ExperimentFile *file_load(Experiment *experiment, const Experiment *known, const char *path,
                                 const char *const *overrides, GError **error) {
    g_autofree char *found = data_file_find(path, NULL, "experiments");
    if (found == NULL && !g_file_test(path, G_FILE_TEST_EXISTS)) {
        g_autofree char *hint = data_file_hint(path, "experiments");
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING, "%s: cannot read '%s': %s%s", path,
                    path, g_strerror(ENOENT), hint);
        return NULL;
    }
    if (known == NULL) {
        experiment->files = yaml_files_new();
    }
    return experiment_file_load(found == NULL ? path : found, overrides,
                                known == NULL ? experiment->files : known->files, error);
}

static Experiment *experiment_new(void) {
    Experiment *experiment = g_new0(Experiment, 1);
    experiment->warnings = g_ptr_array_new_with_free_func(g_free);
    return experiment;
}

Experiment *experiment_load(const char *path, const char *const *overrides, GError **error) {
    return experiment_load_beside(NULL, path, overrides, error);
}

Experiment *experiment_load_beside(const Experiment *known, const char *path,
                                   const char *const *overrides, GError **error) {
    g_autoptr(Experiment) experiment = experiment_new();
    g_autoptr(ExperimentFile) file = file_load(experiment, known, path, overrides, error);
    return file != NULL && experiment_resolve(experiment, file, known, error)
               ? g_steal_pointer(&experiment)
               : NULL;
}

Experiment *experiment_load_unplanned(const char *path, const char *const *overrides,
                                      GError **error) {
    g_autoptr(Experiment) experiment = experiment_new();
    g_autoptr(ExperimentFile) file = file_load(experiment, NULL, path, overrides, error);
    return file != NULL && sections_read(experiment, file, error) &&
                   workload_count(experiment, NULL, file->sections[SECTION_WORKLOAD], error)
               ? g_steal_pointer(&experiment)
               : NULL;
}

WaferTimes *experiment_wafer_times(const Experiment *experiment, GError **error) {
    const WorkloadFacts *facts = &experiment->facts;
    guint64 most = experiment->plan->max_context; /* whoever asks for more is rejected */
    WaferFillInput input = {.costs = experiment->wafer_costs,
                            .platform = experiment->platform,
                            .model = experiment->model,
                            .plan = experiment->plan,
                            .most_prompt = (guint32)MIN(facts->max_prompt_tokens, most),
                            .most_context = (guint32)MIN(facts->max_total_tokens, most)};
    return wafer_fill(&input, error);
}

void experiment_print_warnings(const Experiment *experiment) {
    for (guint i = 0; i < experiment->warnings->len; i++) {
        fprintf(stderr, "warning: %s\n", (const char *)g_ptr_array_index(experiment->warnings, i));
    }
}

/* "name:" and the section's keys under it; nothing when it has none to print. */
static void append_section(GString *out, SectionKind kind, const GString *body) {
    if (body->len > 0) {
        g_string_append_printf(out, "%s:\n%s", section_name(kind), body->str);
    }
}

static void write_section(GString *out, const Experiment *experiment, SectionKind kind) {
    g_autoptr(GString) body = g_string_new(NULL);
    switch (kind) {
    case SECTION_PLATFORM:
        platform_write(experiment->platform, 2, body);
        break;
    case SECTION_MODEL:
        model_write(experiment->model, 2, body);
        break;
    case SECTION_WORKLOAD:
        workload_write(experiment->workload, 2, body);
        break;
    case SECTION_POLICY:
        policy_write(experiment->policy, 2, body);
        break;
    case SECTION_SLO:
        slo_write(&experiment->slo, 2, body);
        break;
    case SECTION_OUTPUT:
        output_spec_write(&experiment->output, 2, body);
        break;
    case SECTION_SEARCH:
        search_spec_write(experiment->search, 2, body);
        break;
    case N_SECTIONS:
        break;
    }
    append_section(out, kind, body);
}

static void write_facts(GString *out, const WorkloadFacts *facts) {
    g_string_append_printf(out,
                           "# workload: %" G_GUINT64_FORMAT " request%s, %" G_GUINT64_FORMAT
                           " prompt and %" G_GUINT64_FORMAT " output tokens, the longest %u\n",
                           facts->requests, facts->requests == 1 ? "" : "s", facts->prompt_tokens,
                           facts->output_tokens, facts->max_total_tokens);
    if (facts->skipped_outputs + facts->skipped_prompts + facts->sliced + facts->capped > 0) {
        g_string_append_printf(
            out,
            "# skipped rows: %" G_GUINT64_FORMAT " without output, %" G_GUINT64_FORMAT
            " without prompt, %" G_GUINT64_FORMAT " outside the slice; capped requests: "
            "%" G_GUINT64_FORMAT "\n",
            facts->skipped_outputs, facts->skipped_prompts, facts->sliced, facts->capped);
    }
}

static void write_pairs(GString *out, const Experiment *experiment) {
    const GArray *pairs = experiment->wafer_pairs;
    for (guint i = 0; pairs != NULL && i < pairs->len; i++) {
        const WaferCandidate *pair = &g_array_index(pairs, WaferCandidate, i);
        g_autofree char *prefill = units_format_brief(pair->prefill_s, DIMENSION_SECONDS);
        g_autofree char *transition = units_format_brief(pair->transition_s, DIMENSION_SECONDS);
        g_autofree char *decode = units_format_brief(pair->decode_s, DIMENSION_SECONDS);
        g_autofree char *request = units_format_brief(pair->request_s, DIMENSION_SECONDS);
        g_string_append_printf(out,
                               "#   %s prefill %u, decode %u x %u: %s + %s + %s a token = %s\n",
                               i == 0 ? "chosen:" : "       ", pair->prefill_grid, pair->regions,
                               pair->decode_grid, prefill, transition, decode, request);
    }
}

/* The sections before 'end', which search is the last of. */
static char *write_until(const Experiment *experiment, SectionKind end) {
    GString *out = g_string_new("version: 1\n");
    g_string_append_printf(out, "seed: %" G_GUINT64_FORMAT "\n", experiment->seed);
    for (SectionKind kind = 0; kind < end; kind++) {
        write_section(out, experiment, kind);
    }
    write_facts(out, &experiment->facts);
    plan_write_comments(experiment->plan, experiment->policy, experiment->model, out);
    write_pairs(out, experiment);
    return g_string_free(out, FALSE);
}

char *experiment_write(const Experiment *experiment) {
    return write_until(experiment, N_SECTIONS);
}

char *experiment_write_run(const Experiment *experiment) {
    return write_until(experiment, SECTION_SEARCH);
}
