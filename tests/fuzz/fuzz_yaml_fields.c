/* The field tables: any text either reads as a sample section or gives a message with a place; and
 * what was read is printed as a text that reads back and prints the same. */
#include "workloads/yaml_reader.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size);

typedef struct Inner {
    double rate_hz, share;
    gboolean sorted;
} Inner;

typedef struct Sample {
    guint64 count;
    double duration_s, bytes;
    int mode;
    char *name;
    Inner inner, optional;
} Sample;

static const char *const mode_names[] = {"pbd", "colocated"};

static const YamlField inner_fields[] = {
    {.key = "rate",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(Inner, rate_hz),
     .fallback = "8 /s",
     .dimension = DIMENSION_HERTZ,
     .min = YAML_ABOVE_ZERO},
    {.key = "share",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(Inner, share),
     .fallback = "0.5",
     .max = 1},
    {.key = "sorted",
     .kind = YAML_FIELD_BOOL,
     .offset = offsetof(Inner, sorted),
     .fallback = "false"},
};

static const YamlField sample_fields[] = {
    {.key = "count",
     .kind = YAML_FIELD_COUNT,
     .offset = offsetof(Sample, count),
     .fallback = "1",
     .min = 1},
    {.key = "duration",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(Sample, duration_s),
     .fallback = YAML_OPTIONAL,
     .dimension = DIMENSION_SECONDS},
    {.key = "bytes",
     .kind = YAML_FIELD_REAL,
     .offset = offsetof(Sample, bytes),
     .fallback = "1 GiB",
     .dimension = DIMENSION_BYTES,
     .max = 1e15},
    {.key = "mode",
     .kind = YAML_FIELD_ENUM,
     .offset = offsetof(Sample, mode),
     .fallback = "pbd",
     .names = YAML_ENUM_OF(mode_names)},
    {.key = "name",
     .kind = YAML_FIELD_STRING,
     .offset = offsetof(Sample, name),
     .fallback = YAML_OPTIONAL},
    {.key = "inner",
     .kind = YAML_FIELD_SECTION,
     .offset = offsetof(Sample, inner),
     .fallback = "",
     .fields = inner_fields,
     .n_fields = G_N_ELEMENTS(inner_fields)},
    {.key = "optional",
     .kind = YAML_FIELD_SECTION,
     .offset = offsetof(Sample, optional),
     .fallback = YAML_OPTIONAL,
     .fields = inner_fields,
     .n_fields = G_N_ELEMENTS(inner_fields)},
};
#define N_SAMPLE_FIELDS G_N_ELEMENTS(sample_fields)

/* The section as it is printed, or NULL and a message. Caller frees. */
static char *read_and_print(const char *text, const char *name, GError **error) {
    Sample sample = {0};
    GString *printed = NULL;
    g_autoptr(YamlNode) root = yaml_load_text(text, name, error);
    if (root != NULL && yaml_read_fields(root, sample_fields, N_SAMPLE_FIELDS, &sample, error)) {
        printed = g_string_new(NULL);
        yaml_write_fields(printed, 0, sample_fields, N_SAMPLE_FIELDS, &sample);
    }
    yaml_fields_clear(sample_fields, N_SAMPLE_FIELDS, &sample);
    return printed != NULL ? g_string_free(printed, FALSE) : NULL;
}

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size) {
    g_autofree char *text = g_strndup((const char *)data, size);
    const char *name = size % 2 == 0 ? "f.yaml" : "f.json";
    g_autoptr(GError) error = NULL;
    g_autofree char *printed = read_and_print(text, name, &error);
    if (printed == NULL) {
        g_assert_true(error->domain == INPUT_ERROR);
        g_assert_true(g_str_has_prefix(error->message, name));
        g_assert_true(g_utf8_validate(error->message, -1, NULL));
        g_assert_null(strchr(error->message, '\n'));
        return 0;
    }
    g_autofree char *again = read_and_print(printed, "printed.yaml", &error);
    g_assert_no_error(error);
    g_assert_cmpstr(printed, ==, again);
    return 0;
}
