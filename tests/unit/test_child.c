/* Forked children: replies of any length come back whole, the earliest failure wins, and a child
 * that dies is told of. */
#include "analysis/child.h"

#include "workloads/input_error.h"
#include <string.h>
#include <unistd.h>

#define JOBS 9

typedef struct Sums {
    gsize lengths[JOBS];
    guint64 sums[JOBS];
    guint taken;
    gboolean fails[JOBS], dies[JOBS];
    guint touched; /* by children, in their own memory only */
} Sums;

static gboolean count_up(gpointer data, gsize index, GByteArray *reply, GError **error) {
    Sums *sums = data;

    sums->touched++;
    if (sums->dies[index])
        _exit(3);
    if (sums->fails[index]) {
        g_byte_array_append(reply, (const guint8 *)"half", 4);
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE, "job %" G_GSIZE_FORMAT, index);
        return FALSE;
    }
    for (gsize i = 0; i < sums->lengths[index]; i++) {
        guint8 byte = (guint8)(i + index);
        g_byte_array_append(reply, &byte, 1);
    }
    return TRUE;
}

static gboolean add_up(gpointer data, gsize index, const GByteArray *reply, GError **error) {
    Sums *sums = data;
    guint8 byte;

    for (gsize at = 0; child_reply_read(reply, &at, &byte, 1);)
        sums->sums[index] += byte;
    sums->taken++;
    g_assert_cmpuint(reply->len, ==, sums->lengths[index]);
    return index != 8 || sums->lengths[8] != 8 ||
           (g_set_error_literal(error, INPUT_ERROR, INPUT_ERROR_SYNTAX, "not that"), FALSE);
}

static void test_replies(void) {
    Sums sums = {.lengths = {0, 1, 2, 1000, 65536, 65537, 1 << 20, 3, 0}};
    ChildJobs jobs = {JOBS, &sums, count_up, add_up};
    g_autoptr(GError) error = NULL;

    g_assert_true(child_run_all(&jobs, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(sums.taken, ==, JOBS);
    g_assert_cmpuint(sums.touched, ==, 0);
    for (gsize job = 0; job < JOBS; job++) {
        guint64 expected = 0;
        for (gsize i = 0; i < sums.lengths[job]; i++)
            expected += (guint8)(i + job);
        g_assert_cmpuint(sums.sums[job], ==, expected);
    }
}

static void test_no_jobs(void) {
    ChildJobs jobs = {0, NULL, count_up, add_up};

    g_assert_true(child_run_all(&jobs, NULL));
}

static void test_earliest_failure(void) {
    Sums sums = {.fails = {[2] = TRUE, [3] = TRUE, [7] = TRUE}};
    ChildJobs jobs = {JOBS, &sums, count_up, add_up};

    for (guint i = 0; i < 5; i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(child_run_all(&jobs, &error));
        g_assert_error(error, INPUT_ERROR, INPUT_ERROR_VALUE);
        g_assert_cmpstr(error->message, ==, "job 2");
    }
}

static void test_a_child_that_dies(void) {
    Sums sums = {.dies = {[5] = TRUE}};
    ChildJobs jobs = {JOBS, &sums, count_up, add_up};
    g_autoptr(GError) error = NULL;

    g_assert_false(child_run_all(&jobs, &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED);
    g_assert_nonnull(strstr(error->message, "ended early"));
}

static void test_a_reply_that_is_refused(void) {
    Sums sums = {.lengths = {[8] = 8}};
    ChildJobs jobs = {JOBS, &sums, count_up, add_up};
    g_autoptr(GError) error = NULL;

    g_assert_false(child_run_all(&jobs, &error));
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_SYNTAX);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/child/replies_of_any_length_come_back_whole", test_replies);
    g_test_add_func("/child/no_jobs_are_done_at_once", test_no_jobs);
    g_test_add_func("/child/the_error_is_the_earliest_failed_jobs", test_earliest_failure);
    g_test_add_func("/child/one_that_dies_is_told_of", test_a_child_that_dies);
    g_test_add_func("/child/a_reply_may_be_refused", test_a_reply_that_is_refused);
    return g_test_run();
}
