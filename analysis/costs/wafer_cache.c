#include "analysis/costs/wafer_cache.h"

#include "analysis/costs/cost_fill.h"
#include <string.h>

#define PROGRAM "/proc/self/exe"
#define SUM_LENGTH 64 /* hexadecimal digits of SHA-256 */

static char *checksum_of_file(const char *path) {
    g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, NULL);
    g_autoptr(GBytes) bytes = file != NULL ? g_mapped_file_get_bytes(file) : NULL;

    return bytes != NULL ? g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, bytes) : NULL;
}

static void append_number(GString *text, double number) {
    char digits[G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append_c(text, ' ');
    g_string_append(text, g_ascii_dtostr(digits, sizeof digits, number));
}

/* All that cycles depend on besides a job. NULL where the program cannot be read. */
static char *identity_of(const MeshSpec *spec) {
    g_autofree char *program = checksum_of_file(PROGRAM);
    const double numbers[] = {
        (double)spec->columns,    (double)spec->rows,       spec->clock_hz,
        spec->sram_bytes,         spec->usable_bytes,       (double)spec->wavelet_bytes,
        spec->hop_cycles,         spec->relay_cycles,       spec->ramp_cycles,
        spec->issue_cycles,       (double)spec->fp16.lanes, spec->fp16.cycles,
        (double)spec->fp32.lanes, spec->fp32.cycles,        (double)spec->routing_paths,
        spec->step_cycles,        spec->layer_cycles};

    if (program == NULL)
        return NULL;
    GString *text = g_string_new(program);
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
        append_number(text, numbers[i]);
    return g_string_free(text, FALSE);
}

char *wafer_cache_path(const MeshSpec *spec) {
    g_autofree char *folder = cost_fill_folder();
    g_autofree char *identity = folder != NULL ? identity_of(spec) : NULL;

    if (identity == NULL)
        return NULL;
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, identity, -1);
    g_autofree char *name = g_strdup_printf("wafer-%.32s.txt", sum);
    return g_build_filename(folder, name, NULL);
}

/* "w0 … w15 fixed each" */
static gboolean parse_line(const char *line, WaferJobKey *key, WaferJobCycles *cycles) {
    char *end = (char *)line;

    for (guint i = 0; i < WAFER_JOB_WORDS; i++) {
        const char *start = end;
        key->words[i] = g_ascii_strtoull(start, &end, 16);
        if (end == start || *end != ' ')
            return FALSE;
    }
    cycles->fixed = g_ascii_strtod(end, &end);
    if (*end != ' ')
        return FALSE;
    cycles->each = g_ascii_strtod(end, &end);
    return *end == '\0';
}

/* The lines of a whole file, its last one being the checksum of those before; or NULL. */
static char **whole_lines(const char *path) {
    g_autofree char *text = NULL;
    gsize length;

    if (!g_file_get_contents(path, &text, &length, NULL) || length < SUM_LENGTH + 1)
        return NULL;
    gsize body = length - SUM_LENGTH - 1;
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, (gssize)body);
    if (strncmp(text + body, sum, SUM_LENGTH) != 0)
        return NULL;
    text[body] = '\0';
    return g_strsplit(text, "\n", -1);
}

void wafer_cache_read(const char *path, GHashTable *known) {
    g_auto(GStrv) lines = whole_lines(path);
    WaferJobKey key;
    WaferJobCycles cycles;

    for (guint i = 0; lines != NULL && lines[i] != NULL; i++)
        if (parse_line(lines[i], &key, &cycles) && !g_hash_table_contains(known, &key))
            g_hash_table_insert(known, g_memdup2(&key, sizeof key),
                                g_memdup2(&cycles, sizeof cycles));
}

static char *line_of(const WaferJobKey *key, const WaferJobCycles *cycles) {
    GString *line = g_string_new(NULL);

    for (guint i = 0; i < WAFER_JOB_WORDS; i++)
        g_string_append_printf(line, "%s%" G_GINT64_MODIFIER "x", i > 0 ? " " : "", key->words[i]);
    append_number(line, cycles->fixed);
    append_number(line, cycles->each);
    g_string_append_c(line, '\n');
    return g_string_free(line, FALSE);
}

static int compare_lines(gconstpointer a, gconstpointer b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *text_of(GHashTable *known) {
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    GString *text = g_string_new(NULL);
    GHashTableIter iter;
    gpointer key, cycles;

    g_hash_table_iter_init(&iter, known);
    while (g_hash_table_iter_next(&iter, &key, &cycles))
        g_ptr_array_add(lines, line_of(key, cycles));
    g_ptr_array_sort(lines, compare_lines);
    for (guint i = 0; i < lines->len; i++)
        g_string_append(text, lines->pdata[i]);
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text->str, -1);
    g_string_append_printf(text, "%s\n", sum);
    return g_string_free(text, FALSE);
}

void wafer_cache_write(const char *path, GHashTable *known) {
    g_autofree char *folder = g_path_get_dirname(path);

    wafer_cache_read(path, known);
    g_autofree char *text = text_of(known);
    if (g_mkdir_with_parents(folder, 0777) == 0)
        g_file_set_contents(path, text, -1, NULL);
}
