#include "analysis/commands/timeline_options.h"

#include "analysis/operators/sweep.h"
#include "workloads/input_error.h"
#include "workloads/units.h"
#include <math.h>
#include <string.h>

static gboolean windowed(const TimelineSettings *settings) {
    return settings->window.to_s > 0;
}

/* The index of 'word' in 'names', 'otherwise' for NULL; −1 and an error. */
static int choice(const char *word, const char *const *names, int otherwise, const char *option,
                  GError **error) {
    g_autofree char *shown = g_strdup_printf("--%s", option);
    return word == NULL ? otherwise : sweep_choose(shown, option, word, names, error);
}

static int theme_of(const TimelineSettings *settings, GError **error) {
    return choice(settings->theme, gantt_theme_names, GANTT_COLOUR, "theme", error);
}

static int width_of(const TimelineSettings *settings, GError **error) {
    return choice(settings->width, gantt_width_names, GANTT_PAGE, "width", error);
}

static gboolean has_figure(const TimelineSettings *settings) {
    for (char **file = settings->files; file != NULL && *file != NULL; file++)
        if (timeline_files_is_figure(*file))
            return TRUE;
    return FALSE;
}

static gboolean figure_is_right(const TimelineSettings *settings, const char *who, GError **error) {
    const char *given = settings->theme != NULL   ? "theme"
                        : settings->width != NULL ? "width"
                                                  : NULL;
    if (given != NULL && !has_figure(settings)) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "%s: option '--%s' needs '--timeline' with a .pdf or .svg file", who, given);
        return FALSE;
    }
    return theme_of(settings, error) >= 0 && width_of(settings, error) >= 0;
}

static gboolean files_are_right(char *const *files, const char *who, GError **error) {
    for (gsize i = 0; files != NULL && files[i] != NULL; i++) {
        if (!timeline_files_check(files[i], error))
            return FALSE;
        g_autofree char *path = g_canonicalize_filename(files[i], NULL);
        for (gsize j = 0; j < i; j++) {
            g_autofree char *other = g_canonicalize_filename(files[j], NULL);
            if (strcmp(path, other) != 0)
                continue;
            g_set_error(error, INPUT_ERROR, INPUT_ERROR_DUPLICATE,
                        "%s: option '--timeline' names '%s' twice", who, files[i]);
            return FALSE;
        }
    }
    return TRUE;
}

/* A folder of results is new and takes its name last. */
static gboolean files_are_outside(char *const *files, const char *folder, GError **error) {
    if (files == NULL || folder == NULL)
        return TRUE;
    g_autofree char *root = g_canonicalize_filename(folder, NULL);
    g_autofree char *within = g_strconcat(root, G_DIR_SEPARATOR_S, NULL);
    for (; *files != NULL; files++) {
        g_autofree char *path = g_canonicalize_filename(*files, NULL);
        if (!g_str_has_prefix(path, within))
            continue;
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "--timeline: '%s' lies in the folder of '--output', which holds results alone",
                    *files);
        return FALSE;
    }
    return TRUE;
}

gboolean timeline_settings_check(const TimelineSettings *settings, const char *who,
                                 const char *option, gboolean elsewhere, const char *folder,
                                 GError **error) {
    const struct {
        gboolean given;
        const char *name;
    } parts[] = {{windowed(settings), "window"}, {settings->lanes != NULL, "lanes"}};

    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
        if (!parts[i].given || settings->files != NULL || elsewhere)
            continue;
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "%s: option '--%s' needs '--timeline' or '--%s'", who, parts[i].name, option);
        return FALSE;
    }
    return files_are_right(settings->files, who, error) &&
           files_are_outside(settings->files, folder, error) &&
           figure_is_right(settings, who, error);
}

TraceWindow timeline_settings_window(const TimelineSettings *settings) {
    return trace_window(settings->window.from_s,
                        windowed(settings) ? settings->window.to_s : INFINITY);
}

TraceSink *timeline_settings_open(const TimelineSettings *settings, gboolean force,
                                  const char *within, const char *const *caption, GError **error) {
    TraceWindow window = timeline_settings_window(settings);
    GanttOptions figure = {.from_ns = window.from_ns,
                           .to_ns = window.to_ns,
                           .theme = (GanttTheme)theme_of(settings, NULL),
                           .width = (GanttWidth)width_of(settings, NULL),
                           .caption = caption};
    return timeline_files_new(&(TimelineFilesSetup){.paths = (const char *const *)settings->files,
                                                    .force = force,
                                                    .within = within,
                                                    .lanes = (const char *const *)settings->lanes,
                                                    .windowed = windowed(settings),
                                                    .figure = figure},
                              error);
}

#define CAPTION_LINES 5

char **timeline_caption_of_table(const char *table) {
    char **lines = g_strsplit(table, "\n", CAPTION_LINES + 1);

    for (guint i = 0; lines[i] != NULL; i++) {
        g_autoptr(GRegex) blanks = g_regex_new(" {2,}", 0, 0, NULL);
        char *squeezed = g_regex_replace_literal(blanks, g_strstrip(lines[i]), -1, 0, " ", 0, NULL);
        g_free(lines[i]);
        lines[i] = squeezed;
    }
    if (g_strv_length(lines) > CAPTION_LINES)
        g_clear_pointer(&lines[CAPTION_LINES], g_free);
    return lines;
}

gboolean timeline_settings_cover(const TimelineSettings *settings, double end_s, GError **error) {
    if (settings->window.from_s <= end_s)
        return TRUE;
    g_autofree char *from = units_format_brief(settings->window.from_s, DIMENSION_SECONDS);
    g_autofree char *end = units_format_brief(end_s, DIMENSION_SECONDS);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "--window: it begins at %s, after the end at %s", from, end);
    return FALSE;
}
