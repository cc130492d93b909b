/* A file written from start to end through one large buffer. A write error is remembered and
 * reported when the file is finished, so that writers need not check every line. */
#ifndef ANALYSIS_TEXT_FILE_H
#define ANALYSIS_TEXT_FILE_H

#include <glib.h>

#define TEXT_FILE_RESERVE_MAX 65536

typedef struct TextFile TextFile;
TextFile *text_file_new(const char *path, GError **error);
/* The same, compressed on the way as gzip does (RFC 1952); the header holds no date, so that equal
 * texts are equal files. */
TextFile *text_file_new_gzip(const char *path, GError **error);
void text_file_free(TextFile *file); /* closes it; NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TextFile, text_file_free)

/* Room for 'bytes' (at most TEXT_FILE_RESERVE_MAX), to be written into and then handed over up to
 * 'end' by text_file_advance. */
char *text_file_reserve(TextFile *file, gsize bytes);
void text_file_advance(TextFile *file, const char *end);
void text_file_write(TextFile *file, const char *text);
gboolean text_file_finish(TextFile *file, GError **error); /* flushes and closes; G_FILE_ERROR */

/* Appends static text at 'out' and returns the place behind it. */
char *text_put(char *out, const char *text);

#endif
