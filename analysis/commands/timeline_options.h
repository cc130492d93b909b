/* The options of commands that draw a timeline: which files, which part of it, which lanes. */
#ifndef ANALYSIS_COMMANDS_TIMELINE_OPTIONS_H
#define ANALYSIS_COMMANDS_TIMELINE_OPTIONS_H

#include "analysis/options.h"
#include "analysis/timeline/timeline_files.h"

typedef struct TimelineSettings {
    char **files;
    TimeWindow window;
    char **lanes;
    char *theme, *width; /* of figures */
} TimelineSettings;

/* Their rows of a table, for a struct 'Type' that has them as a member. */
#define TIMELINE_OPTION_ROW(Type, member, field) G_STRUCT_OFFSET(Type, member.field)
#define TIMELINE_OPTIONS(Type, member)                                                             \
    {"timeline",                                                                                   \
     0,                                                                                            \
     OPTION_TEXTS,                                                                                 \
     TIMELINE_OPTION_ROW(Type, member, files),                                                     \
     "FILE",                                                                                       \
     "none",                                                                                       \
     "write a timeline in the format that its suffix says: .json or .json.gz (Chrome's trace "     \
     "events, for Perfetto), .paje (for ViTE and pj_dump), .pdf or .svg (a figure for print, its " \
     "caption beside it in .txt); may stand more than once"},                                      \
        {"window",                                                                                 \
         0,                                                                                        \
         OPTION_WINDOW,                                                                            \
         TIMELINE_OPTION_ROW(Type, member, window),                                                \
         "A:B",                                                                                    \
         "the whole run",                                                                          \
         "timelines: keep only what touches this window of simulated time, such as '10 s:2 min' "  \
         "or 10:120 in seconds; either side may be left out"},                                     \
        {"theme",                                                                                  \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         TIMELINE_OPTION_ROW(Type, member, theme),                                                 \
         "THEME",                                                                                  \
         "colour",                                                                                 \
         "figures: colour, which survives colour blindness and greyscale prints, grey, hatch "     \
         "(patterns) or dark"},                                                                    \
        {"width",                                                                                  \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         TIMELINE_OPTION_ROW(Type, member, width),                                                 \
         "WIDTH",                                                                                  \
         "page",                                                                                   \
         "figures: as wide as a column (88 mm) or a page (180 mm)"},                               \
    {                                                                                              \
        "lanes", 0, OPTION_TEXTS, TIMELINE_OPTION_ROW(Type, member, lanes), "PATTERN",             \
            "all lanes",                                                                           \
            "timelines: keep only lanes whose name matches, from one of its words on, such as "    \
            "'decode*', 'network*' or 'kv_pull 0'; may stand more than once"                       \
    }

/* 'elsewhere': a timeline is drawn without --timeline, too, by 'option' ("trace"). 'who' is
 * "infergrid simulate", 'folder' that of --output or NULL. FALSE and an INPUT_ERROR for files of no
 * known format, named twice or in the folder, and for a window or lanes of nothing. */
gboolean timeline_settings_check(const TimelineSettings *settings, const char *who,
                                 const char *option, gboolean elsewhere, const char *folder,
                                 GError **error);

TraceWindow timeline_settings_window(const TimelineSettings *settings);

/* A sink for the settings' files and, where 'within' is given, one more in a folder of results.
 * 'caption': lines about what is simulated, ended by NULL, for figures. */
TraceSink *timeline_settings_open(const TimelineSettings *settings, gboolean force,
                                  const char *within, const char *const *caption, GError **error);

/* The first lines of an operator's table, blanks squeezed, as such a caption. Caller frees. */
char **timeline_caption_of_table(const char *table);

/* FALSE and an INPUT_ERROR when the window begins after the end of the run. */
gboolean timeline_settings_cover(const TimelineSettings *settings, double end_s, GError **error);

#endif
