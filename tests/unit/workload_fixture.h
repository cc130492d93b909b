/* What the tests of workloads share: a section from a text, a trace from a text, and all requests
 * of a source. */
#ifndef TESTS_UNIT_WORKLOAD_FIXTURE_H
#define TESTS_UNIT_WORKLOAD_FIXTURE_H

#include "workloads/request_source.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* Reads a section's text; relative traces start from tests/data/traces. */
G_GNUC_UNUSED static WorkloadSpec *workload_of(const char *text, GError **error) {
    g_autoptr(YamlNode) node = yaml_load_text(text, "test.yaml", error);
    g_autofree char *folder = g_test_build_filename(G_TEST_DIST, "data", "traces", NULL);
    return node != NULL ? workload_read(node, folder, error) : NULL;
}

G_GNUC_UNUSED static WorkloadSpec *good_workload_of(const char *text) {
    g_autoptr(GError) error = NULL;
    WorkloadSpec *spec = workload_of(text, &error);
    g_assert_no_error(error);
    return spec;
}

/* A new file that holds 'length' bytes. Caller removes and frees. */
G_GNUC_UNUSED static char *temporary_trace(const char *bytes, gsize length) {
    g_autoptr(GError) error = NULL;
    char *path = NULL;
    int file = g_file_open_tmp("infergrid-XXXXXX.trace", &path, &error);
    g_assert_no_error(error);
    g_assert_cmpint(write(file, bytes, length), ==, (gssize)length);
    g_close(file, NULL);
    return path;
}

/* "trace: PATH" and further options, one a line. */
G_GNUC_UNUSED static WorkloadSpec *workload_of_trace(const char *path, const char *options) {
    g_autofree char *text = g_strdup_printf("trace: \"%s\"\n%s", path, options ? options : "");
    return good_workload_of(text);
}

static inline void clear_request(gpointer request) {
    request_clear(request);
}

/* All requests that arrive from outside, as a GArray of Request. */
G_GNUC_UNUSED static GArray *requests_of(const WorkloadSpec *spec, guint64 seed) {
    g_autoptr(GError) error = NULL;
    g_autoptr(RequestSource) source = request_source_open(spec, seed, &error);
    g_assert_no_error(error);
    GArray *requests = g_array_new(FALSE, FALSE, sizeof(Request));
    g_array_set_clear_func(requests, clear_request);
    Request request;
    while (request_source_next(source, &request, &error))
        g_array_append_val(requests, request);
    g_assert_no_error(error);
    return requests;
}

G_GNUC_UNUSED static WorkloadFacts facts_of(const WorkloadSpec *spec, guint64 seed) {
    g_autoptr(GError) error = NULL;
    WorkloadFacts facts;
    g_assert_true(workload_scan(spec, seed, &facts, &error));
    g_assert_no_error(error);
    return facts;
}

/* "0:374/44 4.314579:396/109": arrivals and lengths, for comparisons that show both sides. */
G_GNUC_UNUSED static char *requests_text(const GArray *requests) {
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < requests->len; i++) {
        const Request *request = &g_array_index(requests, Request, i);
        char arrival[G_ASCII_DTOSTR_BUF_SIZE];
        g_ascii_formatd(arrival, sizeof arrival, "%.15g", request->arrival_s);
        g_string_append_printf(text, "%s%s:%u/%u", i ? " " : "", arrival, request->prompt_tokens,
                               request->output_tokens);
        g_assert_cmpuint(request->id, ==, i);
    }
    return g_string_free(text, FALSE);
}

#endif
