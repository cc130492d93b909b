#include "policies/batching.h"

typedef struct Case {
    const char *name;
    BatchingKind kind;
    BatchState state; /* running, held, slots, ready, upstream_quiet */
    guint expected;
} Case;

static const Case cases[] = {
    {"synchronous/none_while_it_runs", BATCHING_SYNCHRONOUS, {1, 8, 8, 100, TRUE}, 0},
    {"synchronous/none_into_the_gaps", BATCHING_SYNCHRONOUS, {3, 8, 8, 5, TRUE}, 0},
    {"synchronous/replaced_at_its_end", BATCHING_SYNCHRONOUS, {0, 8, 8, 100, FALSE}, 8},
    {"synchronous/first_full_batch", BATCHING_SYNCHRONOUS, {0, 0, 8, 8, FALSE}, 8},
    {"synchronous/waits_to_be_full", BATCHING_SYNCHRONOUS, {0, 0, 8, 7, FALSE}, 0},
    {"synchronous/partial_when_none_follow", BATCHING_SYNCHRONOUS, {0, 0, 8, 7, TRUE}, 7},
    {"synchronous/nothing_ready", BATCHING_SYNCHRONOUS, {0, 8, 8, 0, TRUE}, 0},
    {"continuous/fills_free_slots", BATCHING_CONTINUOUS, {5, 5, 8, 100, FALSE}, 3},
    {"continuous/takes_what_is_ready", BATCHING_CONTINUOUS, {5, 5, 8, 2, FALSE}, 2},
    {"continuous/does_not_wait_to_be_full", BATCHING_CONTINUOUS, {0, 0, 8, 1, FALSE}, 1},
    {"continuous/full", BATCHING_CONTINUOUS, {8, 8, 8, 100, TRUE}, 0},
    {"continuous/held_slots_are_not_free", BATCHING_CONTINUOUS, {2, 7, 8, 100, TRUE}, 1},
    {"continuous/more_ready_than_32_bits",
     BATCHING_CONTINUOUS,
     {0, 0, 8, G_GUINT64_CONSTANT(1) << 40, TRUE},
     8},
};

static void admits(gconstpointer data) {
    const Case *row = data;
    g_assert_cmpuint(batching_admit(row->kind, &row->state), ==, row->expected);
}

/* Never more than are ready or than there are slots; a batch at its end with a full batch ready
 * is the one thing that both rules treat alike. */
static void never_admits_too_many(void) {
    for (guint slots = 1; slots <= 4; slots++) {
        for (guint held = 0; held <= slots; held++) {
            for (guint running = 0; running <= held; running++) {
                for (guint ready = 0; ready <= 6; ready++) {
                    BatchState state = {running, held, slots, ready, ready % 2 == 0};
                    guint synchronous = batching_admit(BATCHING_SYNCHRONOUS, &state);
                    guint continuous = batching_admit(BATCHING_CONTINUOUS, &state);
                    g_assert_cmpuint(synchronous, <=, MIN(ready, slots));
                    g_assert_cmpuint(continuous, ==, MIN(ready, slots - held));
                    if (running > 0)
                        g_assert_cmpuint(synchronous, ==, 0);
                }
            }
        }
    }
}

/* From the slots that are needed on, more of them change nothing; and with one less something may.
 */
static void needs_the_slots_that_count(void) {
    for (BatchingKind kind = BATCHING_SYNCHRONOUS; kind <= BATCHING_CONTINUOUS; kind++) {
        for (guint all = 0; all < 2 * 4 * 4 * 7; all++) {
            BatchState state = {.running = all / 2 % 4,
                                .held = all / 8 % 4,
                                .slots = 1000,
                                .ready = all / 32,
                                .upstream_quiet = all % 2 == 0};
            guint unlimited = batching_admit(kind, &state);
            guint64 needed = batching_slots_needed(kind, &state);
            for (guint slots = (guint)MAX(needed, 1); slots <= needed + 4; slots++) {
                state.slots = slots;
                g_assert_cmpuint(batching_admit(kind, &state), ==, unlimited);
                g_assert_cmpuint(batching_slots_needed(kind, &state), ==, needed);
            }
            if (kind == BATCHING_SYNCHRONOUS || state.ready == 0)
                continue;
            state.slots = (guint)needed - 1;
            g_assert_cmpuint(batching_admit(kind, &state), !=, unlimited);
        }
    }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strconcat("/batching/", cases[i].name, NULL);
        g_test_add_data_func(path, &cases[i], admits);
    }
    g_test_add_func("/batching/never_admits_too_many", never_admits_too_many);
    g_test_add_func("/batching/needs_the_slots_that_count", needs_the_slots_that_count);
    return g_test_run();
}
