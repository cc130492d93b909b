/* Runs a function in a forked child and hands its bytes back, many at a time: SimGrid has one
 * engine a process, so every simulation that answers a question on the side is a process of its
 * own. */
#ifndef ANALYSIS_CHILD_H
#define ANALYSIS_CHILD_H

#include <glib.h>

typedef struct ChildJobs {
    gsize n;
    gpointer data; /* of both functions; borrowed */
    /* In a child: does job 'index' and appends what it found to 'reply'. Whatever else it changes
     * stays in the child. Static texts stand at the same addresses in both processes. */
    gboolean (*work)(gpointer data, gsize index, GByteArray *reply, GError **error);
    /* In the caller's process, whenever a child has ended well, in any order. */
    gboolean (*take)(gpointer data, gsize index, const GByteArray *reply, GError **error);
} ChildJobs;

/* Does all jobs, as many at a time as there are processors, started in order. After a failure none
 * is started any more, those under way are heard out, and the error is the failed job's of lowest
 * index, with the domain, code and message that it had in the child; a child that ended early is a
 * G_FILE_ERROR. FALSE then; 'take' may have been called for some. */
gboolean child_run_all(const ChildJobs *jobs, GError **error);

/* Takes 'n' bytes from 'reply' at '*at' and moves '*at' on; FALSE where it has no more so many. */
gboolean child_reply_read(const GByteArray *reply, gsize *at, gpointer to, gsize n);

#endif
