/* The values and differences of a comparison as people read them; callers free. */
#ifndef ANALYSIS_COMPARE_TEXT_H
#define ANALYSIS_COMPARE_TEXT_H

#include "analysis/compare/comparison.h"

/* "9.384 s", without the units of rates; "-" where the folder's file has none, "absent" where it
 * does not know the figure. */
char *compared_figure_text(const ComparedFigure *figure, guint at);
/* "+4.104 s"; of shares in percentage points, "+1.2 pp". "-": there is none. */
char *compared_figure_delta_text(const ComparedFigure *figure, guint at);

/* "+77.7 %"; NaN is "-". */
char *compare_text_percent(double percent);
/* "-18.88 ms"; NaN is "-". */
char *compare_text_seconds(double seconds);

/* Something other than 0 and nothing stands there. */
gboolean compared_figure_is_shown(const ComparedFigure *figure);

#endif
