/* Writes safetensors files for tests: right ones tensor by tensor, and any header at all. */
#ifndef TESTS_UNIT_SAFETENSORS_WRITER_H
#define TESTS_UNIT_SAFETENSORS_WRITER_H

#include <glib.h>
#include <stdio.h>
#include <string.h>

typedef struct SafetensorsWriter {
    GString *header; /* what stands between the braces */
    GByteArray *data;
} SafetensorsWriter;

static inline SafetensorsWriter safetensors_writer(void) {
    return (SafetensorsWriter){g_string_new(NULL), g_byte_array_new()};
}

static inline void safetensors_writer_clear(SafetensorsWriter *writer) {
    g_string_free(writer->header, TRUE);
    g_byte_array_unref(writer->data);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SafetensorsWriter, safetensors_writer_clear)

/* 'form' is the rest of the entry's beginning: "\"dtype\": \"F16\", \"shape\": [2, 3]". */
static inline void safetensors_writer_add(SafetensorsWriter *writer, const char *name,
                                          const char *form, gconstpointer bytes, gsize n_bytes) {
    g_string_append_printf(writer->header, "%s\"%s\": {%s, \"data_offsets\": [%u, %zu]}",
                           writer->header->len > 0 ? ", " : "", name, form, writer->data->len,
                           writer->data->len + n_bytes);
    g_byte_array_append(writer->data, bytes, (guint)n_bytes);
}

/* Overwrites, and does not wait for the disk as g_file_set_contents does. */
static inline void write_bytes(const char *path, gconstpointer bytes, gsize n_bytes) {
    FILE *file = fopen(path, "wb");
    g_assert_nonnull(file);
    g_assert_cmpuint(fwrite(bytes, 1, n_bytes, file), ==, n_bytes);
    g_assert_cmpint(fclose(file), ==, 0);
}

static inline void write_safetensors(const char *path, const char *header, gconstpointer data,
                                     gsize n_bytes) {
    g_autoptr(GByteArray) file = g_byte_array_new();
    guint64 length = GUINT64_TO_LE(strlen(header));
    g_byte_array_append(file, (const guint8 *)&length, sizeof length);
    g_byte_array_append(file, (const guint8 *)header, (guint)strlen(header));
    if (n_bytes > 0)
        g_byte_array_append(file, data, (guint)n_bytes);
    write_bytes(path, file->data, file->len);
}

/* 'padding' blanks after the header move the data, as writers do to align it. */
static inline void safetensors_writer_save(const SafetensorsWriter *writer, const char *path,
                                           guint padding) {
    g_autofree char *header = g_strdup_printf("{%s}%*s", writer->header->str, (int)padding, "");
    write_safetensors(path, header, writer->data->data, writer->data->len);
}

#endif
