/* The text beside a figure: what it shows of which experiment, and how it was made. */
#ifndef ANALYSIS_GANTT_CAPTION_H
#define ANALYSIS_GANTT_CAPTION_H

#include "analysis/timeline/gantt_draw.h"

/* Of a figure that has been drawn. Caller frees. */
char *gantt_caption(const GanttFigure *figure);

#endif
