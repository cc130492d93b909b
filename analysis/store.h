/* Results of many runs in one append-only file that survives being killed at any moment: one line a
 * record, with its key and a checksum, written at once and flushed to disk. A torn last line is
 * dropped when the store is opened; damage anywhere else is an error with its line, and changes
 * nothing. */
#ifndef ANALYSIS_STORE_H
#define ANALYSIS_STORE_H

#include <glib.h>

typedef struct Store Store;
/* Opens or creates 'path' and locks it: a second process that opens it is refused. 'identity' says
 * what the results belong to (one line of text, e.g. a hash of the resolved base experiment and
 * the program's version): a store of another identity is an error that says so. */
Store *store_open(const char *path, const char *identity, GError **error);
void store_close(Store *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Store, store_close)
guint store_records(const Store *store);
/* The text kept under 'key', or NULL. Borrowed until the store is closed. */
const char *store_get(const Store *store, const char *key);
/* A key that is already there must have the same text. Keys and texts have no newline or tab. */
gboolean store_put(Store *store, const char *key, const char *text, GError **error);
/* Puts all records of 'from' (a path) into 'into': same identity asked for; records that contradict
 * each other are an error that names the key. */
gboolean store_merge(Store *into, const char *from, GError **error);

#endif
