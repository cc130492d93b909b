/* Results of many runs in one append-only file that survives being killed at any moment: a first
 * line with the format and what the results belong to, then one line a record, with its key and a
 * checksum, written by one call. A record outlives its process from then on, and a power cut once
 * it is flushed, a second later at most. A torn last line is dropped when the store is opened;
 * damage anywhere else is an INPUT_ERROR with its line, and changes nothing. */
#ifndef ANALYSIS_STORE_H
#define ANALYSIS_STORE_H

#include <glib.h>

typedef struct Store Store;
/* Opens or creates 'path' and locks it: a second process that opens it is refused after a second.
 * NULL: a store in memory, which ends with the process. 'identity' says what the results belong to
 * (one line of text, e.g. a hash of the resolved base experiment and the program's version): a
 * store of another identity is an error that says so. */
Store *store_open(const char *path, const char *identity, GError **error);
void store_close(Store *store); /* flushes; NULL is fine */
/* In a forked child: lets go of the file, so that its lock ends with the parent. Nothing is written
 * any more. */
void store_detach(Store *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Store, store_close)
guint store_records(const Store *store);
/* The text kept under 'key', or NULL. Borrowed until the store is closed. */
const char *store_get(const Store *store, const char *key);
/* A key that is already there must have the same text (INPUT_ERROR otherwise). Keys and texts have
 * no newline or tab. */
gboolean store_put(Store *store, const char *key, const char *text, GError **error);
/* Puts all records of 'from' (a path, which is only read; its torn last line is left out) into
 * 'into': same identity asked for; records that contradict each other are an error that names the
 * key, before any is put. */
gboolean store_merge(Store *into, const char *from, GError **error);
/* What the results of a file belong to, all of it verified. Caller frees; NULL on error. */
char *store_identity(const char *path, GError **error);

#endif
