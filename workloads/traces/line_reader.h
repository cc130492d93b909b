/* A text file read line by line in constant memory, with the place for error messages. Line ends
 * are LF or CRLF, the last one may be missing, and a UTF-8 byte order mark is passed over. */
#ifndef WORKLOADS_TRACES_LINE_READER_H
#define WORKLOADS_TRACES_LINE_READER_H

#include "workloads/input_error.h"

#define LINE_READER_MAX_BYTES (16u << 20) /* a longer line is an error, not a reason to swell */

typedef struct LineReader {
    const char *text; /* the current line without its end, NUL-terminated; valid until the next */
    gsize length;     /* its bytes */
    guint64 number;   /* from 1 */
    struct LineBuffer *buffer;
} LineReader;

LineReader *line_reader_open(const char *path, GError **error);
void line_reader_free(LineReader *lines);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LineReader, line_reader_free)

/* Goes to the next line that is not blank. FALSE at the end, or on an error (then it is set). */
gboolean line_reader_next(LineReader *lines, GError **error);

/* Makes the next line_reader_next return the current line once more. */
void line_reader_unread(LineReader *lines);

/* Sets 'error' to "path:line:column: message" for byte 'offset' of the current line (columns count
 * characters from 1); returns FALSE. Before any line, line 1 is named. */
gboolean line_reader_error(const LineReader *lines, gsize offset, InputErrorCode code,
                           GError **error, const char *format, ...) G_GNUC_PRINTF(5, 6);

/* 'length' bytes of input as they may stand in a message: shortened, control characters escaped,
 * in single quotes; "nothing" when empty. Caller frees. */
char *line_reader_quote(const char *text, gsize length);

#endif
