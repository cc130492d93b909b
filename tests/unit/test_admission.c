#include "policies/admission.h"
#include "workloads/random.h"

/* Requests are opaque: here, numbers. */
static gpointer request(guint number) {
    return GUINT_TO_POINTER(number);
}

static void assert_next(AdmissionQueue *queue, guint expected) {
    guint64 length = admission_queue_length(queue);
    g_assert_cmpuint(GPOINTER_TO_UINT(admission_queue_peek(queue)), ==, expected);
    g_assert_cmpuint(GPOINTER_TO_UINT(admission_queue_pop(queue)), ==, expected);
    g_assert_cmpuint(admission_queue_length(queue), ==, length - 1);
}

static void fcfs_keeps_the_order_of_arrival(void) {
    g_autoptr(AdmissionQueue) queue = admission_queue_new(ADMISSION_FCFS);
    const guint32 prompts[] = {500, 1, 900, 1};
    for (guint i = 0; i < 4; i++)
        admission_queue_push(queue, request(i + 1), prompts[i]);
    for (guint i = 0; i < 4; i++)
        assert_next(queue, i + 1);
}

static void shortest_prompt_goes_first_and_ties_by_arrival(void) {
    g_autoptr(AdmissionQueue) queue = admission_queue_new(ADMISSION_SHORTEST_PROMPT);
    const guint32 prompts[] = {500, 7, 900, 7, 500, 1};
    const guint expected[] = {6, 2, 4, 1, 5, 3};
    for (guint i = 0; i < 6; i++)
        admission_queue_push(queue, request(i + 1), prompts[i]);
    for (guint i = 0; i < 6; i++)
        assert_next(queue, expected[i]);
}

static void what_came_back_goes_first_last_one_ahead(gconstpointer data) {
    g_autoptr(AdmissionQueue) queue = admission_queue_new((AdmissionKind)GPOINTER_TO_INT(data));
    admission_queue_push(queue, request(1), 1);
    admission_queue_push_front(queue, request(2));
    admission_queue_push_front(queue, request(3));
    admission_queue_push(queue, request(4), 2);
    g_assert_cmpuint(admission_queue_length(queue), ==, 4);
    const guint expected[] = {3, 2, 1, 4};
    for (guint i = 0; i < 4; i++)
        assert_next(queue, expected[i]);
}

static void empty_gives_nothing(gconstpointer data) {
    g_autoptr(AdmissionQueue) queue = admission_queue_new((AdmissionKind)GPOINTER_TO_INT(data));
    for (guint round = 0; round < 2; round++) {
        g_assert_null(admission_queue_peek(queue));
        g_assert_null(admission_queue_pop(queue));
        g_assert_cmpuint(admission_queue_length(queue), ==, 0);
        admission_queue_push(queue, request(1), 1);
        assert_next(queue, 1);
    }
}

/* The same by scanning a list: what a queue should give next. */
typedef struct Waiting {
    guint number;
    guint32 prompt_tokens;
    gboolean front;
} Waiting;

static guint naive_next(const GArray *list, AdmissionKind kind) {
    guint best = 0;
    for (guint i = 1; i < list->len; i++) {
        const Waiting *candidate = &g_array_index(list, Waiting, i);
        const Waiting *leader = &g_array_index(list, Waiting, best);
        gboolean shorter = kind == ADMISSION_SHORTEST_PROMPT && !leader->front &&
                           candidate->prompt_tokens < leader->prompt_tokens;
        if (candidate->front || shorter) /* of those in front, the latest */
            best = i;
    }
    return best;
}

static void agrees_with_a_scanned_list(gconstpointer data) {
    AdmissionKind kind = (AdmissionKind)GPOINTER_TO_INT(data);
    g_autoptr(AdmissionQueue) queue = admission_queue_new(kind);
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(Waiting));
    RandomStream stream = random_stream(7, "admission");
    for (guint i = 1; i <= 20000; i++) {
        /* Grows to some hundreds, shrinks to nothing, and again. */
        gboolean growing = (i / 1000) % 2 == 0;
        if (list->len > 0 && random_below(&stream, 10) < (growing ? 3 : 7)) {
            guint next = naive_next(list, kind);
            assert_next(queue, g_array_index(list, Waiting, next).number);
            g_array_remove_index(list, next);
            continue;
        }
        Waiting waiting = {i, (guint32)random_below(&stream, 50), random_below(&stream, 8) == 0};
        if (waiting.front)
            admission_queue_push_front(queue, request(i));
        else
            admission_queue_push(queue, request(i), waiting.prompt_tokens);
        g_array_append_val(list, waiting);
        g_assert_cmpuint(admission_queue_length(queue), ==, list->len);
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/admission/fcfs/keeps_the_order_of_arrival", fcfs_keeps_the_order_of_arrival);
    g_test_add_func("/admission/shortest_prompt/goes_first_and_ties_by_arrival",
                    shortest_prompt_goes_first_and_ties_by_arrival);
    static const struct {
        const char *name;
        AdmissionKind kind;
    } kinds[] = {{"fcfs", ADMISSION_FCFS}, {"shortest_prompt", ADMISSION_SHORTEST_PROMPT}};
    static const struct {
        const char *name;
        GTestDataFunc test;
    } tests[] = {
        {"what_came_back_goes_first_last_one_ahead", what_came_back_goes_first_last_one_ahead},
        {"empty_gives_nothing", empty_gives_nothing},
        {"agrees_with_a_scanned_list", agrees_with_a_scanned_list},
    };
    for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
        for (guint t = 0; t < G_N_ELEMENTS(tests); t++) {
            g_autofree char *path =
                g_strdup_printf("/admission/%s/%s", kinds[k].name, tests[t].name);
            g_test_add_data_func(path, GINT_TO_POINTER(kinds[k].kind), tests[t].test);
        }
    }
    return g_test_run();
}
