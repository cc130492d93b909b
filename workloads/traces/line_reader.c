#include "workloads/traces/line_reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES (64u << 10)
#define QUOTED_BYTES 40

typedef struct LineBuffer {
    char *path;
    FILE *file;
    char *bytes; /* read but not yet passed: [begin, end) */
    gsize begin, end;
    gsize capacity;  /* one byte more is allocated, for the last line's NUL */
    gboolean at_end; /* the file gave everything */
    gboolean unread; /* the current line is to be returned again */
} LineBuffer;

static LineBuffer *buffer_new(const char *path, FILE *file) {
    LineBuffer *buffer = g_new0(LineBuffer, 1);
    buffer->path = g_strdup(path);
    buffer->file = file;
    buffer->capacity = BLOCK_BYTES;
    buffer->bytes = g_malloc(buffer->capacity + 1);
    return buffer;
}

LineReader *line_reader_open(const char *path, GError **error) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_MISSING, "%s:1:1: cannot open the trace (%s)",
                    path, g_strerror(errno));
        return NULL;
    }
    LineReader *lines = g_new0(LineReader, 1);
    lines->text = "";
    lines->buffer = buffer_new(path, file);
    return lines;
}

void line_reader_free(LineReader *lines) {
    if (!lines)
        return;
    fclose(lines->buffer->file);
    g_free(lines->buffer->bytes);
    g_free(lines->buffer->path);
    g_free(lines->buffer);
    g_free(lines);
}

/* Makes room behind 'end': moves what is pending to the front, or doubles the buffer. */
static void make_room(LineBuffer *buffer) {
    if (buffer->begin > 0) {
        memmove(buffer->bytes, buffer->bytes + buffer->begin, buffer->end - buffer->begin);
        buffer->end -= buffer->begin;
        buffer->begin = 0;
    }
    if (buffer->end == buffer->capacity) {
        buffer->capacity *= 2;
        buffer->bytes = g_realloc(buffer->bytes, buffer->capacity + 1);
    }
}

/* Reads on. FALSE on an error; at the end of the file 'at_end' is set. */
static gboolean fill(LineReader *lines, GError **error) {
    LineBuffer *buffer = lines->buffer;
    if (buffer->end - buffer->begin > LINE_READER_MAX_BYTES) {
        lines->number++;
        return line_reader_error(lines, 0, INPUT_ERROR_SYNTAX, error, "line longer than %u MiB",
                                 LINE_READER_MAX_BYTES >> 20);
    }
    make_room(buffer);
    gsize n = fread(buffer->bytes + buffer->end, 1, buffer->capacity - buffer->end, buffer->file);
    buffer->end += n;
    buffer->at_end = n == 0;
    if (n == 0 && ferror(buffer->file))
        return line_reader_error(lines, 0, INPUT_ERROR_SYNTAX, error, "cannot read the trace (%s)",
                                 g_strerror(errno));
    return TRUE;
}

/* Hands out the 'length' bytes at 'begin' as the current line and passes 'used' bytes. */
static void take_line(LineReader *lines, gsize length, gsize used) {
    static const char mark[] = "\xef\xbb\xbf";
    LineBuffer *buffer = lines->buffer;
    char *text = buffer->bytes + buffer->begin;
    buffer->begin += used;
    if (length > 0 && text[length - 1] == '\r')
        length--;
    text[length] = '\0';
    if (lines->number == 0 && length >= 3 && memcmp(text, mark, 3) == 0) {
        text += 3;
        length -= 3;
    }
    lines->text = text;
    lines->length = length;
    lines->number++;
}

static gboolean next_line(LineReader *lines, GError **error) {
    LineBuffer *buffer = lines->buffer;
    gsize searched = 0; /* bytes of the pending line known to hold no end */
    while (TRUE) {
        char *from = buffer->bytes + buffer->begin;
        gsize pending = buffer->end - buffer->begin;
        char *end = memchr(from + searched, '\n', pending - searched);
        if (end) {
            take_line(lines, (gsize)(end - from), (gsize)(end - from) + 1);
            return TRUE;
        }
        if (buffer->at_end) {
            if (pending > 0)
                take_line(lines, pending, pending);
            return pending > 0;
        }
        searched = pending;
        if (!fill(lines, error))
            return FALSE;
    }
}

static gboolean is_blank(const LineReader *lines) {
    return strspn(lines->text, " \t\r") == lines->length;
}

gboolean line_reader_next(LineReader *lines, GError **error) {
    if (lines->buffer->unread) {
        lines->buffer->unread = FALSE;
        return TRUE;
    }
    do {
        if (!next_line(lines, error))
            return FALSE;
    } while (is_blank(lines));
    return TRUE;
}

void line_reader_unread(LineReader *lines) {
    lines->buffer->unread = TRUE;
}

/* Characters before byte 'offset': every byte that does not continue a UTF-8 sequence. */
static gsize characters_before(const LineReader *lines, gsize offset) {
    gsize n = 0;
    for (gsize i = 0; i < MIN(offset, lines->length); i++)
        n += ((guchar)lines->text[i] & 0xc0) != 0x80;
    return n;
}

gboolean line_reader_error(const LineReader *lines, gsize offset, InputErrorCode code,
                           GError **error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, INPUT_ERROR, code, "%s:%" G_GUINT64_FORMAT ":%" G_GSIZE_FORMAT ": %s",
                lines->buffer->path, MAX(lines->number, 1), characters_before(lines, offset) + 1,
                message);
    return FALSE;
}

char *line_reader_quote(const char *text, gsize length) {
    if (length == 0)
        return g_strdup("nothing");
    g_autofree char *head = g_strndup(text, MIN(length, QUOTED_BYTES));
    g_autofree char *valid = g_utf8_make_valid(head, -1);
    g_autoptr(GString) plain = g_string_new("'");
    for (const char *c = valid; *c; c = g_utf8_next_char(c)) {
        if (g_unichar_isprint(g_utf8_get_char(c)))
            g_string_append_unichar(plain, g_utf8_get_char(c));
        else
            g_string_append_printf(plain, "\\x%02x", g_utf8_get_char(c));
    }
    g_string_append(plain, length > QUOTED_BYTES ? "…'" : "'");
    return g_string_free(g_steal_pointer(&plain), FALSE);
}
