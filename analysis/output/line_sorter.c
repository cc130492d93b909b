#define _GNU_SOURCE /* O_TMPFILE */
#include "analysis/output/line_sorter.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define RUN_BUFFER ((gsize)65536) /* bytes of a run in memory while runs are merged */

/* Stands before its text; without gaps, as it is written to a file. */
typedef struct LineHead {
    LineKey key;
    guint64 length;
} LineHead;
G_STATIC_ASSERT(sizeof(LineHead) == sizeof(LineKey) + sizeof(guint64));

/* Sorted lines in the file, and the part of them that is in memory. */
typedef struct Run {
    goffset next, end; /* of what is not read yet */
    char *buffer;
    gsize at, filled;
    LineHead head; /* of the line at 'at' */
} Run;

struct LineSorter {
    char *folder;
    gsize capacity;
    char *buffer;
    gsize used;
    GArray *offsets; /* gsize: of each line's head in the buffer */
    int descriptor;  /* −1: all are in memory */
    goffset written;
    GArray *runs; /* Run */
    int failure;  /* errno of the first failure, or 0 */
};

static int compare_keys(const LineKey *a, const LineKey *b) {
    if (a->date != b->date)
        return a->date < b->date ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static LineHead head_at(const char *bytes) {
    LineHead head;
    memcpy(&head, bytes, sizeof head);
    return head;
}

static int compare_lines(gconstpointer a, gconstpointer b, gpointer buffer) {
    gsize first = *(const gsize *)a, second = *(const gsize *)b;
    LineHead left = head_at((char *)buffer + first), right = head_at((char *)buffer + second);
    int order = compare_keys(&left.key, &right.key);
    return order != 0 ? order : (first > second) - (first < second);
}

LineSorter *line_sorter_new(const char *path, gsize buffer) {
    LineSorter *sorter = g_new0(LineSorter, 1);
    g_assert(buffer >= 2 * (gsize)LINE_SORTER_LINE_MAX);
    sorter->folder = g_path_get_dirname(path);
    sorter->capacity = buffer;
    sorter->buffer = g_malloc(buffer);
    sorter->offsets = g_array_new(FALSE, FALSE, sizeof(gsize));
    sorter->descriptor = -1;
    sorter->runs = g_array_new(FALSE, FALSE, sizeof(Run));
    return sorter;
}

void line_sorter_free(LineSorter *sorter) {
    if (sorter == NULL)
        return;
    if (sorter->descriptor >= 0)
        close(sorter->descriptor);
    for (guint i = 0; i < sorter->runs->len; i++)
        g_free(g_array_index(sorter->runs, Run, i).buffer);
    g_array_unref(sorter->runs);
    g_array_unref(sorter->offsets);
    g_free(sorter->buffer);
    g_free(sorter->folder);
    g_free(sorter);
}

/* Some file systems have no nameless files. */
static int open_nameless(const char *folder) {
    int descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0)
        return descriptor;
    g_autofree char *path = g_build_filename(folder, ".lines-XXXXXX", NULL);
    descriptor = g_mkstemp_full(path, O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0)
        g_unlink(path);
    return descriptor;
}

static void sort_buffer(LineSorter *sorter) {
    g_array_sort_with_data(sorter->offsets, compare_lines, sorter->buffer);
}

static gsize line_bytes(const LineSorter *sorter, gsize offset) {
    return sizeof(LineHead) + head_at(sorter->buffer + offset).length;
}

static void put_aside(LineSorter *sorter, const char *bytes, gsize count) {
    for (gsize done = 0; done < count && sorter->failure == 0;) {
        gssize written = write(sorter->descriptor, bytes + done, count - done);
        if (written >= 0)
            done += (gsize)written;
        else if (errno != EINTR)
            sorter->failure = errno;
    }
    sorter->written += (goffset)count;
}

/* Empties the buffer into a run. */
static void set_run_aside(LineSorter *sorter) {
    Run run = {.next = sorter->written};
    if (sorter->descriptor < 0 && (sorter->descriptor = open_nameless(sorter->folder)) < 0)
        sorter->failure = errno;
    sort_buffer(sorter);
    g_autofree char *sorted = g_malloc(sorter->used);
    gsize at = 0;
    for (guint i = 0; i < sorter->offsets->len; i++) {
        gsize offset = g_array_index(sorter->offsets, gsize, i);
        gsize bytes = line_bytes(sorter, offset);
        memcpy(sorted + at, sorter->buffer + offset, bytes);
        at += bytes;
    }
    put_aside(sorter, sorted, at);
    run.end = sorter->written;
    g_array_append_val(sorter->runs, run);
    g_array_set_size(sorter->offsets, 0);
    sorter->used = 0;
}

void line_sorter_add(LineSorter *sorter, LineKey key, const char *text) {
    gsize length = strlen(text);
    LineHead head = {key, length};
    g_assert(length <= LINE_SORTER_LINE_MAX);
    if (sorter->failure != 0)
        return;
    if (sorter->used + sizeof head + length > sorter->capacity)
        set_run_aside(sorter);
    g_array_append_val(sorter->offsets, sorter->used);
    memcpy(sorter->buffer + sorter->used, &head, sizeof head);
    memcpy(sorter->buffer + sorter->used + sizeof head, text, length);
    sorter->used += sizeof head + length;
}

static void put_line(TextFile *out, const char *line) {
    LineHead head = head_at(line);
    char *place = text_file_reserve(out, head.length);
    memcpy(place, line + sizeof head, head.length);
    text_file_advance(out, place + head.length);
}

/* --- merging */

static void fill(LineSorter *sorter, Run *run) {
    memmove(run->buffer, run->buffer + run->at, run->filled - run->at);
    run->filled -= run->at;
    run->at = 0;
    while (run->filled < RUN_BUFFER && run->next < run->end && sorter->failure == 0) {
        gsize wanted = MIN(RUN_BUFFER - run->filled, (gsize)(run->end - run->next));
        gssize got = pread(sorter->descriptor, run->buffer + run->filled, wanted, run->next);
        if (got > 0) {
            run->filled += (gsize)got;
            run->next += got;
        } else if (got == 0 || errno != EINTR) {
            sorter->failure = got == 0 ? EIO : errno;
        }
    }
}

/* Makes the run's next line its current one; FALSE at its end. */
static gboolean run_read(LineSorter *sorter, Run *run) {
    if (run->filled - run->at < sizeof(LineHead) + LINE_SORTER_LINE_MAX)
        fill(sorter, run);
    if (sorter->failure != 0 || run->filled - run->at < sizeof(LineHead))
        return FALSE;
    run->head = head_at(run->buffer + run->at);
    return TRUE;
}

static gboolean comes_first(const LineSorter *sorter, guint a, guint b) {
    const Run *left = &g_array_index(sorter->runs, Run, a);
    const Run *right = &g_array_index(sorter->runs, Run, b);
    int order = compare_keys(&left->head.key, &right->head.key);
    return order != 0 ? order < 0 : a < b;
}

/* Restores a heap of numbers of runs from its root on. */
static void sift_down(const LineSorter *sorter, guint *heap, guint n, guint at) {
    for (;;) {
        guint first = at;
        for (guint child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++)
            if (comes_first(sorter, heap[child], heap[first]))
                first = child;
        if (first == at)
            return;
        guint moved = heap[at];
        heap[at] = heap[first];
        heap[first] = moved;
        at = first;
    }
}

static void merge(LineSorter *sorter, TextFile *out) {
    g_autofree guint *heap = g_new(guint, sorter->runs->len);
    guint n = 0;
    for (guint i = 0; i < sorter->runs->len; i++) {
        Run *run = &g_array_index(sorter->runs, Run, i);
        run->buffer = g_malloc(RUN_BUFFER);
        if (run_read(sorter, run))
            heap[n++] = i;
    }
    for (guint i = n; i-- > 0;)
        sift_down(sorter, heap, n, i);
    while (n > 0 && sorter->failure == 0) {
        Run *run = &g_array_index(sorter->runs, Run, heap[0]);
        put_line(out, run->buffer + run->at);
        run->at += sizeof(LineHead) + run->head.length;
        if (!run_read(sorter, run))
            heap[0] = heap[--n];
        sift_down(sorter, heap, n, 0);
    }
}

gboolean line_sorter_write(LineSorter *sorter, TextFile *out, GError **error) {
    if (sorter->runs->len == 0) {
        sort_buffer(sorter);
        for (guint i = 0; i < sorter->offsets->len; i++)
            put_line(out, sorter->buffer + g_array_index(sorter->offsets, gsize, i));
        return TRUE;
    }
    if (sorter->used > 0)
        set_run_aside(sorter);
    g_clear_pointer(&sorter->buffer, g_free);
    if (sorter->failure == 0)
        merge(sorter, out);
    if (sorter->failure == 0)
        return TRUE;
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(sorter->failure),
                "cannot sort lines in '%s': %s", sorter->folder, g_strerror(sorter->failure));
    return FALSE;
}
