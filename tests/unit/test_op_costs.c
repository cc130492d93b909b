/* Tables of operator costs: looking up, and their text. */
#include "platforms/op_costs.h"

#include "workloads/input_error.h"
#include <math.h>
#include <string.h>

static const Platform platform = {
    .cluster = {.dsps = 24, .clock_hz = 1.8e9, .ddr_bytes_per_s = 30e9},
    .hthreads = {.launch_group_s = 78e-6},
};

static const OpCostKey linear_key = {.family = OP_COST_LINEAR, .outputs = 64, .inputs = 32};
static const OpCostKey prompt_key = {
    .family = OP_COST_PREFILL, .heads = 8, .kv_heads = 2, .head_dim = 16};

static OpCostTable *table_of(OpCostKey key, guint64 from, guint64 to, double period) {
    key.from = from;
    key.to = to;
    OpCostTable *table = op_cost_table_new(&key);
    table->period = period;
    table->lined_rounds = 2;
    return table;
}

static double linear_s(const OpCosts *costs, guint64 rows) {
    Op op = op_linear("x", rows, 64, 32, DATA_TYPE_FP16);
    return op_costs_seconds(costs, &op);
}

static double attention_s(const OpCosts *costs, guint64 new_tokens, guint64 past) {
    Op op = {.kind = OP_ATTENTION,
             .m = new_tokens,
             .n = new_tokens + past,
             .k = 16,
             .heads = 8,
             .kv_heads = 2};
    return op_costs_seconds(costs, &op);
}

static void assert_near(double actual, double expected) {
    g_assert_cmpfloat_with_epsilon(actual, expected, 1e-9 * fabs(expected));
}

/* Few rows up to 10, then blocks of 100 that step at their first row. */
static OpCosts *stairs(void) {
    static const struct {
        guint32 rows;
        double seconds;
    } points[] = {{11, 2e-3}, {100, 2e-3}, {101, 4e-3}, {150, 5e-3}, {200, 5e-3}};
    OpCosts *costs = op_costs_new((OpModes){0});
    OpCostTable *few = table_of(linear_key, 1, 10, 0), *rows = table_of(linear_key, 11, 200, 100);
    op_cost_table_add(few, 1, 0, 1e-3);
    op_cost_table_add(few, 10, 0, 1.9e-3);
    for (gsize i = 0; i < G_N_ELEMENTS(points); i++)
        op_cost_table_add(rows, points[i].rows, 0, points[i].seconds);
    op_costs_add(costs, few);
    op_costs_add(costs, rows);
    return costs;
}

static void test_a_linear_is_exact_at_points_and_straight_between(void) {
    static const struct {
        guint64 rows;
        double seconds;
    } expected[] = {{1, 1e-3},   {4, 1.3e-3},  {10, 1.9e-3},  {11, 2e-3},
                    {99, 2e-3},  {100, 2e-3},  {101, 4e-3},   {150, 5e-3},
                    {151, 5e-3}, {200, 5e-3},  {201, 7e-3},   {250, 8e-3},
                    {300, 8e-3}, {301, 10e-3}, {1000, 29e-3}, {1001, 31e-3}};
    g_autoptr(OpCosts) costs = stairs();
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++)
        assert_near(linear_s(costs, expected[i].rows), expected[i].seconds);
}

static void test_times_are_whole_picoseconds(void) {
    g_autoptr(OpCostTable) table = table_of(linear_key, 1, 10, 0);
    op_cost_table_add(table, 1, 0, 1.23456789012349e-3);
    g_assert_cmpuint(g_array_index(table->points, OpCostPoint, 0).picoseconds, ==, 1234567890);
}

/* A prompt of r tokens in c of context: rounds of 10 tokens, each 1 us + 0.1 us a token it sees. */
static double round_s(double sees) {
    return 1e-6 + 0.1e-6 * sees;
}

static double prompt_s(guint32 rows, guint32 context) {
    double seconds = 0;
    for (guint32 done = 0; done < rows; done += 10)
        seconds += round_s(context - rows + MIN(done + 10, rows));
    return seconds;
}

/* With lines for every number of new tokens of two rounds. */
static OpCosts *prompts(gboolean additive) {
    OpCosts *costs = op_costs_new((OpModes){0});
    OpCostTable *table = table_of(prompt_key, 1, 100, 10);
    table->additive = additive;
    for (guint32 all = 1; all <= 20; all++)
        op_cost_table_add(table, 0, all,
                          prompt_s(all, all) - (additive && all > 10 ? prompt_s(10, 10) : 0));
    for (guint32 rows = 1; rows <= 20; rows++) {
        gboolean behind = additive && rows > 10;
        for (guint32 end = 0; end < 2; end++) {
            guint32 context = end == 0 ? rows : 100;
            double front_s = behind ? prompt_s(10, context - (rows - 10)) : 0;
            op_cost_table_add(table, rows, context, prompt_s(rows, context) - front_s);
        }
    }
    for (guint32 context = 30; context <= 100 && !additive; context += 70) {
        OpCostRound one = {context, 1e-6, 0.1e-6};
        g_array_append_val(table->rounds, one);
    }
    op_costs_add(costs, table);
    return costs;
}

static void check_prompts(gboolean additive) {
    g_autoptr(OpCosts) costs = prompts(additive);
    for (guint32 context = 2; context <= 100; context++)
        for (guint32 rows = 2; rows <= context; rows++) {
            gboolean whole = rows == context && !additive && rows > 20;
            if (!whole || rows >= 30)
                assert_near(attention_s(costs, rows, context - rows), prompt_s(rows, context));
        }
}

static void test_rounds_of_prompts_add_up(void) {
    check_prompts(TRUE);
}

static void test_rounds_of_prompts_follow_their_line(void) {
    check_prompts(FALSE);
}

/* Half way between lines in both directions, and between a line and the whole prompt. */
static void test_prompts_between_lines(void) {
    g_autoptr(OpCosts) costs = op_costs_new((OpModes){0});
    OpCostTable *table = table_of(prompt_key, 1, 100, 1000);
    op_cost_table_add(table, 0, 1, 1e-6);
    op_cost_table_add(table, 0, 100, 100e-6);
    op_cost_table_add(table, 1, 1, 1e-6);
    op_cost_table_add(table, 1, 100, 2e-6);
    op_cost_table_add(table, 90, 90, 90e-6);
    op_cost_table_add(table, 90, 100, 110e-6);
    op_costs_add(costs, table);
    assert_near(attention_s(costs, 90, 5), 100e-6);
    /* context 95: 1 + 94/99 on the first line, 100 on the other; 44.5 tokens of 89 between */
    assert_near(attention_s(costs, 45, 50),
                1e-6 * ((1 + 94 / 99.0) + (98 - 94 / 99.0 + 1) * 44 / 89));
    /* context 51: only the whole prompt of 51 comes after 1 */
    assert_near(attention_s(costs, 26, 25), 1e-6 * ((1 + 50 / 99.0) + (50 - 50 / 99.0) / 2));
}

static OpCostTable *full_table(void) {
    OpCostTable *table = table_of(prompt_key, 1, 1024, 219.428571428571428);
    OpCostRound one = {700, 1.0 / 3.0, 1e-300};
    table->additive = TRUE;
    op_cost_table_add(table, 0, 1, 1e-3);
    op_cost_table_add(table, 1, 1024, 3600);
    g_array_append_val(table->rounds, one);
    return table;
}

static void test_text_reads_back_the_same(void) {
    g_autoptr(OpCostTable) table = full_table();
    g_autofree char *identity = op_cost_identity(&table->key, &platform);
    g_autofree char *text = op_cost_table_text(table, identity);
    g_autoptr(GError) error = NULL;
    g_autoptr(OpCostTable) again = op_cost_table_parse(text, &table->key, identity, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat(again->period, ==, table->period);
    g_assert_cmpuint(again->lined_rounds, ==, 2);
    g_assert_true(again->additive);
    g_assert_cmpmem(again->points->data, again->points->len * sizeof(OpCostPoint),
                    table->points->data, table->points->len * sizeof(OpCostPoint));
    const OpCostRound *a = &g_array_index(again->rounds, OpCostRound, 0);
    g_assert_cmpuint(again->rounds->len, ==, 1);
    g_assert_cmpfloat(a->fixed_s, ==, 1.0 / 3.0);
    g_assert_cmpfloat(a->per_token_s, ==, 1e-300);
    g_autofree char *second = op_cost_table_text(again, identity);
    g_assert_cmpstr(second, ==, text);
}

static void assert_refused(const char *text, const OpCostTable *table, const char *identity) {
    g_autoptr(GError) error = NULL;
    g_assert_null(op_cost_table_parse(text, &table->key, identity, &error));
    g_assert_true(error->domain == INPUT_ERROR);
}

static void test_damaged_text_is_refused(void) {
    g_autoptr(OpCostTable) table = full_table();
    g_autofree char *identity = op_cost_identity(&table->key, &platform);
    g_autofree char *text = op_cost_table_text(table, identity);
    gsize length = strlen(text);
    for (gsize cut = 0; cut < length; cut++) {
        g_autofree char *part = g_strndup(text, cut);
        assert_refused(part, table, identity);
        g_autofree char *flipped = g_strdup(text);
        flipped[cut] ^= 1;
        assert_refused(flipped, table, identity);
    }
    Platform other = platform;
    other.cluster.ddr_bytes_per_s = nextafter(30e9, 0);
    g_autofree char *elsewhere = op_cost_identity(&table->key, &other);
    assert_refused(text, table, elsewhere);
}

/* Every number that a time depends on changes the name of the file. */
static void test_a_file_is_named_after_all_it_depends_on(void) {
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    OpCostKey keys[] = {linear_key, linear_key, linear_key, linear_key, prompt_key,
                        prompt_key, prompt_key, prompt_key, prompt_key, prompt_key};
    Platform machines[5] = {platform, platform, platform, platform, platform};
    keys[1].outputs++;
    keys[2].inputs++;
    keys[3].type = DATA_TYPE_FP32;
    keys[5].heads *= 2;
    keys[6].kv_heads = 1;
    keys[7].attention = OP_ATTENTION_FLASH;
    keys[8].family = OP_COST_DECODE;
    keys[9].to++;
    machines[1].cluster.clock_hz++;
    machines[2].cluster.softmax_cycles_per_score = 1;
    machines[3].hthreads.launch_group_s = 0;
    machines[4].cluster.gsm_bytes = 1;
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        for (gsize j = 0; j < G_N_ELEMENTS(machines); j++) {
            g_autofree char *identity = op_cost_identity(&keys[i], &machines[j]);
            g_hash_table_add(names, op_cost_file_name(identity));
        }
    g_assert_cmpuint(g_hash_table_size(names), ==, G_N_ELEMENTS(keys) * G_N_ELEMENTS(machines));
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/op_costs/a_linear_is_exact_at_points_and_straight_between",
                    test_a_linear_is_exact_at_points_and_straight_between);
    g_test_add_func("/op_costs/times_are_whole_picoseconds", test_times_are_whole_picoseconds);
    g_test_add_func("/op_costs/rounds_of_prompts_add_up", test_rounds_of_prompts_add_up);
    g_test_add_func("/op_costs/rounds_of_prompts_follow_their_line",
                    test_rounds_of_prompts_follow_their_line);
    g_test_add_func("/op_costs/prompts_between_lines", test_prompts_between_lines);
    g_test_add_func("/op_costs/text_reads_back_the_same", test_text_reads_back_the_same);
    g_test_add_func("/op_costs/damaged_text_is_refused", test_damaged_text_is_refused);
    g_test_add_func("/op_costs/a_file_is_named_after_all_it_depends_on",
                    test_a_file_is_named_after_all_it_depends_on);
    return g_test_run();
}
