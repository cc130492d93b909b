#include "analysis/campaign/store.h"

#include "workloads/input_error.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The first line, "infergrid results 1 TAB identity TAB checksum", is made like a record. */
#define HEADER "infergrid results 1"
#define CHECKSUM_DIGITS 16
#define LOCK_TRIES 20
#define LOCK_TRY_US 50000 /* a killed owner's children end within a moment */
#define FLUSH_EVERY_US G_USEC_PER_SEC

struct Store {
    char *path; /* NULL: in memory only; then 'file' is −1 */
    int file;
    char *identity;
    GHashTable *texts; /* key → text, both owned */
    GPtrArray *keys;   /* in the order of the file; borrowed from 'texts' */
    gint64 flushed_us;
    gboolean dirty; /* records have been written since the last flush */
};

/* --- lines */

static char *line_of(const char *key, const char *text) {
    g_autofree char *body = g_strdup_printf("%s\t%s\t", key, text);
    g_autofree char *checksum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, body, -1);

    return g_strdup_printf("%s%.*s\n", body, CHECKSUM_DIGITS, checksum);
}

/* Splits one line (its newline cut off) in place; FALSE when it is not what line_of made. */
static gboolean line_split(char *line, char **key, char **text) {
    char *tab = strchr(line, '\t');
    char *last = strrchr(line, '\t');

    if (tab == NULL || last == tab)
        return FALSE;
    g_autofree char *body = g_strndup(line, (gsize)(last + 1 - line));
    g_autofree char *checksum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, body, -1);
    if (strlen(last + 1) != CHECKSUM_DIGITS || strncmp(checksum, last + 1, CHECKSUM_DIGITS) != 0)
        return FALSE;
    *tab = *last = '\0';
    *key = line;
    *text = tab + 1;
    return strchr(*text, '\t') == NULL;
}

/* --- what a file holds */

typedef struct Content {
    const char *path;
    GHashTable *texts;
    GPtrArray *keys;
    char *identity; /* NULL: nothing stands there yet, or half a first line */
    gsize whole_bytes;
} Content;

static void content_clear(Content *content) {
    g_clear_pointer(&content->texts, g_hash_table_unref);
    g_clear_pointer(&content->keys, g_ptr_array_unref);
    g_clear_pointer(&content->identity, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Content, content_clear)

static gboolean damaged(const Content *content, guint line, const char *what, GError **error) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_SYNTAX, "%s:%u:1: %s", content->path, line, what);
    return FALSE;
}

static void content_keep(Content *content, const char *key, const char *text) {
    char *own = g_strdup(key);

    g_hash_table_insert(content->texts, own, g_strdup(text));
    g_ptr_array_add(content->keys, own);
}

static gboolean record_take(Content *content, guint number, char *line, GError **error) {
    char *key, *text;

    if (!line_split(line, &key, &text))
        return damaged(content, number, "damaged record: its checksum is wrong", error);
    const char *known = g_hash_table_lookup(content->texts, key);
    if (known != NULL && strcmp(known, text) != 0)
        return damaged(content, number, "a second, different record of the same run", error);
    if (known == NULL)
        content_keep(content, key, text);
    return TRUE;
}

static gboolean header_take(Content *content, char *line, GError **error) {
    char *key, *text;

    if (!line_split(line, &key, &text) || !g_str_has_prefix(key, "infergrid results "))
        return damaged(content, 1, "not a store of results", error);
    if (strcmp(key, HEADER) != 0)
        return damaged(content, 1, "a store of another version of the format", error);
    content->identity = g_strdup(text);
    return TRUE;
}

/* A first line without its end is ours only if it begins as ours does. */
static gboolean torn_header(const Content *content, const char *bytes, gsize n, GError **error) {
    if (memcmp(bytes, HEADER, MIN(n, strlen(HEADER))) == 0)
        return TRUE;
    return damaged(content, 1, "not a store of results", error);
}

/* 'bytes' is changed. Bytes of NUL end no line, so that they are found as damage. */
static gboolean content_parse(Content *content, char *bytes, gsize n, GError **error) {
    guint number = 0;
    char *line = bytes;

    content->texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    content->keys = g_ptr_array_new();
    for (;;) {
        char *end = memchr(line, '\n', n - (gsize)(line - bytes));
        if (end == NULL)
            return number > 0 || torn_header(content, line, n, error);
        *end = '\0';
        number++;
        if (strlen(line) != (gsize)(end - line))
            return damaged(content, number, "damaged record: it has bytes of NUL", error);
        if (!(number == 1 ? header_take(content, line, error)
                          : record_take(content, number, line, error)))
            return FALSE;
        line = end + 1;
        content->whole_bytes = (gsize)(line - bytes);
    }
}

/* A file that cannot be opened or read was named wrongly. */
static gboolean cannot(const char *path, const char *what, GError **error) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE, "%s: cannot %s: %s", path, what,
                g_strerror(errno));
    return FALSE;
}

static gboolean write_error(const char *path, const char *what, GError **error) {
    int code = errno;

    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "%s: cannot %s: %s", path, what,
                g_strerror(code));
    return FALSE;
}

static gboolean content_read(Content *content, GError **error) {
    g_autofree char *bytes = NULL;
    g_autoptr(GError) failure = NULL;
    gsize n;

    if (access(content->path, R_OK) != 0)
        return cannot(content->path, "read", error);
    if (g_file_get_contents(content->path, &bytes, &n, &failure))
        return content_parse(content, bytes, n, error);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE, "%s: %s", content->path, failure->message);
    return FALSE;
}

/* --- opening */

static gboolean lock(int file, const char *path, GError **error) {
    for (guint i = 0; i < LOCK_TRIES; i++) {
        if (flock(file, LOCK_EX | LOCK_NB) == 0)
            return TRUE;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return write_error(path, "lock", error);
        g_usleep(LOCK_TRY_US);
    }
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT, "%s: another process writes this store",
                path);
    return FALSE;
}

static gboolean same_identity(const Content *content, const char *identity, GError **error) {
    if (content->identity == NULL || strcmp(content->identity, identity) == 0)
        return TRUE;
    return damaged(content, 1,
                   "results of another experiment, or of another version of the program", error);
}

static gboolean append(Store *store, const char *line, GError **error) {
    gsize n = strlen(line);
    off_t before = lseek(store->file, 0, SEEK_END);
    ssize_t written = write(store->file, line, n);

    if (written == (ssize_t)n)
        return TRUE;
    write_error(store->path, "write", error);
    if (written > 0 && ftruncate(store->file, before) != 0)
        g_warning("%s: half a record is left at its end", store->path);
    return FALSE;
}

static gboolean flush(Store *store, GError **error) {
    if (store->file < 0 || !store->dirty)
        return TRUE;
    store->dirty = FALSE;
    store->flushed_us = g_get_monotonic_time();
    /* EINVAL: the file is of a kind that knows no flushing */
    return fdatasync(store->file) == 0 || errno == EINVAL ||
           write_error(store->path, "flush", error);
}

/* The file is ours and right: only now is its torn end cut off, or its first line written. */
static gboolean mend(Store *store, const Content *content, GError **error) {
    off_t bytes = lseek(store->file, 0, SEEK_END);

    if (bytes != (off_t)content->whole_bytes &&
        ftruncate(store->file, (off_t)content->whole_bytes) != 0)
        return write_error(store->path, "write", error);
    if (content->identity != NULL)
        return TRUE;
    g_autofree char *header = line_of(HEADER, store->identity);
    store->dirty = TRUE;
    return append(store, header, error) && flush(store, error);
}

static gboolean store_load(Store *store, GError **error) {
    g_auto(Content) content = {.path = store->path};

    store->file = open(store->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (store->file < 0)
        return cannot(store->path, "open", error);
    if (!lock(store->file, store->path, error) || !content_read(&content, error) ||
        !same_identity(&content, store->identity, error) || !mend(store, &content, error))
        return FALSE;
    store->texts = g_steal_pointer(&content.texts);
    store->keys = g_steal_pointer(&content.keys);
    return TRUE;
}

Store *store_open(const char *path, const char *identity, GError **error) {
    g_autoptr(Store) store = g_new0(Store, 1);

    store->path = g_strdup(path);
    store->identity = g_strdup(identity);
    store->file = -1;
    if (path != NULL)
        return store_load(store, error) ? g_steal_pointer(&store) : NULL;
    store->texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    store->keys = g_ptr_array_new();
    return g_steal_pointer(&store);
}

void store_detach(Store *store) {
    if (store->file >= 0)
        close(store->file);
    store->file = -1;
    store->dirty = FALSE;
}

void store_close(Store *store) {
    if (store == NULL)
        return;
    flush(store, NULL);
    store_detach(store);
    g_clear_pointer(&store->keys, g_ptr_array_unref);
    g_clear_pointer(&store->texts, g_hash_table_unref);
    g_free(store->identity);
    g_free(store->path);
    g_free(store);
}

guint store_records(const Store *store) {
    return store->keys->len;
}

const char *store_get(const Store *store, const char *key) {
    return g_hash_table_lookup(store->texts, key);
}

static gboolean contradiction(const char *path, const char *key, GError **error) {
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "%s: two different results of run '%s': it was made on another machine or by "
                "another program, or the program does not give the same result twice",
                path == NULL ? "results" : path, key);
    return FALSE;
}

/* A key that is not there yet. */
static gboolean put_new(Store *store, const char *key, const char *text, GError **error) {
    g_assert(strpbrk(key, "\t\n") == NULL && strpbrk(text, "\t\n") == NULL);
    if (store->file >= 0) {
        g_autofree char *line = line_of(key, text);
        if (!append(store, line, error))
            return FALSE;
        store->dirty = TRUE;
    }
    char *own = g_strdup(key);
    g_hash_table_insert(store->texts, own, g_strdup(text));
    g_ptr_array_add(store->keys, own);
    return TRUE;
}

gboolean store_put(Store *store, const char *key, const char *text, GError **error) {
    const char *known = store_get(store, key);

    if (known != NULL)
        return strcmp(known, text) == 0 || contradiction(store->path, key, error);
    if (!put_new(store, key, text, error))
        return FALSE;
    gboolean due = g_get_monotonic_time() - store->flushed_us >= FLUSH_EVERY_US;
    return !due || flush(store, error);
}

/* --- merging */

static gboolean read_other(Content *content, GError **error) {
    if (!content_read(content, error))
        return FALSE;
    return content->identity != NULL ||
           damaged(content, 1, "a store that holds nothing yet", error);
}

char *store_identity(const char *path, GError **error) {
    g_auto(Content) content = {.path = path};

    return read_other(&content, error) ? g_steal_pointer(&content.identity) : NULL;
}

gboolean store_merge(Store *into, const char *from, GError **error) {
    g_auto(Content) content = {.path = from};

    if (!read_other(&content, error) || !same_identity(&content, into->identity, error))
        return FALSE;
    for (guint i = 0; i < content.keys->len; i++) {
        const char *key = content.keys->pdata[i];
        const char *known = store_get(into, key);
        if (known != NULL && strcmp(known, g_hash_table_lookup(content.texts, key)) != 0)
            return contradiction(from, key, error);
    }
    for (guint i = 0; i < content.keys->len; i++) {
        const char *key = content.keys->pdata[i];
        if (store_get(into, key) == NULL &&
            !put_new(into, key, g_hash_table_lookup(content.texts, key), error))
            return FALSE;
    }
    return flush(into, error);
}
