/* Runs a function in a forked child and hands its bytes back, many at a time: SimGrid has one
 * engine a process, so every simulation that answers a question on the side is a process of its
 * own. */
#ifndef ANALYSIS_CHILD_H
#define ANALYSIS_CHILD_H

#include <glib.h>
#include <signal.h>

typedef struct ChildJobs {
    gsize n;       /* 'take' and 'lose' may make it larger */
    gpointer data; /* of both functions; borrowed */
    /* In a child: does job 'index' and appends what it found to 'reply'. Whatever else it changes
     * stays in the child. Static texts stand at the same addresses in both processes. */
    gboolean (*work)(gpointer data, gsize index, GByteArray *reply, GError **error);
    /* In the caller's process, whenever a child has ended well, in any order. */
    gboolean (*take)(gpointer data, gsize index, const GByteArray *reply, GError **error);
    /* What follows may be left out (0, NULL). */
    guint at_once;    /* so many at a time; 0: as many as there are processors */
    double timeout_s; /* wall time that a job may take before it is killed; 0: any */
    /* In the caller's process, instead of a failure: job 'index' failed, died or took too long, as
     * 'why' says, and the others go on. */
    gboolean (*lose)(gpointer data, gsize index, const char *why, GError **error);
    void (*tick)(gpointer data); /* in the caller's process, some times a second */
    /* Once it is not 0 none is started any more and those under way are heard out. An interrupt
     * from the terminal then reaches the caller's process only. */
    const volatile sig_atomic_t *stop;
} ChildJobs;

/* Does all jobs, started in order. After a failure none is started any more, those under way are
 * heard out, and the error is the failed job's of lowest index, with the domain, code and message
 * that it had in the child; a child that ended early is a G_FILE_ERROR. FALSE then; 'take' may have
 * been called for some. Children end with the process that started them, even when that is killed.
 */
gboolean child_run_all(const ChildJobs *jobs, GError **error);

/* Takes 'n' bytes from 'reply' at '*at' and moves '*at' on; FALSE where it has no more so many. */
gboolean child_reply_read(const GByteArray *reply, gsize *at, gpointer to, gsize n);

#endif
