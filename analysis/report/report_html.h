/* The file of a report: the template with style, chart library, script and data put into it. They
 * are part of the program where it was built with reports. */
#ifndef ANALYSIS_REPORT_HTML_H
#define ANALYSIS_REPORT_HTML_H

#include <glib.h>

gboolean report_html_built(void);

/* Writes a page that needs no other file and no network. 'data' is JSON; both texts may hold
 * anything, also what would end a script. The file appears whole or not at all. */
gboolean report_html_write(const char *path, const char *title, const char *data, GError **error);

#endif
