#include "analysis/reproduce/serving_spec.h"

#include "workloads/experiment_file.h"
#include <math.h>
#include <string.h>

/* --- the file's tables */

#define SPEC_FIELD(member) .offset = G_STRUCT_OFFSET(ServingSpec, member)
static const YamlField spec_fields[] = {
    {.key = "figure", .kind = YAML_FIELD_STRING, SPEC_FIELD(figure)},
    {.key = "unit", .kind = YAML_FIELD_STRING, SPEC_FIELD(unit)},
    {.key = "margin", .kind = YAML_FIELD_REAL, SPEC_FIELD(margin), .fallback = "0", .max = 10},
    {.key = "series", .kind = YAML_FIELD_STRING, SPEC_FIELD(series)},
    {.key = "row", .kind = YAML_FIELD_STRING, SPEC_FIELD(row)},
};
/* What is no field of the table. */
static const char *const spec_beside[] = {"version", "columns", "labels", "cases", NULL};

static const char *const measure_names[] = {"throughput", "decode_rate", "prompt_rate",
                                            "output_rate"};
static const char *const plan_names[] = {"own", "rule"};
static const char *const mark_names[] = {"calibrated", "unexplained", "contradicted", "chosen"};

#define UNSET G_MAXUINT /* where a case says nothing */
typedef struct Case {
    char *cells, *experiment, *reason;
    guint measure, plan, mark;
} Case;
#define CASE_FIELD(member) .offset = G_STRUCT_OFFSET(Case, member), .fallback = YAML_OPTIONAL
static const YamlField case_fields[] = {
    {.key = "cells", .kind = YAML_FIELD_STRING, .offset = G_STRUCT_OFFSET(Case, cells)},
    {.key = "experiment", .kind = YAML_FIELD_STRING, CASE_FIELD(experiment)},
    {.key = "measure",
     .kind = YAML_FIELD_ENUM,
     CASE_FIELD(measure),
     .names = YAML_ENUM_OF(measure_names)},
    {.key = "plan", .kind = YAML_FIELD_ENUM, CASE_FIELD(plan), .names = YAML_ENUM_OF(plan_names)},
    {.key = "mark", .kind = YAML_FIELD_ENUM, CASE_FIELD(mark), .names = YAML_ENUM_OF(mark_names)},
    {.key = "reason", .kind = YAML_FIELD_STRING, CASE_FIELD(reason)},
};
static const char *const case_beside[] = {"set", "halve", NULL};

static void case_clear(Case *one) {
    yaml_fields_clear(case_fields, G_N_ELEMENTS(case_fields), one);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Case, case_clear)

static void line_clear(gpointer data) {
    g_ptr_array_unref(((ServingLine *)data)->set);
}

void serving_spec_free(ServingSpec *spec) {
    if (spec == NULL)
        return;
    yaml_fields_clear(spec_fields, G_N_ELEMENTS(spec_fields), spec);
    g_clear_pointer(&spec->root, yaml_node_free);
    g_ptr_array_unref(spec->keys);
    g_array_unref(spec->lines);
    g_free(spec);
}

typedef struct Reader {
    ServingSpec *spec;
    const ReferenceTable *reference;
    Reproduction *reproduction;
} Reader;

/* A mapping: the fields of a table, and keys that are read by hand. */
typedef struct Shape {
    const YamlField *fields;
    gsize n_fields;
    const char *const *beside; /* NULL-terminated, at most BESIDE_MAX */
} Shape;
#define BESIDE_MAX 4

/* Reads the fields; the keys beside them are set aside meanwhile. */
static gboolean read_fields(YamlNode *mapping, const Shape *shape, gpointer target,
                            GError **error) {
    YamlNode *nodes[BESIDE_MAX];

    for (gsize i = 0; shape->beside[i] != NULL; i++)
        nodes[i] = yaml_steal(mapping, shape->beside[i]);
    gboolean read = yaml_read_fields(mapping, shape->fields, shape->n_fields, target, error);
    for (gsize i = 0; shape->beside[i] != NULL; i++)
        if (nodes[i] != NULL)
            yaml_put(mapping, shape->beside[i], nodes[i]);
    return read;
}

/* A list of texts; NULL is an empty one. */
static gboolean check_list(const YamlNode *list, const char *what, GError **error) {
    if (list != NULL && !yaml_expect(list, YAML_SEQUENCE, what, error))
        return FALSE;
    for (guint i = 0; list != NULL && i < list->values->len; i++)
        if (!yaml_expect(g_ptr_array_index(list->values, i), YAML_SCALAR, NULL, error))
            return FALSE;
    return TRUE;
}

/* --- the head of the file */

static gboolean check_version(const YamlNode *root, GError **error) {
    const YamlNode *version = yaml_get(root, "version");

    if (version == NULL)
        return yaml_error(root, INPUT_ERROR_MISSING, error, "missing key 'version'");
    if (g_strcmp0(version->text, "1") != 0)
        return yaml_error(version, INPUT_ERROR_VALUE, error, "'version' must be 1");
    return TRUE;
}

/* Whether the reference has a column that the file names at 'node'. */
static gboolean check_column(const Reader *reader, const YamlNode *node, GError **error) {
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    const char *name;

    for (guint i = 0; (name = reference_table_column(reader->reference, i)) != NULL; i++) {
        if (strcmp(name, node->text) == 0)
            return TRUE;
        g_ptr_array_add(names, (gpointer)name);
    }
    g_autofree char *hint =
        near_miss_hint(node->text, (const char *const *)names->pdata, names->len);
    return yaml_error(node, INPUT_ERROR_UNKNOWN, error, "the reference data has no column '%s'%s",
                      node->text, hint);
}

static gboolean read_columns(Reader *reader, GError **error) {
    static const char *const named[] = {"figure", "series", "row"};
    ServingSpec *spec = reader->spec;
    const YamlNode *columns = yaml_get(spec->root, "columns");

    for (gsize i = 0; i < G_N_ELEMENTS(named); i++)
        if (!check_column(reader, yaml_get(spec->root, named[i]), error))
            return FALSE;
    g_ptr_array_add(spec->keys, spec->series);
    g_ptr_array_add(spec->keys, spec->row);
    if (!check_list(columns, "a list of columns", error))
        return FALSE;
    for (guint i = 0; columns != NULL && i < columns->values->len; i++) {
        const YamlNode *node = g_ptr_array_index(columns->values, i);
        if (!check_column(reader, node, error))
            return FALSE;
        g_ptr_array_add(spec->keys, node->text);
    }
    return TRUE;
}

static gboolean read_root(Reader *reader, GError **error) {
    static const Shape shape = {spec_fields, G_N_ELEMENTS(spec_fields), spec_beside};
    ServingSpec *spec = reader->spec;

    return yaml_expect(spec->root, YAML_MAPPING, "a table of experiments", error) &&
           check_version(spec->root, error) && read_fields(spec->root, &shape, spec, error) &&
           read_columns(reader, error);
}

/* --- lines */

/* What a value is called; NULL and an error where its label is no text. */
static const char *label_of(Reader *reader, const char *value, GError **error) {
    const YamlNode *labels = yaml_get(reader->spec->root, "labels");
    const YamlNode *label = NULL;

    if (labels != NULL && !yaml_expect(labels, YAML_MAPPING, NULL, error))
        return NULL;
    if (labels != NULL)
        label = yaml_get(labels, value);
    if (label != NULL && !yaml_expect(label, YAML_SCALAR, NULL, error))
        return NULL;
    return reproduction_text(reader->reproduction, "%s", label == NULL ? value : label->text);
}

static const char *value_of(const Reader *reader, guint line, guint key, GError **error) {
    return reference_table_text(reader->reference, line, g_ptr_array_index(reader->spec->keys, key),
                                error);
}

/* The line's values with blanks between, as patterns see it. Caller frees. */
static char *name_of(const Reader *reader, guint line) {
    GString *name = g_string_new(NULL);

    for (guint i = 0; i < reader->spec->keys->len; i++)
        g_string_append_printf(name, "%s%s", i == 0 ? "" : " ", value_of(reader, line, i, NULL));
    return g_string_free(name, FALSE);
}

static gboolean read_published(Reader *reader, ServingLine *line, GError **error) {
    const char *figure = reader->spec->figure;
    const char *word = reference_table_text(reader->reference, line->line, figure, error);

    line->cell.published = line->cell.simulated = NAN;
    line->cell.published_oom = g_strcmp0(word, "OOM") == 0;
    if (word == NULL || line->cell.published_oom)
        return word != NULL;
    return reference_table_number(reader->reference, line->line, figure, &line->cell.published,
                                  error) &&
           (line->cell.published > 0 || reference_table_error(reader->reference, line->line, error,
                                                              "expected figures above 0"));
}

static gboolean read_labels(Reader *reader, ServingLine *line, GError **error) {
    g_autoptr(GString) column = g_string_new(NULL);

    for (guint i = 0; i < reader->spec->keys->len; i++) {
        const char *label = label_of(reader, value_of(reader, line->line, i, NULL), error);
        if (label == NULL)
            return FALSE;
        if (i == 0)
            line->cell.series = label;
        else if (i == 1)
            line->cell.row = label;
        else
            g_string_append_printf(column, "%s%s", i == 2 ? "" : ", ", label);
    }
    line->cell.column = reproduction_text(reader->reproduction, "%s", column->str);
    line->cell.unit = reproduction_text(reader->reproduction, "%s", reader->spec->unit);
    return read_published(reader, line, error);
}

static gboolean list_lines(Reader *reader, GError **error) {
    for (guint i = 0; i < reference_table_rows(reader->reference); i++) {
        ServingLine line = {.line = i, .set = g_ptr_array_new_with_free_func(g_free)};
        gboolean read = read_labels(reader, &line, error);
        g_array_append_val(reader->spec->lines, line);
        if (!read)
            return FALSE;
    }
    return TRUE;
}

/* Whether each label is of a value of some line. */
static gboolean check_labels(const Reader *reader, GError **error) {
    const YamlNode *labels = yaml_get(reader->spec->root, "labels");
    g_autoptr(GPtrArray) values = g_ptr_array_new();

    for (guint i = 0; i < reference_table_rows(reader->reference); i++)
        for (guint j = 0; j < reader->spec->keys->len; j++)
            g_ptr_array_add(values, (gpointer)value_of(reader, i, j, NULL));
    for (guint i = 0; labels != NULL && i < labels->keys->len; i++) {
        const YamlNode *key = g_ptr_array_index(labels->keys, i);
        if (g_ptr_array_find_with_equal_func(values, key->text, g_str_equal, NULL))
            continue;
        g_autofree char *hint =
            near_miss_hint(key->text, (const char *const *)values->pdata, values->len);
        return yaml_error(key, INPUT_ERROR_UNKNOWN, error,
                          "no line of the reference data has the value '%s'%s", key->text, hint);
    }
    return TRUE;
}

/* --- cases */

static gboolean check_settings(const YamlNode *list, GError **error) {
    if (!check_list(list, "a list of settings", error))
        return FALSE;
    for (guint i = 0; list != NULL && i < list->values->len; i++) {
        const YamlNode *node = g_ptr_array_index(list->values, i);
        if (strchr(node->text, '=') == NULL)
            return yaml_error(node, INPUT_ERROR_VALUE, error, "expected KEY=VALUE, not '%s'",
                              node->text);
    }
    return TRUE;
}

static gboolean read_case(YamlNode *node, Case *one, GError **error) {
    static const Shape shape = {case_fields, G_N_ELEMENTS(case_fields), case_beside};

    if (!yaml_expect(node, YAML_MAPPING, NULL, error) || !read_fields(node, &shape, one, error) ||
        !check_settings(yaml_get(node, "set"), error) ||
        !check_list(yaml_get(node, "halve"), "a list of settings", error))
        return FALSE;
    return one->mark == UNSET || (1u << one->mark) == CELL_CALIBRATED || one->reason != NULL ||
           yaml_error(node, INPUT_ERROR_MISSING, error, "missing key 'reason'");
}

/* A text of the case, kept with the reproduction, or what there was. */
static const char *take(Reader *reader, const char *text, const char *before) {
    return text == NULL ? before : reproduction_text(reader->reproduction, "%s", text);
}

static void apply_case(Reader *reader, const YamlNode *node, const Case *one, ServingLine *line) {
    const YamlNode *set = yaml_get(node, "set"), *halve = yaml_get(node, "halve");

    line->experiment = take(reader, one->experiment, line->experiment);
    line->node = one->experiment == NULL ? line->node : node;
    line->measure = one->measure == UNSET ? line->measure : (ServingMeasure)one->measure;
    line->rule = one->plan == UNSET ? line->rule : one->plan == 1;
    line->halve = halve == NULL ? line->halve : halve;
    line->cell.marks |= one->mark == UNSET ? 0 : 1u << one->mark;
    line->cell.note = take(reader, one->reason, line->cell.note);
    for (guint i = 0; set != NULL && i < set->values->len; i++)
        g_ptr_array_add(line->set,
                        g_strdup(((const YamlNode *)g_ptr_array_index(set->values, i))->text));
}

static gboolean take_case(Reader *reader, YamlNode *node, GError **error) {
    g_auto(Case) one = {.measure = UNSET, .plan = UNSET, .mark = UNSET};
    guint n = 0;

    if (!read_case(node, &one, error))
        return FALSE;
    for (guint i = 0; i < reader->spec->lines->len; i++) {
        ServingLine *line = &g_array_index(reader->spec->lines, ServingLine, i);
        g_autofree char *name = name_of(reader, line->line);
        if (!g_pattern_match_simple(one.cells, name))
            continue;
        apply_case(reader, node, &one, line);
        n++;
    }
    return n > 0 || yaml_error(yaml_get(node, "cells"), INPUT_ERROR_VALUE, error,
                               "no line of the reference data is '%s'", one.cells);
}

static gboolean take_cases(Reader *reader, GError **error) {
    GArray *lines = reader->spec->lines;
    const YamlNode *cases = yaml_get(reader->spec->root, "cases");

    if (cases == NULL)
        return yaml_error(reader->spec->root, INPUT_ERROR_MISSING, error, "missing key 'cases'");
    if (!yaml_expect(cases, YAML_SEQUENCE, "a list of cases", error))
        return FALSE;
    for (guint i = 0; i < cases->values->len; i++)
        if (!take_case(reader, g_ptr_array_index(cases->values, i), error))
            return FALSE;
    for (guint i = lines->len; i > 0; i--)
        if (g_array_index(lines, ServingLine, i - 1).experiment == NULL)
            g_array_remove_index(lines, i - 1);
    return lines->len > 0 ||
           yaml_error(cases, INPUT_ERROR_VALUE, error, "none of the cases names an 'experiment'");
}

ServingSpec *serving_spec_load(const char *name, const ReferenceTable *reference,
                               Reproduction *reproduction, GError **error) {
    g_autofree char *path = data_file_find(name, NULL, "reference");
    g_autoptr(ServingSpec) spec = g_new0(ServingSpec, 1);
    Reader reader = {spec, reference, reproduction};

    spec->keys = g_ptr_array_new();
    spec->lines = g_array_new(FALSE, FALSE, sizeof(ServingLine));
    g_array_set_clear_func(spec->lines, line_clear);
    if (path == NULL) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING,
                    "infergrid reproduce: no file '%s' among the reference data", name);
        return NULL;
    }
    spec->root = yaml_load_file(path, error);
    if (spec->root == NULL || !read_root(&reader, error) || !list_lines(&reader, error) ||
        !check_labels(&reader, error) || !take_cases(&reader, error))
        return NULL;
    reproduction->margin = spec->margin;
    return g_steal_pointer(&spec);
}
