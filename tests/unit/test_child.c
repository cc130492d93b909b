/* Forked children: replies of any length come back whole, the earliest failure wins, and a child
 * that dies is told of. */
#include "analysis/campaign/child.h"

#include "workloads/input_error.h"
#include <string.h>
#include <unistd.h>

#define JOBS 9

typedef struct Sums {
    gsize lengths[JOBS];
    guint64 sums[JOBS];
    guint taken;
    gboolean fails[JOBS], dies[JOBS], is_killed[JOBS], hangs[JOBS];
    char *lost[JOBS]; /* why, by a job that was lost */
    volatile sig_atomic_t stop;
    guint stop_after; /* so many have been taken; 0: never */
    guint touched;    /* by children, in their own memory only */
} Sums;

static gboolean count_up(gpointer data, gsize index, GByteArray *reply, GError **error) {
    Sums *sums = data;

    sums->touched++;
    if (sums->dies[index])
        _exit(3);
    if (sums->is_killed[index])
        raise(SIGKILL);
    if (sums->hangs[index])
        g_usleep(60 * G_USEC_PER_SEC);
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
    sums->stop = sums->taken == sums->stop_after;
    g_assert_cmpuint(reply->len, ==, sums->lengths[index]);
    return index != 8 || sums->lengths[8] != 8 ||
           (g_set_error_literal(error, INPUT_ERROR, INPUT_ERROR_SYNTAX, "not that"), FALSE);
}

static void test_replies(void) {
    Sums sums = {.lengths = {0, 1, 2, 1000, 65536, 65537, 1 << 20, 3, 0}};
    ChildJobs jobs = {.n = JOBS, .data = &sums, .work = count_up, .take = add_up};
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
    ChildJobs jobs = {.work = count_up, .take = add_up};

    g_assert_true(child_run_all(&jobs, NULL));
}

static void test_earliest_failure(void) {
    Sums sums = {.fails = {[2] = TRUE, [3] = TRUE, [7] = TRUE}};
    ChildJobs jobs = {.n = JOBS, .data = &sums, .work = count_up, .take = add_up};

    for (guint i = 0; i < 5; i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(child_run_all(&jobs, &error));
        g_assert_error(error, INPUT_ERROR, INPUT_ERROR_VALUE);
        g_assert_cmpstr(error->message, ==, "job 2");
    }
}

static void test_a_child_that_dies(void) {
    Sums sums = {.dies = {[5] = TRUE}};
    ChildJobs jobs = {.n = JOBS, .data = &sums, .work = count_up, .take = add_up};
    g_autoptr(GError) error = NULL;

    g_assert_false(child_run_all(&jobs, &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED);
    g_assert_nonnull(strstr(error->message, "ended early"));
}

static void test_a_reply_that_is_refused(void) {
    Sums sums = {.lengths = {[8] = 8}};
    ChildJobs jobs = {.n = JOBS, .data = &sums, .work = count_up, .take = add_up};
    g_autoptr(GError) error = NULL;

    g_assert_false(child_run_all(&jobs, &error));
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_SYNTAX);
}

static gboolean note_loss(gpointer data, gsize index, const char *why, GError **error) {
    Sums *sums = data;

    sums->lost[index] = g_strdup(why);
    return index != 8 || !sums->fails[8] ||
           (g_set_error_literal(error, INPUT_ERROR, INPUT_ERROR_SYNTAX, "not that either"), FALSE);
}

static void test_the_others_go_on(void) {
    Sums sums = {.fails = {[1] = TRUE},
                 .dies = {[3] = TRUE},
                 .is_killed = {[5] = TRUE},
                 .hangs = {[6] = TRUE}};
    ChildJobs jobs = {.n = JOBS,
                      .data = &sums,
                      .work = count_up,
                      .take = add_up,
                      .at_once = 3,
                      .timeout_s = 0.25,
                      .lose = note_loss};
    static const char *const whys[JOBS] = {
        [1] = "job 1", [3] = "status 3", [5] = "signal 9", [6] = "it took longer than 0.25 s"};
    g_autoptr(GError) error = NULL;

    g_assert_true(child_run_all(&jobs, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(sums.taken, ==, JOBS - 4);
    for (gsize job = 0; job < JOBS; job++) {
        g_assert_true((sums.lost[job] == NULL) == (whys[job] == NULL));
        if (whys[job] != NULL)
            g_assert_nonnull(strstr(sums.lost[job], whys[job]));
        g_free(sums.lost[job]);
    }
}

static void test_a_loss_that_is_refused(void) {
    Sums sums = {.fails = {[8] = TRUE}};
    ChildJobs jobs = {
        .n = JOBS, .data = &sums, .work = count_up, .take = add_up, .lose = note_loss};
    g_autoptr(GError) error = NULL;

    g_assert_false(child_run_all(&jobs, &error));
    g_assert_error(error, INPUT_ERROR, INPUT_ERROR_SYNTAX);
    g_free(sums.lost[8]);
}

static void test_stop(void) {
    Sums sums = {.stop_after = 2};
    ChildJobs jobs = {.n = JOBS,
                      .data = &sums,
                      .work = count_up,
                      .take = add_up,
                      .at_once = 1,
                      .stop = &sums.stop};
    g_autoptr(GError) error = NULL;

    g_assert_true(child_run_all(&jobs, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(sums.taken, ==, 2);
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/child/replies_of_any_length_come_back_whole", test_replies);
    g_test_add_func("/child/no_jobs_are_done_at_once", test_no_jobs);
    g_test_add_func("/child/the_error_is_the_earliest_failed_jobs", test_earliest_failure);
    g_test_add_func("/child/one_that_dies_is_told_of", test_a_child_that_dies);
    g_test_add_func("/child/a_reply_may_be_refused", test_a_reply_that_is_refused);
    g_test_add_func("/child/where_losses_are_taken_the_others_go_on", test_the_others_go_on);
    g_test_add_func("/child/a_loss_may_be_refused", test_a_loss_that_is_refused);
    g_test_add_func("/child/none_is_started_after_a_wish_to_stop", test_stop);
    return g_test_run();
}
