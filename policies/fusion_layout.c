#include "policies/fusion_layout.h"

#define BLOCK_COLUMNS 128  /* of a product of activations: the kernel's N1 (THInfer III.B.2) */
#define SUM_BYTES 4        /* FP32 accumulation (THInfer III.B.4) */
#define STATISTICS_BYTES 8 /* of a row that is reduced: its maximum or scale, and its sum, FP32 */

/* Rows of attention's blocks: 64 as the steps of THInfer table IX show, fewer for long contexts. */
static const guint64 row_ladder[] = {64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1};

/* One operator of the set. */
typedef struct Member {
    const ListedOp *listed;
    const Operand *operands;
    gboolean dense, linear; /* linear: dense with weights */
    guint64 kg;             /* linear: columns of X that its block in GSM holds */
    guint stage;            /* how many dense operators began before it, the first set apart */
    guint place;            /* the member in whose place its result stands */
    guint readers;          /* among the members */
} Member;

typedef struct Sketch {
    const FusionInput *input;
    const GArray *ops;
    Member *members;
    gboolean has_dense, has_linear;
    guint64 tile_columns;
    guint64 rows;          /* of the Linear operators; of the set's rows without them */
    GemmFootprint linears; /* their blocks side by side */
} Sketch;

gboolean fusion_is_dense(const Op *op) {
    return op->macs > 0.0;
}

guint fusion_place_in(const GArray *members, guint op) {
    guint low = 0, high = members->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (g_array_index(members, guint, middle) < op)
            low = middle + 1;
        else
            high = middle;
    }
    gboolean found = low < members->len && g_array_index(members, guint, low) == op;
    return found ? low : G_MAXUINT;
}

static BarrierKind lacking_tier(const GemmFootprint *bytes, const ClusterSpec *cluster) {
    if (bytes->gsm_bytes > cluster->gsm_bytes)
        return BARRIER_GSM;
    if (bytes->am_bytes > cluster->am_bytes)
        return BARRIER_AM;
    return bytes->sm_bytes > cluster->sm_bytes ? BARRIER_SM : BARRIER_NONE;
}

static gboolean halve(guint64 *length) {
    if (*length <= 1)
        return FALSE;
    *length = (*length + 1) / 2;
    return TRUE;
}

static gboolean shrink(GemmBlocks *blocks, BarrierKind tier) {
    switch (tier) {
    case BARRIER_SM:
        return halve(&blocks->k2) || halve(&blocks->m2);
    case BARRIER_AM:
        return blocks->n2 >= blocks->k2 ? halve(&blocks->n2) : halve(&blocks->k2);
    case BARRIER_GSM:
        return halve(&blocks->kg) || halve(&blocks->mg);
    default:
        return FALSE;
    }
}

/* The paper's blocks, no larger than the matrices and than the memories. */
static GemmBlocks linear_blocks(const Op *op, const ClusterSpec *cluster) {
    GemmBlocks blocks = gemm_blocks_paper(op->data_type);
    blocks.m2 = MIN(blocks.m2, op->m);
    blocks.k2 = MIN(blocks.k2, op->k);
    blocks.n2 = MIN(blocks.n2, op->n);
    blocks.mg = MIN(blocks.mg, op->m);
    blocks.kg = MIN(blocks.kg, op->k);
    GemmFootprint footprint = gemm_footprint(&blocks, op->n, op->data_type);
    while (shrink(&blocks, lacking_tier(&footprint, cluster)))
        footprint = gemm_footprint(&blocks, op->n, op->data_type);
    return blocks;
}

static void sketch_linear(Sketch *sketch, Member *member) {
    const Op *op = &member->listed->op;
    GemmBlocks blocks = linear_blocks(op, sketch->input->cluster);
    GemmFootprint footprint = gemm_footprint(&blocks, op->n, op->data_type);
    member->kg = blocks.kg;
    sketch->linears.sm_bytes += footprint.sm_bytes;
    sketch->linears.am_bytes += footprint.am_bytes;
    sketch->linears.gsm_bytes += footprint.gsm_bytes;
    sketch->rows = sketch->has_linear ? MIN(sketch->rows, blocks.m2) : blocks.m2;
    sketch->tile_columns = MAX(sketch->tile_columns, blocks.n2);
    sketch->has_linear = TRUE;
}

static void sketch_member(Sketch *sketch, guint index, guint *dense_before) {
    guint op_index = g_array_index(sketch->ops, guint, index);
    Member *member = &sketch->members[index];
    member->listed = op_list_get(sketch->input->list, op_index);
    member->operands = op_list_operands(sketch->input->list, op_index);
    const Op *op = &member->listed->op;
    member->dense = fusion_is_dense(op);
    member->linear = member->dense && op->weight_bytes > 0.0;
    member->place = index;
    *dense_before += member->dense ? 1 : 0;
    member->stage = MAX(*dense_before, 1) - 1;
    sketch->has_dense |= member->dense;
    if (member->linear)
        sketch_linear(sketch, member);
    else if (!sketch->has_linear)
        sketch->rows = MAX(sketch->rows, op->m);
}

/* Low operators take the place of the operand that nothing else among the members reads. */
static void sketch_places(Sketch *sketch) {
    for (guint i = 0; i < sketch->ops->len; i++) {
        Member *member = &sketch->members[i];
        for (guint j = 0; j < member->listed->n_operands && !member->dense; j++) {
            guint from = fusion_place_in(sketch->ops, member->operands[j].producer);
            if (from == G_MAXUINT || sketch->members[from].readers != 1 ||
                sketch->members[from].listed->op.n != member->listed->op.n)
                continue;
            member->place = sketch->members[from].place;
        }
    }
}

static void sketch_readers(Sketch *sketch) {
    for (guint i = 0; i < sketch->ops->len; i++) {
        const Member *member = &sketch->members[i];
        for (guint j = 0; j < member->listed->n_operands; j++) {
            guint from = fusion_place_in(sketch->ops, member->operands[j].producer);
            if (from != G_MAXUINT)
                sketch->members[from].readers++;
        }
    }
}

/* Bytes a row that 'from' must keep in AM for 'reader'. */
static double waiting_row_bytes(const Sketch *sketch, const Member *from, const Member *reader,
                                OperandReach reach) {
    g_assert(from->listed);
    const Op *op = &from->listed->op;
    double element = data_type_bytes(op->data_type);
    if (reader->linear)
        return op->n > reader->kg ? (double)(op->n - reader->kg) * element : 0.0;
    if (reach == REACH_TILE && from->stage == reader->stage)
        return 0.0;
    if (sketch->members[from->place].dense)
        element = SUM_BYTES;
    gboolean reduced = reach == REACH_ROWS && !reader->dense;
    return (double)op->n * element + (reduced ? STATISTICS_BYTES : 0.0);
}

/* What lies between members: bytes a row in AM by the place that holds them, and the sum of what
 * lies whole in GSM. */
typedef struct Waiting {
    double *row_bytes; /* by member */
    double whole_bytes;
} Waiting;

static void find_waiting(const Sketch *sketch, Waiting *waiting) {
    guint n = sketch->ops->len;
    g_autofree double *wholes = g_new0(double, n);
    for (guint i = 0; i < n; i++) {
        const Member *reader = &sketch->members[i];
        for (guint j = 0; j < reader->listed->n_operands; j++) {
            const Operand *operand = &reader->operands[j];
            guint from = fusion_place_in(sketch->ops, operand->producer);
            if (from == G_MAXUINT)
                continue;
            const Member *producer = &sketch->members[from];
            if (operand->reach == REACH_WHOLE) {
                wholes[from] = MAX(wholes[from], operand->bytes);
                continue;
            }
            double row = waiting_row_bytes(sketch, producer, reader, operand->reach);
            double *held = &waiting->row_bytes[producer->place];
            *held = MAX(*held, row);
        }
    }
    for (guint i = 0; i < n; i++)
        waiting->whole_bytes += wholes[i];
}

/* A product of activations: rows of the left operand, the right one's block twice, and its sums
 * unless they wait in whole rows anyway. */
static void add_product_blocks(const Op *op, guint64 rows, gboolean waits, GemmFootprint *bytes) {
    double element = data_type_bytes(op->data_type), block_rows = (double)rows;
    double depth = (double)MIN(op->k, BLOCK_COLUMNS), columns = (double)MIN(op->n, BLOCK_COLUMNS);
    bytes->sm_bytes += block_rows * depth * element;
    bytes->am_bytes += 2.0 * depth * columns * element;
    bytes->am_bytes += waits ? 0.0 : block_rows * columns * SUM_BYTES;
}

/* Two tiles for each operand that comes from off-chip memory: the next one is on its way while
 * this one is worked on (THInfer III.B). */
static void add_streams(const Sketch *sketch, const Member *member, guint64 rows,
                        GemmFootprint *bytes) {
    const Op *op = &member->listed->op;
    double element = data_type_bytes(op->data_type);
    double tile = (double)rows * (double)MIN(op->n, sketch->tile_columns);
    bytes->am_bytes += op->weight_bytes;
    for (guint j = 0; j < member->listed->n_operands; j++) {
        const Operand *operand = &member->operands[j];
        if (fusion_place_in(sketch->ops, operand->producer) != G_MAXUINT)
            continue;
        bytes->am_bytes += 2.0 * element * (operand->reach == REACH_ROWS ? (double)op->n : tile);
    }
}

static FusionLayout lay_out(const Sketch *sketch, const Waiting *waiting, guint64 rows) {
    const ClusterSpec *cluster = sketch->input->cluster;
    FusionLayout layout = {.rows = rows, .on_chip = sketch->linears};
    double waiting_bytes = 0.0;
    for (guint i = 0; i < sketch->ops->len; i++) {
        const Member *member = &sketch->members[i];
        double row_bytes = waiting->row_bytes[i];
        waiting_bytes += row_bytes * (double)rows;
        if (member->dense && !member->linear)
            add_product_blocks(&member->listed->op, rows, row_bytes > 0.0, &layout.on_chip);
        else if (!member->dense)
            add_streams(sketch, member, rows, &layout.on_chip);
    }
    double in_am = MIN(waiting_bytes, MAX(0.0, cluster->am_bytes - layout.on_chip.am_bytes));
    layout.on_chip.am_bytes += in_am;
    layout.on_chip.gsm_bytes +=
        waiting->whole_bytes + (waiting_bytes - in_am) * (double)cluster->dsps;
    layout.lacking = lacking_tier(&layout.on_chip, cluster);
    return layout;
}

static FusionLayout lay_out_best_rows(const Sketch *sketch, const Waiting *waiting) {
    if (sketch->has_linear || !sketch->has_dense)
        return lay_out(sketch, waiting, sketch->has_linear ? sketch->rows : 1);
    FusionLayout layout = {0};
    for (guint i = 0; i < G_N_ELEMENTS(row_ladder); i++) {
        if (i > 0 && row_ladder[i - 1] > sketch->rows && row_ladder[i] >= sketch->rows)
            continue; /* as many rows as the step before */
        layout = lay_out(sketch, waiting, MIN(row_ladder[i], sketch->rows));
        if (layout.lacking == BARRIER_NONE)
            break;
    }
    return layout;
}

FusionLayout fusion_layout(const FusionInput *input, const GArray *members) {
    g_autofree Member *table = g_new0(Member, members->len);
    Sketch sketch = {
        .input = input, .ops = members, .members = table, .tile_columns = BLOCK_COLUMNS};
    guint dense_before = 0;
    for (guint i = 0; i < members->len; i++)
        sketch_member(&sketch, i, &dense_before);
    sketch_readers(&sketch);
    sketch_places(&sketch);
    if (op_list_get(input->list, g_array_index(members, guint, 0))->on_network)
        return (FusionLayout){.rows = sketch.rows};
    g_autofree double *row_bytes = g_new0(double, members->len);
    Waiting waiting = {.row_bytes = row_bytes};
    find_waiting(&sketch, &waiting);
    return lay_out_best_rows(&sketch, &waiting);
}
