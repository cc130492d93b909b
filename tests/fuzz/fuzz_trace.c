/* Traces: no file may crash a reader, every error names the file and a place, and what a scan
 * counts adds up. The first byte chooses the format and whether to sort, the rest is the file. */
#include "workloads/traces/workload_spec.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static WorkloadSpec *spec_of(const char *path, uint8_t choices) {
    g_autofree char *text =
        g_strdup_printf("{trace: \"%s\", format: %s, sort: %s, max_prompt_tokens: %d}", path,
                        trace_format_names[choices % N_TRACE_FORMATS],
                        choices & 0x40 ? "true" : "false", choices & 0x80 ? 1000 : 0);
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) node = yaml_load_text(text, "fuzz", &error);
    g_assert_no_error(error);
    WorkloadSpec *spec = workload_read(node, "/", &error);
    g_assert_no_error(error);
    return spec;
}

static void check_requests(const WorkloadSpec *spec, const WorkloadFacts *facts) {
    g_autoptr(GError) error = NULL;
    g_autoptr(RequestSource) source = request_source_open(spec, 1, &error);
    g_assert_no_error(error);
    Request request;
    guint64 n = 0;
    double previous_s = 0;
    for (; request_source_next(source, &request, &error); n++) {
        g_assert_cmpuint(request.id, ==, n);
        g_assert_cmpuint(request.prompt_tokens, >=, 1);
        g_assert_cmpuint(request.output_tokens, >=, 1);
        g_assert_cmpfloat(request.arrival_s, >=, previous_s);
        previous_s = request.arrival_s;
        request_clear(&request);
    }
    g_assert_no_error(error);
    g_assert_cmpuint(n, ==, facts->requests);
    g_assert_cmpuint(n + facts->skipped_outputs + facts->skipped_prompts, ==, facts->rows);
}

static void scan(const char *path, uint8_t choices) {
    g_autoptr(WorkloadSpec) spec = spec_of(path, choices);
    g_autoptr(GError) error = NULL;
    WorkloadFacts facts;
    if (workload_scan(spec, 1, &facts, &error)) {
        check_requests(spec, &facts);
        return;
    }
    g_assert_true(error->domain == INPUT_ERROR);
    g_assert_true(g_str_has_prefix(error->message, path));
    g_assert_true(g_utf8_validate(error->message, -1, NULL));
    g_assert_null(strchr(error->message, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    g_autofree char *path = NULL;
    int file = g_file_open_tmp("fuzz-XXXXXX", &path, NULL);
    g_assert_cmpint(file, >=, 0);
    g_assert_cmpint(write(file, data + 1, size - 1), ==, (gssize)size - 1);
    close(file);
    scan(path, data[0]);
    unlink(path);
    return 0;
}
