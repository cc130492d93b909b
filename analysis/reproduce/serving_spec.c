#include "analysis/reproduce/serving_spec.h"

#include "workloads/experiment_file.h"
#include <math.h>
#include <string.h>

static const char *const measure_names[] = {"throughput", "decode_rate", "prompt_rate",
                                            "output_rate"};
static const char *const plan_names[] = {"own", "rule"};
static const char *const mark_names[] = {"calibrated", "unexplained", "contradicted"};

/* --- the file's tables */

#define SPEC_FIELD(member) .offset = G_STRUCT_OFFSET(ServingSpec, member)
static const YamlField spec_fields[] = {
    {.key = "figure", .kind = YAML_FIELD_STRING, SPEC_FIELD(figure)},
    {.key = "unit", .kind = YAML_FIELD_STRING, SPEC_FIELD(unit)},
    {.key = "margin", .kind = YAML_FIELD_REAL, SPEC_FIELD(margin), .fallback = "0", .max = 10},
    {.key = "series", .kind = YAML_FIELD_STRING, SPEC_FIELD(series)},
    {.key = "row", .kind = YAML_FIELD_STRING, SPEC_FIELD(row)},
};

typedef struct Case {
    char *experiment, *label;
    guint measure, plan;
} Case;
#define CASE_FIELD(member) .offset = G_STRUCT_OFFSET(Case, member), .fallback = YAML_OPTIONAL
static const YamlField case_fields[] = {
    {.key = "experiment", .kind = YAML_FIELD_STRING, CASE_FIELD(experiment)},
    {.key = "label", .kind = YAML_FIELD_STRING, CASE_FIELD(label)},
    {.key = "measure",
     .kind = YAML_FIELD_ENUM,
     CASE_FIELD(measure),
     .names = YAML_ENUM_OF(measure_names)},
    {.key = "plan", .kind = YAML_FIELD_ENUM, CASE_FIELD(plan), .names = YAML_ENUM_OF(plan_names)},
};

typedef struct Mark {
    char *cells, *reason;
    guint mark;
} Mark;
#define MARK_FIELD(member) .offset = G_STRUCT_OFFSET(Mark, member)
static const YamlField mark_fields[] = {
    {.key = "cells", .kind = YAML_FIELD_STRING, MARK_FIELD(cells)},
    {.key = "reason", .kind = YAML_FIELD_STRING, MARK_FIELD(reason), .fallback = YAML_OPTIONAL},
    {.key = "mark", .kind = YAML_FIELD_ENUM, MARK_FIELD(mark), .names = YAML_ENUM_OF(mark_names)},
};

static void case_clear(Case *one) {
    yaml_fields_clear(case_fields, G_N_ELEMENTS(case_fields), one);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Case, case_clear)

static void mark_clear(Mark *mark) {
    yaml_fields_clear(mark_fields, G_N_ELEMENTS(mark_fields), mark);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Mark, mark_clear)

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

/* --- reading */

typedef struct Reader {
    ServingSpec *spec;
    const ReferenceTable *reference;
    Reproduction *reproduction;
    const YamlNode *columns, *cases, *marks; /* beside the fields; NULL: there is none */
} Reader;

static gboolean check_version(YamlNode *root, GError **error) {
    const YamlNode *version = yaml_get(root, "version");

    if (version == NULL)
        return yaml_error(root, INPUT_ERROR_MISSING, error, "missing key 'version'");
    if (g_strcmp0(version->text, "1") != 0)
        return yaml_error(version, INPUT_ERROR_VALUE, error, "'version' must be 1");
    yaml_remove(root, "version");
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
    if (reader->columns == NULL)
        return TRUE;
    if (!yaml_expect(reader->columns, YAML_SEQUENCE, "a list of columns", error))
        return FALSE;
    for (guint i = 0; i < reader->columns->values->len; i++) {
        const YamlNode *node = g_ptr_array_index(reader->columns->values, i);
        if (!yaml_expect(node, YAML_SCALAR, "a column", error) ||
            !check_column(reader, node, error))
            return FALSE;
        g_ptr_array_add(reader->spec->keys, node->text);
    }
    return TRUE;
}

/* Whether lines of the reference have the values that cases are of. */
static gboolean check_values(const Reader *reader, const char *column, const YamlNode *values,
                             GError **error) {
    g_autoptr(GPtrArray) words = g_ptr_array_new();

    if (!yaml_expect(values, YAML_MAPPING, NULL, error))
        return FALSE;
    for (guint i = 0; i < reference_table_rows(reader->reference); i++)
        g_ptr_array_add(words, (gpointer)reference_table_text(reader->reference, i, column, NULL));
    for (guint i = 0; i < values->keys->len; i++) {
        const YamlNode *key = g_ptr_array_index(values->keys, i);
        if (g_ptr_array_find_with_equal_func(words, key->text, g_str_equal, NULL))
            continue;
        g_autofree char *hint =
            near_miss_hint(key->text, (const char *const *)words->pdata, words->len);
        return yaml_error(key, INPUT_ERROR_UNKNOWN, error,
                          "no line of the reference data has '%s' under '%s'%s", key->text, column,
                          hint);
    }
    return TRUE;
}

/* Cases are of the columns that tell lines apart. */
static gboolean check_cases(const Reader *reader, GError **error) {
    GPtrArray *keys = reader->spec->keys;

    for (guint i = 0; i < reader->cases->keys->len; i++) {
        const YamlNode *key = g_ptr_array_index(reader->cases->keys, i);
        g_autofree char *hint =
            near_miss_hint(key->text, (const char *const *)keys->pdata, keys->len);
        if (!g_ptr_array_find_with_equal_func(keys, key->text, g_str_equal, NULL))
            return yaml_error(key, INPUT_ERROR_UNKNOWN, error,
                              "'%s' is not among the columns that tell lines apart%s", key->text,
                              hint);
        if (!check_values(reader, key->text, g_ptr_array_index(reader->cases->values, i), error))
            return FALSE;
    }
    return TRUE;
}

static gboolean check_names(const Reader *reader, GError **error) {
    static const char *const named[] = {"figure", "series", "row"};

    for (gsize i = 0; i < G_N_ELEMENTS(named); i++)
        if (!check_column(reader, yaml_get(reader->spec->root, named[i]), error))
            return FALSE;
    return check_cases(reader, error);
}

/* The fields by their table; what is no field is set aside meanwhile. */
static gboolean read_fields(ServingSpec *spec, GError **error) {
    static const char *const beside[] = {"columns", "cases", "marks"};
    YamlNode *nodes[G_N_ELEMENTS(beside)];

    for (gsize i = 0; i < G_N_ELEMENTS(beside); i++)
        nodes[i] = yaml_steal(spec->root, beside[i]);
    gboolean read =
        yaml_read_fields(spec->root, spec_fields, G_N_ELEMENTS(spec_fields), spec, error);
    for (gsize i = 0; i < G_N_ELEMENTS(beside); i++)
        if (nodes[i] != NULL)
            yaml_put(spec->root, beside[i], nodes[i]);
    return read;
}

static gboolean read_root(Reader *reader, GError **error) {
    ServingSpec *spec = reader->spec;

    if (!yaml_expect(spec->root, YAML_MAPPING, "a table of experiments", error) ||
        !check_version(spec->root, error) || !read_fields(spec, error))
        return FALSE;
    reader->columns = yaml_get(spec->root, "columns");
    reader->cases = yaml_get(spec->root, "cases");
    reader->marks = yaml_get(spec->root, "marks");
    if (reader->cases == NULL)
        return yaml_error(spec->root, INPUT_ERROR_MISSING, error, "missing key 'cases'");
    g_ptr_array_add(spec->keys, spec->series);
    g_ptr_array_add(spec->keys, spec->row);
    return yaml_expect(reader->cases, YAML_MAPPING, NULL, error) && read_columns(reader, error) &&
           check_names(reader, error);
}

/* --- a line */

/* A list of texts; NULL is one too. */
static gboolean check_list(const YamlNode *list, const char *what, GError **error) {
    if (list != NULL && !yaml_expect(list, YAML_SEQUENCE, what, error))
        return FALSE;
    for (guint i = 0; list != NULL && i < list->values->len; i++)
        if (!yaml_expect(g_ptr_array_index(list->values, i), YAML_SCALAR, NULL, error))
            return FALSE;
    return TRUE;
}

static gboolean read_settings(const YamlNode *list, ServingLine *line, GError **error) {
    if (!check_list(list, "a list of settings", error))
        return FALSE;
    for (guint i = 0; list != NULL && i < list->values->len; i++) {
        const YamlNode *node = g_ptr_array_index(list->values, i);
        if (strchr(node->text, '=') == NULL)
            return yaml_error(node, INPUT_ERROR_VALUE, error, "expected KEY=VALUE, not '%s'",
                              node->text);
        g_ptr_array_add(line->set, g_strdup(node->text));
    }
    return TRUE;
}

/* A text of the case, kept with the reproduction, or what there was. */
static const char *take(Reader *reader, const char *text, const char *before) {
    return text == NULL ? before : reproduction_text(reader->reproduction, "%s", text);
}

/* Adds what a value stands for to its line. */
static gboolean read_case(Reader *reader, YamlNode *node, ServingLine *line, const char **label,
                          GError **error) {
    g_auto(Case) one = {.measure = MEASURE_UNSET, .plan = MEASURE_UNSET};

    if (!yaml_expect(node, YAML_MAPPING, NULL, error))
        return FALSE;
    YamlNode *set = yaml_steal(node, "set"), *halve = yaml_steal(node, "halve");
    gboolean read = yaml_read_fields(node, case_fields, G_N_ELEMENTS(case_fields), &one, error) &&
                    read_settings(set, line, error) &&
                    check_list(halve, "a list of settings", error);
    if (set != NULL)
        yaml_put(node, "set", set);
    if (halve != NULL)
        yaml_put(node, "halve", halve);
    line->halve = halve == NULL ? line->halve : halve;
    line->experiment = take(reader, one.experiment, line->experiment);
    *label = take(reader, one.label, *label);
    if (one.measure != MEASURE_UNSET)
        line->measure = (ServingMeasure)one.measure;
    if (one.plan != MEASURE_UNSET)
        line->rule = one.plan == 1;
    return read;
}

/* The case of a value; NULL where there is none. */
static YamlNode *case_of(const Reader *reader, const char *key, const char *value) {
    const YamlNode *values = yaml_get(reader->cases, key);

    return values == NULL || values->type != YAML_MAPPING ? NULL : yaml_get(values, value);
}

static gboolean read_published(Reader *reader, ServingLine *line, GError **error) {
    const char *figure = reader->spec->figure;
    const char *word = reference_table_text(reader->reference, line->line, figure, error);

    line->cell.published = line->cell.simulated = NAN;
    line->cell.published_oom = g_strcmp0(word, "OOM") == 0;
    return word != NULL && (line->cell.published_oom ||
                            reference_table_number(reader->reference, line->line, figure,
                                                   &line->cell.published, error));
}

/* Reads the cases of a line's values; they name the cell too. */
static gboolean read_line(Reader *reader, ServingLine *line, GError **error) {
    const GPtrArray *keys = reader->spec->keys;
    g_autoptr(GString) column = g_string_new(NULL);

    for (guint i = 0; i < keys->len; i++) {
        const char *key = g_ptr_array_index(keys, i);
        const char *value = reference_table_text(reader->reference, line->line, key, error);
        YamlNode *node = value == NULL ? NULL : case_of(reader, key, value);
        const char *label = value;
        if (value == NULL)
            return FALSE;
        if (node == NULL)
            return yaml_error(line->node, INPUT_ERROR_MISSING, error,
                              "there is no case for '%s' of column '%s'", value, key);
        if (!read_case(reader, node, line, &label, error))
            return FALSE;
        label = reproduction_text(reader->reproduction, "%s", label);
        if (i == 0)
            line->cell.series = label;
        else if (i == 1)
            line->cell.row = label;
        else
            g_string_append_printf(column, "%s%s", column->len == 0 ? "" : ", ", label);
    }
    line->cell.column = reproduction_text(reader->reproduction, "%s", column->str);
    line->cell.unit = reproduction_text(reader->reproduction, "%s", reader->spec->unit);
    if (line->experiment == NULL)
        return yaml_error(line->node, INPUT_ERROR_MISSING, error,
                          "none of the cases of '%s %s' names an 'experiment'", line->cell.series,
                          line->cell.row);
    return read_published(reader, line, error);
}

static gboolean read_lines(Reader *reader, GError **error) {
    for (guint i = 0; i < reference_table_rows(reader->reference); i++) {
        const char *series =
            reference_table_text(reader->reference, i, reader->spec->series, error);
        const YamlNode *node =
            series == NULL ? NULL : case_of(reader, reader->spec->series, series);
        if (series == NULL)
            return FALSE;
        if (node == NULL)
            continue;
        ServingLine line = {.line = i, .node = node, .set = g_ptr_array_new_with_free_func(g_free)};
        gboolean read = read_line(reader, &line, error);
        g_array_append_val(reader->spec->lines, line);
        if (!read)
            return FALSE;
    }
    if (reader->spec->lines->len > 0)
        return TRUE;
    return yaml_error(reader->cases, INPUT_ERROR_VALUE, error,
                      "no line of the reference data has one of these cases");
}

/* --- marks */

static gboolean mark_lines(Reader *reader, const YamlNode *node, const Mark *mark, GError **error) {
    guint marked = 0;

    for (guint i = 0; i < reader->spec->lines->len; i++) {
        ServingLine *line = &g_array_index(reader->spec->lines, ServingLine, i);
        g_autoptr(GPtrArray) words = g_ptr_array_new();
        for (guint j = 0; j < reader->spec->keys->len; j++)
            g_ptr_array_add(words, (gpointer)reference_table_text(
                                       reader->reference, line->line,
                                       g_ptr_array_index(reader->spec->keys, j), NULL));
        g_ptr_array_add(words, NULL);
        g_autofree char *name = g_strjoinv(" ", (char **)words->pdata);
        if (!g_pattern_match_simple(mark->cells, name))
            continue;
        marked++;
        line->cell.marks |= 1u << mark->mark;
        line->cell.note = take(reader, mark->reason, line->cell.note);
    }
    return marked > 0 || yaml_error(node, INPUT_ERROR_VALUE, error,
                                    "no line of the reference data is '%s'", mark->cells);
}

static gboolean read_marks(Reader *reader, GError **error) {
    if (reader->marks == NULL)
        return TRUE;
    if (!yaml_expect(reader->marks, YAML_SEQUENCE, "a list of marks", error))
        return FALSE;
    for (guint i = 0; i < reader->marks->values->len; i++) {
        const YamlNode *node = g_ptr_array_index(reader->marks->values, i);
        g_auto(Mark) mark = {0};
        if (!yaml_expect(node, YAML_MAPPING, NULL, error) ||
            !yaml_read_fields(node, mark_fields, G_N_ELEMENTS(mark_fields), &mark, error))
            return FALSE;
        if ((1u << mark.mark) != CELL_CALIBRATED && mark.reason == NULL)
            return yaml_error(node, INPUT_ERROR_MISSING, error, "missing key 'reason'");
        if (!mark_lines(reader, yaml_get(node, "cells"), &mark, error))
            return FALSE;
    }
    return TRUE;
}

ServingSpec *serving_spec_load(const char *name, const ReferenceTable *reference,
                               Reproduction *reproduction, GError **error) {
    g_autofree char *path = data_file_find(name, NULL, "reference");
    g_autoptr(ServingSpec) spec = g_new0(ServingSpec, 1);
    Reader reader = {spec, reference, reproduction, NULL, NULL, NULL};

    spec->keys = g_ptr_array_new();
    spec->lines = g_array_new(FALSE, FALSE, sizeof(ServingLine));
    g_array_set_clear_func(spec->lines, line_clear);
    if (path == NULL) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING,
                    "infergrid reproduce: no file '%s' among the reference data", name);
        return NULL;
    }
    spec->root = yaml_load_file(path, error);
    if (spec->root == NULL || !read_root(&reader, error) || !read_lines(&reader, error) ||
        !read_marks(&reader, error))
        return NULL;
    reproduction->margin = spec->margin;
    return g_steal_pointer(&spec);
}
