#include "analysis/output/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define BUFFER_BYTES ((gsize)4 * TEXT_FILE_RESERVE_MAX)
#define GZIP_LEVEL 6
#define GZIP_FORMAT (15 + 16) /* the largest window, and gzip's header instead of zlib's */
#define GZIP_MEMORY 8

struct TextFile {
    char *path;
    int descriptor; /* −1 once closed */
    int failure;    /* errno of the first failed write, or 0 */
    z_stream *gzip; /* NULL: as it is */
    gsize used;
    char buffer[BUFFER_BYTES];
};

static void set_write_error(GError **error, const char *path, int code) {
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot write '%s': %s", path,
                g_strerror(code));
}

TextFile *text_file_new(const char *path, GError **error) {
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) {
        set_write_error(error, path, errno);
        return NULL;
    }
    TextFile *file = g_new(TextFile, 1);
    file->path = g_strdup(path);
    file->descriptor = descriptor;
    file->failure = 0;
    file->gzip = NULL;
    file->used = 0;
    return file;
}

TextFile *text_file_new_gzip(const char *path, GError **error) {
    TextFile *file = text_file_new(path, error);
    if (file == NULL)
        return NULL;
    file->gzip = g_new0(z_stream, 1);
    int code = deflateInit2(file->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_FORMAT, GZIP_MEMORY,
                            Z_DEFAULT_STRATEGY);
    g_assert(code == Z_OK);
    return file;
}

static void gzip_free(z_stream *gzip) {
    deflateEnd(gzip);
    g_free(gzip);
}

void text_file_free(TextFile *file) {
    if (file == NULL)
        return;
    if (file->descriptor >= 0)
        close(file->descriptor);
    g_clear_pointer(&file->gzip, gzip_free);
    g_free(file->path);
    g_free(file);
}

static void write_all(TextFile *file, const char *bytes, gsize count) {
    gsize done = 0;
    while (done < count && file->failure == 0) {
        gssize written = write(file->descriptor, bytes + done, count - done);
        if (written >= 0)
            done += (gsize)written;
        else if (errno != EINTR)
            file->failure = errno;
    }
}

/* 'ending' is Z_FINISH for the last part. */
static void write_compressed(TextFile *file, int ending) {
    Bytef packed[TEXT_FILE_RESERVE_MAX / 4];
    z_stream *gzip = file->gzip;
    gzip->next_in = (Bytef *)file->buffer;
    gzip->avail_in = (uInt)file->used;
    do {
        gzip->next_out = packed;
        gzip->avail_out = sizeof packed;
        deflate(gzip, ending);
        write_all(file, (const char *)packed, sizeof packed - gzip->avail_out);
    } while (gzip->avail_out == 0);
}

static void flush(TextFile *file) {
    if (file->gzip != NULL)
        write_compressed(file, Z_NO_FLUSH);
    else
        write_all(file, file->buffer, file->used);
    file->used = 0;
}

char *text_file_reserve(TextFile *file, gsize bytes) {
    g_assert(bytes <= TEXT_FILE_RESERVE_MAX);
    if (file->used + bytes > BUFFER_BYTES)
        flush(file);
    return file->buffer + file->used;
}

void text_file_advance(TextFile *file, const char *end) {
    file->used = (gsize)(end - file->buffer);
    g_assert(file->used <= BUFFER_BYTES);
}

void text_file_write(TextFile *file, const char *text) {
    for (gsize left = strlen(text); left > 0;) {
        gsize part = MIN(left, TEXT_FILE_RESERVE_MAX);
        char *out = text_file_reserve(file, part);
        memcpy(out, text, part);
        text_file_advance(file, out + part);
        text += part;
        left -= part;
    }
}

gboolean text_file_finish(TextFile *file, GError **error) {
    flush(file);
    if (file->gzip != NULL)
        write_compressed(file, Z_FINISH);
    if (close(file->descriptor) != 0 && file->failure == 0)
        file->failure = errno;
    file->descriptor = -1;
    if (file->failure == 0)
        return TRUE;
    set_write_error(error, file->path, file->failure);
    return FALSE;
}

char *text_put(char *out, const char *text) {
    while (*text != '\0')
        *out++ = *text++;
    return out;
}
