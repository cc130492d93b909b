#include "actors/mesh/mesh_reduce.h"

#include "actors/kernels/kernels.h"
#include "policies/mesh/interleave.h"
#include "policies/mesh/reduce_tree.h"
#include "workloads/input_error.h"
#include <string.h>

const char *const mesh_reduce_names[] = {
    [MESH_REDUCE_CHAIN] = "chain",   [MESH_REDUCE_PIPELINE] = "pipeline",
    [MESH_REDUCE_FABRIC] = "fabric", [MESH_REDUCE_RING] = "ring",
    [MESH_REDUCE_TREE] = "tree",     [N_MESH_REDUCE_KINDS] = NULL};

/* What a core of a line does and with whom. Vectors of a line are sent as copies: an inner core's
 * own stays as it is until the sum of all arrives. */
typedef struct Member {
    MeshPath *to;         /* its parent, or the next in the ring; NULL: none */
    MeshPath *from;       /* the one before it in the ring */
    MeshPath *low, *high; /* from the root to the ends of the line */
    double held_bytes;
} Member;

struct MeshReducer {
    Mesh *mesh;
    MeshReduce reduce;
    guint n, lines;     /* cores a line */
    Member *members;    /* [lines][n] */
    ReduceTree *tree;   /* NULL: a ring */
    guint *children;    /* of a line's cores, one after another */
    guint *first_child; /* of each: children[first_child[i]] … children[first_child[i + 1] − 1] */
    guint *ring_position; /* of each; NULL: no ring */
    float **sums;         /* [lines]: what a root is telling its line */
};

static guint along_of(const MeshReducer *reducer, const MeshCore *core) {
    return reducer->reduce.along_y ? core->y : core->x;
}

static guint line_of(const MeshReducer *reducer, const MeshCore *core) {
    return reducer->reduce.along_y ? core->x : core->y;
}

static MeshCore *core_of(const MeshReducer *reducer, guint line, guint along) {
    return reducer->reduce.along_y ? mesh_core(reducer->mesh, line, along)
                                   : mesh_core(reducer->mesh, along, line);
}

static Member *member_of(const MeshReducer *reducer, guint line, guint along) {
    return &reducer->members[(gsize)line * reducer->n + along];
}

static guint64 wavelets_of(const MeshReducer *reducer, guint64 elements) {
    return mesh_wavelets(mesh_setup(reducer->mesh)->spec, reducer->reduce.type, elements);
}

static double bytes_of(const MeshReducer *reducer, guint64 elements) {
    return (double)elements * data_type_bytes(reducer->reduce.type);
}

/* Set-up. */

static gboolean hold(MeshReducer *reducer, guint line, guint along, double bytes, GError **error) {
    member_of(reducer, line, along)->held_bytes += bytes;
    return mesh_hold(core_of(reducer, line, along), bytes, error);
}

typedef struct Ends {
    guint line, from, to;
    gboolean multicast;
} Ends;

/* Leaves NULL, which is no error, where a path would lead nowhere. */
static gboolean link_up(const MeshReducer *reducer, Ends ends, MeshPath **path, GError **error) {
    if (ends.from == ends.to)
        return TRUE;
    *path = mesh_path(reducer->mesh, core_of(reducer, ends.line, ends.from),
                      core_of(reducer, ends.line, ends.to), ends.multicast, error);
    return *path != NULL;
}

static gboolean set_up_broadcast(MeshReducer *reducer, guint line, GError **error) {
    guint root = reducer->tree->root;
    Member *member = member_of(reducer, line, root);

    if (reducer->reduce.no_broadcast)
        return TRUE;
    return link_up(reducer, (Ends){line, root, 0, TRUE}, &member->low, error) &&
           link_up(reducer, (Ends){line, root, reducer->n - 1, TRUE}, &member->high, error);
}

static guint n_children(const MeshReducer *reducer, guint along) {
    return reducer->first_child[along + 1] - reducer->first_child[along];
}

/* What streams through is added as it comes; whole vectors need a place each until it is their
 * turn. */
static double buffer_bytes(const MeshReducer *reducer, guint along) {
    const MeshReduce *reduce = &reducer->reduce;
    gboolean streams = reduce->kind == MESH_REDUCE_PIPELINE || reduce->kind == MESH_REDUCE_FABRIC;
    double vector = streams ? (double)mesh_setup(reducer->mesh)->spec->wavelet_bytes
                            : bytes_of(reducer, reduce->elements);

    return n_children(reducer, along) * vector;
}

static void list_children(MeshReducer *reducer) {
    const ReduceTree *tree = reducer->tree;
    guint n = reducer->n, next = 0;
    g_autofree guint *count = g_new0(guint, n);

    reducer->children = g_new(guint, n);
    reducer->first_child = g_new0(guint, n + 1);
    for (guint i = 0; i < n; i++)
        if (i != tree->root)
            count[tree->parent[i]]++;
    for (guint i = 0; i < n; i++) {
        reducer->first_child[i] = next;
        next += count[i];
        count[i] = reducer->first_child[i];
    }
    reducer->first_child[n] = next;
    for (guint i = 0; i < n; i++)
        if (i != tree->root)
            reducer->children[count[tree->parent[i]]++] = i;
}

static gboolean set_up_tree(MeshReducer *reducer, guint line, GError **error) {
    for (guint i = 0; i < reducer->n; i++)
        if (!link_up(reducer, (Ends){line, i, reducer->tree->parent[i], FALSE},
                     &member_of(reducer, line, i)->to, error) ||
            !hold(reducer, line, i, buffer_bytes(reducer, i), error))
            return FALSE;
    return set_up_broadcast(reducer, line, error);
}

static guint64 chunk_elements(const MeshReducer *reducer) {
    return (reducer->reduce.elements + reducer->n - 1) / reducer->n;
}

static RingRule ring_rule(guint n) {
    return n >= 3 ? interleave_neighbours : cyclic_neighbours;
}

static gboolean set_up_ring(MeshReducer *reducer, guint line, GError **error) {
    guint n = reducer->n;

    if (n == 1)
        return TRUE;
    for (guint i = 0; i < n; i++) {
        guint next = ring_rule(n)(i, n).send;
        Member *member = member_of(reducer, line, i);
        if (!link_up(reducer, (Ends){line, i, next, FALSE}, &member->to, error) ||
            !hold(reducer, line, i, bytes_of(reducer, chunk_elements(reducer)), error))
            return FALSE;
        member_of(reducer, line, next)->from = member->to;
    }
    return TRUE;
}

static gboolean set_up_lines(MeshReducer *reducer, GError **error) {
    for (guint line = 0; line < reducer->lines; line++)
        if (!(reducer->tree ? set_up_tree : set_up_ring)(reducer, line, error))
            return FALSE;
    return TRUE;
}

static void set_up_order(MeshReducer *reducer) {
    guint n = reducer->n;

    if (reducer->reduce.kind == MESH_REDUCE_RING) {
        reducer->ring_position = g_new0(guint, n);
        if (n > 1)
            ring_positions(ring_rule(n), n, reducer->ring_position);
        return;
    }
    reducer->tree = reducer->reduce.kind == MESH_REDUCE_TREE ? reduce_tree_k(n, reducer->reduce.k)
                                                             : reduce_tree_chain(n);
    list_children(reducer);
}

guint mesh_reduce_roundings(const MeshReduce *reduce, guint n) {
    if (reduce->type == DATA_TYPE_FP32)
        return 0;
    if (reduce->kind != MESH_REDUCE_TREE)
        return n;
    g_autoptr(ReduceTree) tree = reduce_tree_k(n, reduce->k);
    return tree->stages + 1;
}

MeshReducer *mesh_reducer_new(Mesh *mesh, const MeshReduce *reduce, GError **error) {
    const MeshSetup *setup = mesh_setup(mesh);

    if (reduce->kind == MESH_REDUCE_TREE && reduce->k == 0) {
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_VALUE, "K of a K-tree must be at least 1");
        return NULL;
    }
    g_autoptr(MeshReducer) reducer = g_new0(MeshReducer, 1);
    reducer->mesh = mesh;
    reducer->reduce = *reduce;
    reducer->n = reduce->along_y ? setup->rows : setup->columns;
    reducer->lines = setup->folded ? 1 : reduce->along_y ? setup->columns : setup->rows;
    reducer->members = g_new0(Member, (gsize)reducer->lines * reducer->n);
    reducer->sums = g_new0(float *, reducer->lines);
    set_up_order(reducer);
    return set_up_lines(reducer, error) ? g_steal_pointer(&reducer) : NULL;
}

void mesh_reducer_free(MeshReducer *reducer) {
    if (!reducer)
        return;
    for (guint line = 0; line < reducer->lines; line++) {
        for (guint i = 0; i < reducer->n; i++)
            mesh_release(core_of(reducer, line, i), member_of(reducer, line, i)->held_bytes);
        g_free(reducer->sums[line]);
    }
    reduce_tree_free(reducer->tree);
    g_free(reducer->children);
    g_free(reducer->first_child);
    g_free(reducer->ring_position);
    g_free(reducer->members);
    g_free(reducer->sums);
    g_free(reducer);
}

/* Running. A turn is one core's part in one reduce. */

typedef struct Turn {
    MeshReducer *reducer;
    MeshCore *core;
    Member *member;
    guint along, line;
    float *vector; /* NULL: time only */
} Turn;

static float *copy(const float *from, guint64 elements) {
    return from ? g_memdup2(from, elements * sizeof *from) : NULL;
}

static void add(float *to, const float *from, guint64 elements) {
    for (guint64 i = 0; to && i < elements; i++)
        to[i] += from[i];
}

static const MeshReduce *reduce_of(const Turn *turn) {
    return &turn->reducer->reduce;
}

static float round_bf16(float value) {
    guint32 bits;
    memcpy(&bits, &value, sizeof bits);
    bits += 0x7fff + (bits >> 16 & 1); /* to nearest, ties to even */
    bits &= 0xffff0000;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

/* What is sent has the type that its wavelets are counted in. */
static void round_to_type(const Turn *turn, float *values, guint64 n) {
    DataType type = reduce_of(turn)->type;

    for (guint64 i = 0; values && type == DATA_TYPE_FP16 && i < n; i++)
        values[i] = fp16_to_float(fp16_from_float(values[i]));
    for (guint64 i = 0; values && type == DATA_TYPE_BF16 && i < n; i++)
        values[i] = round_bf16(values[i]);
}

/* Waits for a child's vector, adds it and frees it. */
static void receive_sum(const Turn *turn, guint child, float *sum) {
    MeshPath *path = member_of(turn->reducer, turn->line, child)->to;
    g_autofree float *partial = (float *)mesh_receive(turn->core, path);

    add(sum, partial, reduce_of(turn)->elements);
}

/* Whole vectors: all that are to come, one look at them, on. */
static void reduce_whole(const Turn *turn) {
    const MeshReducer *reducer = turn->reducer;
    guint64 elements = reducer->reduce.elements;
    guint begin = reducer->first_child[turn->along], end = reducer->first_child[turn->along + 1];
    MeshPath *up = turn->member->to;
    float *sum = up ? copy(turn->vector, elements) : turn->vector;

    for (guint i = begin; i < end; i++)
        receive_sum(turn, reducer->children[i], sum);
    if (begin < end)
        mesh_relay(turn->core);
    round_to_type(turn, sum, elements);
    if (up)
        mesh_send(up, wavelets_of(reducer, elements), sum);
}

/* The software of a core on a stream: a routing stage behind the wavelet that it is about. */
static void stream_relay(MeshCore *core, gboolean last) {
    (void)last;
    mesh_relay(core);
}

/* Adding in the fabric: up the ramp, an addition, and down again. The cycle of the addition is the
 * one in which the next wavelet comes in; at the end of the line it remains. */
static void stream_fabric(MeshCore *core, gboolean last) {
    const MeshSpec *spec = mesh_setup(core->mesh)->spec;

    mesh_compute(core, 2 * spec->ramp_cycles + (last ? 1 : 0));
}

/* Wavelets that pass on as they come: the first one's way through this core is everyone's. */
static void reduce_stream(const Turn *turn, void (*pass)(MeshCore *core, gboolean last)) {
    const MeshReducer *reducer = turn->reducer;
    guint64 elements = reducer->reduce.elements;
    MeshPath *up = turn->member->to;
    gboolean has_child = turn->along + 1 < reducer->n;
    float *sum = up ? copy(turn->vector, elements) : turn->vector;

    if (has_child && up) {
        mesh_receive_head(turn->core, member_of(reducer, turn->line, turn->along + 1)->to);
        pass(turn->core, FALSE);
    }
    if (up) /* what 'sum' will be when its last wavelet is here, long before it is there */
        mesh_send(up, wavelets_of(reducer, elements), sum);
    if (has_child)
        receive_sum(turn, turn->along + 1, sum);
    round_to_type(turn, sum,
                  elements); /* before its last wavelet is read: it leaves now at the earliest */
    if (has_child && !up)
        pass(turn->core, TRUE);
}

static void reduce_pipeline(const Turn *turn) {
    reduce_stream(turn, stream_relay);
}

static void reduce_fabric(const Turn *turn) {
    reduce_stream(turn, stream_fabric);
}

/* A step of a ring: one chunk on, one in, one look at it. 'chunk' is the one that is sent; the one
 * before it comes. */
static void ring_step(const Turn *turn, guint chunk, gboolean gathering) {
    const MeshReducer *reducer = turn->reducer;
    guint64 elements = reducer->reduce.elements, size = chunk_elements(reducer);
    guint64 coming = (chunk + reducer->n - 1) % reducer->n;
    guint64 begin = MIN(coming * size, elements), n = MIN(size, elements - begin);
    guint64 sent = MIN(chunk * size, elements);
    float *own = copy(turn->vector ? turn->vector + sent : NULL, MIN(size, elements - sent));

    round_to_type(turn, own, MIN(size, elements - sent));
    mesh_send(turn->member->to, wavelets_of(reducer, size), own);
    g_autofree float *chunk_in = (float *)mesh_receive(turn->core, turn->member->from);
    mesh_relay(turn->core);
    if (turn->vector && gathering && n > 0)
        memcpy(turn->vector + begin, chunk_in, n * sizeof *chunk_in);
    else if (turn->vector)
        add(turn->vector + begin, chunk_in, n);
}

static void reduce_ring(const Turn *turn) {
    guint n = turn->reducer->n;
    guint place = turn->reducer->ring_position[turn->along];

    for (guint step = 0; step + 1 < n; step++)
        ring_step(turn, (place + n - step) % n, FALSE);
    for (guint step = 0; step + 1 < n; step++)
        ring_step(turn, (place + 1 + n - step) % n, TRUE);
    round_to_type(turn, turn->vector, turn->reducer->reduce.elements);
}

static void (*const reduce_kinds[])(const Turn *turn) = {
    [MESH_REDUCE_CHAIN] = reduce_whole,   [MESH_REDUCE_PIPELINE] = reduce_pipeline,
    [MESH_REDUCE_FABRIC] = reduce_fabric, [MESH_REDUCE_RING] = reduce_ring,
    [MESH_REDUCE_TREE] = reduce_whole,
};

/* The line's sum stays here until the next one, which needs everybody to have read this one. */
static void tell_line(const Turn *turn) {
    MeshReducer *reducer = turn->reducer;
    guint64 elements = reducer->reduce.elements, wavelets = wavelets_of(reducer, elements);
    float **sum = &reducer->sums[turn->line];

    g_free(*sum);
    *sum = copy(turn->vector, elements);
    if (turn->member->low)
        mesh_send(turn->member->low, wavelets, *sum);
    if (turn->member->high)
        mesh_send(turn->member->high, wavelets, *sum);
}

static void hear_sum(const Turn *turn) {
    const MeshReducer *reducer = turn->reducer;
    guint root = reducer->tree->root;
    const Member *teller = member_of(reducer, turn->line, root);
    const float *sum = mesh_receive(turn->core, turn->along < root ? teller->low : teller->high);

    if (turn->vector)
        memcpy(turn->vector, sum, reducer->reduce.elements * sizeof *sum);
}

void mesh_reducer_run(MeshReducer *reducer, MeshCore *core, float *vector) {
    Turn turn = {.reducer = reducer,
                 .core = core,
                 .along = along_of(reducer, core),
                 .line = line_of(reducer, core),
                 .vector = vector};

    g_assert(turn.line < reducer->lines);
    turn.member = member_of(reducer, turn.line, turn.along);
    reduce_kinds[reducer->reduce.kind](&turn);
    if (!reducer->tree || reducer->reduce.no_broadcast)
        return;
    if (turn.along == reducer->tree->root)
        tell_line(&turn);
    else
        hear_sum(&turn);
}

/* A reduce by itself: what its cores share. The last of them to end frees it. */
typedef struct Job {
    MeshReducer *reducer;
    guint running;
    float *vectors[]; /* of the cores in order of rows, or NULL */
} Job;

static void job_main(MeshCore *core) {
    Job *job = core->data;

    mesh_reducer_run(job->reducer, core, job->vectors[mesh_core_index(core)]);
    if (--job->running == 0) {
        mesh_reducer_free(job->reducer);
        g_free(job);
    }
}

/* Along rows of a folded mesh the cores of row 0 alone take part, and so for columns. */
static gboolean takes_part(const MeshReducer *reducer, const MeshCore *core) {
    return line_of(reducer, core) < reducer->lines;
}

static gboolean hold_vectors(const MeshReducer *reducer, GError **error) {
    double bytes = bytes_of(reducer, reducer->reduce.elements);

    for (guint i = 0; i < mesh_n_cores(reducer->mesh); i++) {
        MeshCore *core = mesh_nth_core(reducer->mesh, i);
        if (takes_part(reducer, core) && !mesh_hold(core, bytes, error))
            return FALSE;
    }
    return TRUE;
}

gboolean mesh_reduce_start(Mesh *mesh, const MeshReduce *reduce, GError **error) {
    g_autoptr(MeshReducer) reducer = mesh_reducer_new(mesh, reduce, error);
    guint n = mesh_n_cores(mesh);

    if (!reducer || !hold_vectors(reducer, error))
        return FALSE;
    Job *job = g_malloc0(sizeof *job + n * sizeof job->vectors[0]);
    for (guint i = 0; i < n; i++) {
        MeshCore *core = mesh_nth_core(mesh, i);
        if (!takes_part(reducer, core))
            continue;
        job->running++;
        job->vectors[i] = reduce->values ? reduce->values[i] : NULL;
        core->data = job;
        mesh_core_start(core, job_main);
    }
    job->reducer = g_steal_pointer(&reducer);
    return TRUE;
}
