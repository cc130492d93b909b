#include "analysis/costs/cost_attention.h"

#include "actors/cluster/op_run.h"
#include "analysis/costs/cost_curve.h"
#include <math.h>

#define FIRST_OCTAVE                                                                               \
    1024                 /* contexts of the first tables; each further one covers twice as many    \
                          */
#define BLOCK_TOKENS 256 /* the choice of row blocks changes between blocks of K and V, or not */
#define CLOSE_BLOCKS 8   /* in as many of them, a part of one matters */

typedef struct Fill {
    const OpCostKey *key;
    const Platform *platform;
    Cluster *cluster;
    OpCostTable *table;
    GError **error;
} Fill;

/* --- one operator, estimated or simulated */

typedef struct Line {
    const Fill *fill;
    guint32 fixed; /* what does not vary: new tokens (0: all of the context), or the context */
} Line;

static guint64 tokens_of_rounds(const Fill *fill, guint64 rounds) {
    return (guint64)floor((double)rounds * fill->table->period);
}

static double estimate(const Fill *fill, guint64 new_tokens, guint64 context) {
    AttentionShape shape = op_run_attention_shape(fill->key, new_tokens, context - new_tokens);

    return attention_estimate_seconds(&shape, fill->platform, NULL);
}

static double simulate(const Fill *fill, guint64 new_tokens, guint64 context) {
    if (*fill->error != NULL)
        return NAN;
    return op_run_attention(fill->cluster, fill->key, new_tokens, context - new_tokens,
                            fill->error);
}

/* A point stands for the whole operator, but, where rounds add up, beyond one round for what its
 * last rows take behind a full round. */
static guint64 round_in_front(const Fill *fill, guint64 new_tokens) {
    guint64 one = tokens_of_rounds(fill, 1);

    return fill->table->additive && new_tokens > one ? one : 0;
}

typedef double (*Ask)(const Fill *fill, guint64 new_tokens, guint64 context);

static double point_seconds(const Fill *fill, Ask ask, guint64 new_tokens, guint64 context) {
    guint64 front = round_in_front(fill, new_tokens);
    double seconds = ask(fill, new_tokens, context);

    return front == 0 ? seconds : seconds - ask(fill, front, context - (new_tokens - front));
}

static double over_contexts(gconstpointer data, guint32 context) {
    const Line *line = data;

    return point_seconds(line->fill, estimate, line->fixed == 0 ? context : line->fixed, context);
}

static double over_new_tokens(gconstpointer data, guint32 new_tokens) {
    const Line *line = data;

    return point_seconds(line->fill, estimate, new_tokens, line->fixed);
}

/* --- lines over contexts */

/* Blocks of K and V end, and the kernel's vectors in them; a block that has just begun cannot hide
 * the next. Jagged: the row block may change with every block of K and V. */
static GArray *context_candidates(CostRange range, gboolean jagged) {
    GArray *x = cost_curve_new(range);
    guint64 step = BLOCK_TOKENS / 4, most = jagged ? BLOCK_TOKENS : range.to;

    while (step < range.to / 128 && step < most)
        step *= 2;
    cost_curve_add_run(x, range, 0, BLOCK_TOKENS / 4);
    for (guint64 context = range.from / step * step; context <= range.to; context += step) {
        cost_curve_add(x, range, context);
        cost_curve_add(x, range, context + 1);
    }
    for (guint64 block = 0; block < CLOSE_BLOCKS; block++)
        for (guint64 part = 8; part < BLOCK_TOKENS; part += 8)
            cost_curve_add(x, range, block * BLOCK_TOKENS + part);
    cost_curve_sort(x);
    return x;
}

/* The points of one number of new tokens (0: all of the context) over the candidates 'x'. */
static void fill_line(const Fill *fill, guint32 rows, GArray *x) {
    cost_curve_thin(x, over_contexts, &(Line){fill, rows});
    for (guint i = 0; i < x->len; i++) {
        guint32 context = g_array_index(x, guint32, i);
        double seconds = point_seconds(fill, simulate, rows == 0 ? context : rows, context);
        if (*fill->error != NULL)
            return;
        op_cost_table_add(fill->table, rows, context, seconds);
    }
}

static void fill_decode(const Fill *fill) {
    g_autoptr(GArray) x = context_candidates((CostRange){fill->key->from, fill->key->to}, FALSE);

    fill_line(fill, 1, x);
}

/* --- which numbers of new tokens need a line */

static AttentionBlocks blocks_of(const OpCostKey *key, guint64 context, const Platform *platform,
                                 GError **error) {
    AttentionShape shape = op_run_attention_shape(key, context, 0);
    AttentionProblem problem = attention_problem(&shape);
    AttentionBlocks blocks = {0};

    attention_blocks(&problem, attention_score_place(shape.variant), &platform->cluster, &blocks,
                     error);
    return blocks;
}

/* New tokens whose rows, of all query heads that share K and V, are one round of row blocks. */
static double round_tokens(const Fill *fill) {
    AttentionBlocks blocks = blocks_of(fill->key, fill->key->to, fill->platform, NULL);
    AttentionShape shape = op_run_attention_shape(fill->key, fill->key->to, 0);
    AttentionProblem problem = attention_problem(&shape);

    return (double)(blocks.rows * fill->platform->cluster.dsps) / (double)problem.group;
}

/* Within round 'round', new tokens at which the work of the busiest DSP steps: its first rows, one
 * by one. */
static GArray *new_token_candidates(const Fill *fill, guint64 round) {
    guint64 start = tokens_of_rounds(fill, round);
    CostRange range = {start + 1, MIN(fill->key->to, tokens_of_rounds(fill, round + 1))};
    GArray *x = cost_curve_new(range);

    cost_curve_add_run(x, range, start, ATTENTION_ROWS + 2);
    for (guint part = 1; part < 16; part++)
        cost_curve_add(x, range, (guint64)(((double)round + part / 16.0) * fill->table->period));
    cost_curve_sort(x);
    return x;
}

/* The lines of a round, judged at three contexts of the table. Where blocks of 64 rows do not fit,
 * how many do steps with the context and the rows of a short prompt: all of those have lines. */
static GArray *choose_lines(const Fill *fill, guint64 round) {
    GArray *all = new_token_candidates(fill, round);
    g_autofree gboolean *kept = g_new0(gboolean, all->len);
    guint64 from = fill->key->from, to = fill->key->to;
    const guint64 contexts[] = {MAX(from, BLOCK_TOKENS), (from + to) / 2, to};
    gboolean cut = blocks_of(fill->key, to, fill->platform, NULL).rows < ATTENTION_ROWS;

    for (guint i = 0; i < G_N_ELEMENTS(contexts); i++) {
        g_autoptr(GArray) x = g_array_new(FALSE, FALSE, sizeof(guint32));
        for (guint j = 0; j < all->len; j++)
            cost_curve_add(x, (CostRange){1, contexts[i]}, g_array_index(all, guint32, j));
        cost_curve_mark(x, over_new_tokens, &(Line){fill, (guint32)contexts[i]}, kept);
    }
    for (guint i = 0; cut && i < all->len; i++)
        kept[i] |= g_array_index(all, guint32, i) <= ATTENTION_ROWS + 1;
    cost_curve_keep(all, kept);
    return all;
}

/* --- one more round */

/* What rounds in front of an operator take, each, and the tokens that the last row of each sees on
 * average. */
typedef struct Rounds {
    double seconds, sees;
} Rounds;

/* 'rounds' of them, as the first of 'new_tokens' over 'context' tokens. */
static Rounds rounds_before(const Fill *fill, guint64 new_tokens, guint64 rounds, guint64 context) {
    guint64 without = new_tokens - tokens_of_rounds(fill, rounds);
    double n = (double)rounds;
    double more_s = simulate(fill, new_tokens, context) - simulate(fill, without, context);

    return (Rounds){more_s / n, (double)(context - new_tokens) + fill->table->period * (n + 1) / 2};
}

/* A line through what rounds take: the next ones before those with lines, as many as see all parts
 * of a block of K and V, and all that there can be; or, if that is only one, when it has just
 * begun. */
static void add_round(const Fill *fill, guint32 context) {
    double period = fill->table->period;
    guint lined = fill->table->lined_rounds;
    guint64 lines = tokens_of_rounds(fill, lined);
    guint64 all = MAX((guint64)((double)context / period), lined) - lined;
    guint64 some = CLAMP((guint64)(4 * BLOCK_TOKENS / period), 1, MAX(all / 2, 1));
    guint64 longest = MIN(tokens_of_rounds(fill, lined + some), context);
    guint64 least = lines + (longest - lines + 7) / 8;
    OpCostRound one = {.context = context};

    Rounds a = rounds_before(fill, longest, some, context);
    Rounds b = all > some ? rounds_before(fill, tokens_of_rounds(fill, lined + all), all, context)
                          : rounds_before(fill, least, 1, context);
    if (a.sees != b.sees)
        one.per_token_s = (a.seconds - b.seconds) / (a.sees - b.sees);
    one.fixed_s = a.seconds - one.per_token_s * a.sees;
    if (*fill->error == NULL)
        g_array_append_val(fill->table->rounds, one);
}

/* At contexts where a block of K and V begins, and with it more scores may lie in GSM. */
static void fill_rounds(const Fill *fill) {
    guint64 lines = tokens_of_rounds(fill, fill->table->lined_rounds), to = fill->key->to;
    guint64 from = MAX(fill->key->from, lines + (guint64)(fill->table->period / 2) + 1);
    CostRange range = {MIN(from, to), to};
    g_autoptr(GArray) x = cost_curve_new(range);

    for (guint64 block = BLOCK_TOKENS; block <= to; block += BLOCK_TOKENS) {
        cost_curve_add(x, range, block);
        cost_curve_add(x, range, block + 1);
    }
    cost_curve_sort(x);
    cost_curve_thin(x, over_contexts, &(Line){fill, (guint32)lines});
    for (guint i = 0; i < x->len && to > lines; i++)
        add_round(fill, g_array_index(x, guint32, i));
}

/* --- prompts */

static void fill_whole(const Fill *fill, guint rounds) {
    CostRange range = {fill->key->from, MIN(fill->key->to, tokens_of_rounds(fill, rounds))};
    g_autoptr(GArray) x = context_candidates(range, FALSE);

    for (guint64 round = 0; round < rounds; round++) {
        cost_curve_add(x, range, tokens_of_rounds(fill, round));
        cost_curve_add_run(x, range, tokens_of_rounds(fill, round), ATTENTION_ROWS + 2);
    }
    cost_curve_sort(x);
    if (range.from <= range.to)
        fill_line(fill, 0, x);
}

static void fill_prefill(const Fill *fill) {
    AttentionBlocks blocks = blocks_of(fill->key, fill->key->to, fill->platform, NULL);
    double period = round_tokens(fill);

    fill->table->period = period;
    /* Scores that wait on the chip for whole rows bind the blocks to the context; but as long as
     * all blocks have their full rows, hardly. */
    fill->table->additive =
        fill->key->attention == OP_ATTENTION_FLASH || blocks.rows == ATTENTION_ROWS;
    /* Prompts of up to ATTENTION_ROWS tokens are spread over the DSPs in their own way; what is
     * left of a longer one must not be mistaken for one of them. */
    fill->table->lined_rounds = MAX(1 + (guint)ceil(ATTENTION_ROWS / period), 2);
    fill_whole(fill, fill->table->lined_rounds);
    for (guint64 round = 0; round < fill->table->lined_rounds; round++) {
        g_autoptr(GArray) lines = choose_lines(fill, round);
        for (guint i = 0; i < lines->len && *fill->error == NULL; i++) {
            guint32 rows = g_array_index(lines, guint32, i);
            g_autoptr(GArray) contexts = context_candidates(
                (CostRange){MAX(fill->key->from, rows), fill->key->to}, rows <= ATTENTION_ROWS + 1);
            fill_line(fill, rows, contexts);
        }
    }
    if (!fill->table->additive)
        fill_rounds(fill);
}

gboolean cost_attention_fill(OpCostTable *table, Cluster *cluster, GError **error) {
    Fill fill = {.key = &table->key,
                 .platform = cluster_platform(cluster),
                 .cluster = cluster,
                 .table = table,
                 .error = error};

    if (table->key.family == OP_COST_DECODE)
        fill_decode(&fill);
    else
        fill_prefill(&fill);
    return *error == NULL;
}

/* A table for each octave of contexts, the last up to what fits; for prompts also for each choice
 * of row blocks. */
gboolean cost_attention_tables(const OpCostKey *key, guint64 most, const Platform *platform,
                               GArray *keys, GError **error) {
    guint64 octave = FIRST_OCTAVE;
    OpCostKey part = *key;

    part.from = 1;
    for (guint64 to = BLOCK_TOKENS; part.from <= most; to += BLOCK_TOKENS) {
        g_autoptr(GError) failure = NULL;
        guint64 rows = blocks_of(key, to, platform, &failure).rows;
        if (failure != NULL) {
            g_propagate_error(error, g_steal_pointer(&failure));
            return FALSE;
        }
        guint64 rows_after = blocks_of(key, to + 1, platform, NULL).rows;
        gboolean cut = rows_after == 0 || (key->family == OP_COST_PREFILL && rows_after != rows);
        if (to != octave && !cut)
            continue;
        part.to = to;
        g_array_append_val(keys, part);
        part.from = to + 1;
        octave = to == octave ? 2 * octave : octave;
    }
    return TRUE;
}
