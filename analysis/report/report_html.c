#include "analysis/report/report_html.h"

#include "analysis/output/text_file.h"
#include "analysis/report/report_page.h"
#include "workloads/input_error.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#ifdef INFERGRID_REPORT_LIBRARY
/* The files of this folder, and the library, as they stand, each ended by a NUL. */
#define EMBED(symbol, path)                                                                        \
    __asm__(".section .rodata\n"                                                                   \
            ".balign 16\n" #symbol ":\n"                                                           \
            ".incbin \"" path "\"\n"                                                               \
            ".byte 0\n"                                                                            \
            ".previous\n");                                                                        \
    extern const char symbol[]
EMBED(report_template, INFERGRID_REPORT_FILES "/template.html");
EMBED(report_style, INFERGRID_REPORT_FILES "/report.css");
EMBED(report_script, INFERGRID_REPORT_FILES "/report.js");
EMBED(report_library, INFERGRID_REPORT_LIBRARY);
#endif

gboolean report_html_built(void) {
#ifdef INFERGRID_REPORT_LIBRARY
    return TRUE;
#else
    return FALSE;
#endif
}

/* Something that is no report of ours, whose name the report would take. */
static gboolean is_other_file(const char *path) {
    char head[1024] = "";
    FILE *file = g_fopen(path, "r");
    if (file == NULL)
        return g_file_test(path, G_FILE_TEST_EXISTS);
    gsize bytes = fread(head, 1, sizeof head - 1, file);
    fclose(file);
    return bytes == 0 || strstr(head, "<meta name=\"generator\" content=\"infergrid\">") == NULL;
}

gboolean report_possible(const char *path, const char *command, GError **error) {
    if (!g_str_has_suffix(path, ".html"))
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "%s: option '--report': '%s' should end in .html", command, path);
    else if (!report_html_built())
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "%s: option '--report': this infergrid was built without reports; install "
                    "nodejs and npm, run .ci/setup, configure and build again",
                    command);
    else if (g_file_test(path, G_FILE_TEST_IS_DIR))
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "%s: option '--report': '%s' is a folder", command, path);
    else if (is_other_file(path))
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "%s: option '--report': '%s' exists, and is no report of infergrid", command,
                    path);
    else
        return TRUE;
    return FALSE;
}

#ifdef INFERGRID_REPORT_LIBRARY
/* Text between tags. */
static void put_text(TextFile *file, const char *text) {
    g_autofree char *escaped = g_markup_escape_text(text, -1);
    text_file_write(file, escaped);
}

static void put_style(TextFile *file, const char *text) {
    text_file_write(file, text);
}

/* Within a script an end tag would end it: "<\/script" is the same in its strings. */
static void put_script(TextFile *file, const char *text) {
    const char *end;
    while ((end = strstr(text, "</script")) != NULL) {
        g_autofree char *before = g_strndup(text, (gsize)(end - text));
        text_file_write(file, before);
        text_file_write(file, "<\\/script");
        text = end + strlen("</script");
    }
    text_file_write(file, text);
}

/* JSON has '<' in strings only, where it may be written by its number. */
static void put_json(TextFile *file, const char *text) {
    const char *next;
    while ((next = strchr(text, '<')) != NULL) {
        while (text < next) {
            gsize part = MIN((gsize)(next - text), TEXT_FILE_RESERVE_MAX);
            char *out = text_file_reserve(file, part);
            memcpy(out, text, part);
            text_file_advance(file, out + part);
            text += part;
        }
        text_file_write(file, "\\u003c");
        text = next + 1;
    }
    text_file_write(file, text);
}

typedef struct Slot {
    const char *mark; /* in the template */
    const char *text;
    void (*put)(TextFile *file, const char *text);
} Slot;

/* The slot whose mark comes next in 'text'; NULL: there is none. */
static const Slot *next_slot(const Slot *slots, gsize n, const char *text, const char **place) {
    const Slot *found = NULL;
    for (gsize i = 0; i < n; i++) {
        const char *at = strstr(text, slots[i].mark);
        if (at != NULL && (found == NULL || at < *place)) {
            found = &slots[i];
            *place = at;
        }
    }
    return found;
}

static void put_page(TextFile *file, const char *title, const char *data) {
    const Slot slots[] = {{"{{title}}", title, put_text},
                          {"{{style}}", report_style, put_style},
                          {"{{library}}", report_library, put_script},
                          {"{{script}}", report_script, put_script},
                          {"{{data}}", data, put_json}};
    const char *text = report_template, *place = NULL;
    const Slot *slot;
    while ((slot = next_slot(slots, G_N_ELEMENTS(slots), text, &place)) != NULL) {
        g_autofree char *before = g_strndup(text, (gsize)(place - text));
        text_file_write(file, before);
        slot->put(file, slot->text);
        text = place + strlen(slot->mark);
    }
    text_file_write(file, text);
}

static gboolean write_failed(const char *path, GError **error) {
    int code = errno;
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot write '%s': %s", path,
                g_strerror(code));
    return FALSE;
}

gboolean report_html_write(const char *path, const char *title, const char *data, GError **error) {
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *temporary = g_strdup_printf("%s.partial", path);
    if (g_mkdir_with_parents(folder, 0777) != 0)
        return write_failed(path, error);
    g_autoptr(TextFile) file = text_file_new(temporary, error);
    if (file == NULL)
        return FALSE;
    put_page(file, title, data);
    if (!text_file_finish(file, error)) {
        g_remove(temporary);
        return FALSE;
    }
    if (g_rename(temporary, path) == 0)
        return TRUE;
    write_failed(path, error);
    g_remove(temporary);
    return FALSE;
}
#else
gboolean report_html_write(const char *path, const char *title, const char *data, GError **error) {
    (void)title, (void)data;
    return report_possible(path, "infergrid", error);
}
#endif
