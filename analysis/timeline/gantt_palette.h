/* What slices are called and how they look: one table from the names that timelines emit to legend
 * and tone, so that a decode step has the same colour in every figure. Tones are ordered by
 * lightness, at least seven steps of CIE L* apart, so that they survive a greyscale print, and for
 * eyes without one kind of cone any two are at least 20 apart in CIE L*a*b* (but in the dark
 * theme). Hues are near those of Okabe and Ito, "Color Universal Design" (2008). */
#ifndef ANALYSIS_GANTT_PALETTE_H
#define ANALYSIS_GANTT_PALETTE_H

#include <glib.h>

typedef enum { GANTT_COLOUR, GANTT_GREY, GANTT_HATCH, GANTT_DARK, N_GANTT_THEMES } GanttTheme;
extern const char *const gantt_theme_names[N_GANTT_THEMES + 1]; /* NULL at the end */

/* From dark to light. */
typedef enum {
    TONE_INK,
    TONE_PLUM,
    TONE_GREEN,
    TONE_BLUE,
    TONE_ROSE,
    TONE_TEAL,
    TONE_ORANGE,
    TONE_YELLOW,
    TONE_PALE,
    N_TONES
} GanttTone;

typedef struct GanttRgb {
    double red, green, blue; /* sRGB, 0 to 1 */
} GanttRgb;

/* A kind of slice: its index is the order in the legend and, from below, in stacks. */
typedef struct GanttKind {
    const char *name; /* of slices */
    const char *legend;
    GanttTone tone;
    enum {
        GANTT_PLAIN,
        GANTT_LABELLED, /* by its name where there is room */
        GANTT_TRAFFIC,  /* transfers that overlap: what lane they stand in says nothing */
    } style;
} GanttKind;
#define GANTT_KINDS_MAX 32

guint gantt_kinds(void); /* how many there are */
const GanttKind *gantt_kind(guint kind);
/* Names that are not in the table are computing or, where they move bytes, transfers. */
guint gantt_kind_of(const char *name, gboolean moves_bytes);

GanttRgb gantt_tone_rgb(GanttTone tone, GanttTheme theme);
/* CIE 1976 lightness L* of a colour under D65, 0 (black) to 100 (white). */
double gantt_lightness(GanttRgb colour);
GanttRgb gantt_paper(GanttTheme theme);
GanttRgb gantt_ink(GanttTheme theme); /* of texts and lines */

#endif
