#include "analysis/commands/timeline_options.h"

#include "workloads/input_error.h"
#include "workloads/units.h"
#include <math.h>
#include <string.h>

static gboolean windowed(const TimelineSettings *settings) {
    return settings->window.to_s > 0;
}

static gboolean files_are_right(char *const *files, const char *who, GError **error) {
    for (gsize i = 0; files != NULL && files[i] != NULL; i++) {
        if (!timeline_files_check(files[i], error))
            return FALSE;
        for (gsize j = 0; j < i; j++) {
            if (strcmp(files[i], files[j]) != 0)
                continue;
            g_set_error(error, INPUT_ERROR, INPUT_ERROR_DUPLICATE,
                        "%s: option '--timeline' names '%s' twice", who, files[i]);
            return FALSE;
        }
    }
    return TRUE;
}

gboolean timeline_settings_check(const TimelineSettings *settings, const char *who,
                                 const char *option, gboolean elsewhere, GError **error) {
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
    return files_are_right(settings->files, who, error);
}

TraceWindow timeline_settings_window(const TimelineSettings *settings) {
    return trace_window(settings->window.from_s,
                        windowed(settings) ? settings->window.to_s : INFINITY);
}

TraceSink *timeline_settings_open(const TimelineSettings *settings, gboolean force,
                                  const char *within, GError **error) {
    return timeline_files_new(&(TimelineFilesSetup){.paths = (const char *const *)settings->files,
                                                    .force = force,
                                                    .within = within,
                                                    .lanes = (const char *const *)settings->lanes,
                                                    .windowed = windowed(settings)},
                              error);
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
