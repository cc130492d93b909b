#include "actors/mesh/mesh_model.h"

#include "actors/mesh/mesh_alone.h"
#include "actors/mesh/mesh_model_parts.h"
#include "actors/mesh/mesh_private.h"
#include "policies/mesh/interleave.h"
#include "policies/mesh/tiles.h"
#include "workloads/input_error.h"
#include "workloads/units.h"

#define MIN_SIDE 3 /* INTERLEAVE's */

static gsize heads_of_column(const Model *model, guint side) {
    return model->heads / side;
}

gboolean mesh_model_check(const Model *model, guint side, GError **error) {
    guint64 group = model->heads / model->kv_heads, heads = heads_of_column(model, side);

    if (side >= MIN_SIDE && model->heads % side == 0 && (group % heads == 0 || heads % group == 0))
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "numbers on a %u x %u mesh need whole heads and whole groups of them in every "
                "column, and at least %d columns: model '%s' has %" G_GUINT64_FORMAT
                " heads in groups of %" G_GUINT64_FORMAT,
                side, side, MIN_SIDE, model->name, model->heads, group);
    return FALSE;
}

static ModelWidths widths_of(const Model *model, guint side) {
    gsize group = model->heads / model->kv_heads, heads = heads_of_column(model, side);
    gsize kv_heads = MAX(heads / group, 1);

    return (ModelWidths){.side = side,
                         .hidden = model->hidden,
                         .ffn = model->ffn,
                         .vocab = model->vocab,
                         .head_dim = model->head_dim,
                         .heads = heads,
                         .kv_heads = kv_heads,
                         .q = heads * model->head_dim,
                         .kv = kv_heads * model->head_dim};
}

static MeshMultiplier *multiplier(ModelRun *run, guint tokens, gsize k, gsize n, GError **error) {
    MeshGemm gemm = {.kind = MESH_GEMM_INTERLEAVED,
                     .m = tokens,
                     .k = k,
                     .n = n,
                     .type = DATA_TYPE_FP16,
                     .every_step = TRUE};

    return mesh_multiplier_new(run->mesh, &gemm, error);
}

static MeshReducer *reducer(ModelRun *run, gsize elements, gboolean along_y, GError **error) {
    MeshReduce reduce = {.kind = MESH_REDUCE_TREE,
                         .k = run->setup->k_tree,
                         .along_y = along_y,
                         .elements = elements,
                         .type = DATA_TYPE_FP32};

    return mesh_reducer_new(run->mesh, &reduce, error);
}

static gboolean add_prompt(ModelRun *run, guint tokens, GError **error) {
    const ModelWidths *widths = &run->widths;
    gsize q = widths->q * widths->side, kv = widths->kv * widths->side;
    PromptPlan plan = {.tokens = tokens};

    for (guint i = 0; i < run->prompts->len; i++)
        if (g_array_index(run->prompts, PromptPlan, i).tokens == tokens)
            return TRUE;
    plan.q = multiplier(run, tokens, widths->hidden, q, error);
    plan.kv = plan.q ? multiplier(run, tokens, widths->hidden, kv, error) : NULL;
    plan.out = plan.kv ? multiplier(run, tokens, q, widths->hidden, error) : NULL;
    plan.up = plan.out ? multiplier(run, tokens, widths->hidden, widths->ffn, error) : NULL;
    plan.down = plan.up ? multiplier(run, tokens, widths->ffn, widths->hidden, error) : NULL;
    plan.norm = plan.down ? reducer(run, tile_largest(tokens, widths->side), FALSE, error) : NULL;
    g_array_append_val(run->prompts, plan);
    return plan.norm != NULL;
}

static gboolean add_sums(ModelRun *run, GError **error) {
    const ModelWidths *widths = &run->widths;
    guint side = widths->side;
    const gsize elements[N_SUMS] = {
        [SUM_NORM] = 1,
        [SUM_QKV] = widths->q + 2 * widths->kv,
        [SUM_MAXIMA] = widths->heads * side,
        [SUM_WEIGHTS] = widths->heads,
        [SUM_ATTENDED] = widths->q,
        [SUM_HIDDEN] = tile_largest(widths->hidden, side),
        [SUM_GATE_UP] = 2 * tile_largest(widths->ffn, side),
        [SUM_LOGITS] = tile_largest(widths->vocab, side),
    };

    for (guint i = 0; i < N_SUMS; i++) {
        run->sums[i] = reducer(run, elements[i], i != SUM_HIDDEN, error);
        if (run->sums[i] == NULL)
            return FALSE;
    }
    return TRUE;
}

/* From core (x, y) to core (to_x, to_y). */
static gboolean add_path(ModelRun *run, MeshPath **path, const guint ends[4], gboolean multicast,
                         GError **error) {
    *path = mesh_path(run->mesh, mesh_core(run->mesh, ends[0], ends[1]),
                      mesh_core(run->mesh, ends[2], ends[3]), multicast, error);
    return *path != NULL;
}

/* What runs along column 'i', and along row 'i' from its diagonal core. */
static gboolean add_line_paths(ModelRun *run, guint i, GError **error) {
    guint last = run->widths.side - 1;

    return (i == last ||
            (add_path(run, &run->to_diagonal[i], (guint[]){i, last, i, i}, FALSE, error) &&
             add_path(run, &run->row_right[i], (guint[]){i, i, last, i}, TRUE, error))) &&
           (i == 0 || (add_path(run, &run->row_left[i], (guint[]){i, i, 0, i}, TRUE, error) &&
                       add_path(run, &run->logits_home[i], (guint[]){i, 0, 0, 0}, FALSE, error))) &&
           add_path(run, &run->token_down[i], (guint[]){i, 0, i, last}, TRUE, error);
}

static gboolean add_core_paths(ModelRun *run, guint x, guint y, GError **error) {
    guint side = run->widths.side, next = interleave_neighbours(y, side).send;
    guint index = y * side + x;

    return add_path(run, &run->kv_ring[index], (guint[]){x, y, x, next}, FALSE, error) &&
           (y == 0 || add_path(run, &run->kv_up[index], (guint[]){x, y, x, y - 1}, FALSE, error));
}

static gboolean add_paths(ModelRun *run, GError **error) {
    guint side = run->widths.side;
    MeshPath ***lines[] = {&run->to_diagonal, &run->row_left, &run->row_right, &run->logits_home,
                           &run->token_down};

    for (guint i = 0; i < G_N_ELEMENTS(lines); i++)
        *lines[i] = g_new0(MeshPath *, side);
    run->kv_ring = g_new0(MeshPath *, (gsize)side * side);
    run->kv_up = g_new0(MeshPath *, (gsize)side * side);
    for (guint i = 0; i < side; i++)
        if (!add_line_paths(run, i, error))
            return FALSE;
    for (guint i = 0; i < side * side; i++)
        if (!add_core_paths(run, i % side, i / side, error))
            return FALSE;
    return add_path(run, &run->token_along, (guint[]){0, 0, side - 1, 0}, TRUE, error);
}

static void embed(ModelCore *state, guint32 token, float *x) {
    const ModelRun *run = state->run;
    Stretch part = model_stretch(run, run->widths.hidden, state->core->y);
    Tensor embedding = checkpoint_embedding(run->setup->checkpoint);

    fp16_to_floats(x, embedding.values + token * embedding.columns + part.begin, part.size);
}

static const PromptPlan *plan_for(const ModelRun *run, guint tokens) {
    for (guint i = 0;; i++)
        if (g_array_index(run->prompts, PromptPlan, i).tokens == tokens)
            return &g_array_index(run->prompts, PromptPlan, i);
}

static void serve(ModelCore *state, MeshModelRequest *request) {
    const ModelRun *run = state->run;
    g_autofree float *x = g_new0(float, run->widths.hidden);
    gboolean tells = state->core->x == 0 && state->core->y == 0;
    double start = mesh_now_cycles(run->mesh), prompt_end = start;

    model_prompt(state, request, plan_for(run, request->n_prompt), x);
    for (guint i = 0; i < request->n_output; i++) {
        guint position = request->n_prompt + i;
        if (i > 0)
            model_decode(state, position - 1, x);
        guint32 token = model_sample(state, request, position, x);
        if (i == 0)
            prompt_end = mesh_now_cycles(run->mesh);
        if (tells)
            request->tokens[i] = token;
        embed(state, token, x);
    }
    if (!tells)
        return;
    request->prefill_cycles = prompt_end - start;
    request->decode_cycles = mesh_now_cycles(run->mesh) - prompt_end;
}

static void core_main(MeshCore *core) {
    ModelCore *state = core->data;

    for (guint i = 0; i < state->run->setup->n_requests; i++)
        serve(state, &state->run->setup->requests[i]);
}

/* Everything a run has, from before the engine to after it. */
typedef struct Whole {
    ModelRun run;
    ModelCore *cores;
} Whole;

/* What the run has from the mesh, which must still be there. */
static void run_leave_mesh(ModelRun *run) {
    for (guint i = 0; i < run->prompts->len; i++) {
        PromptPlan *plan = &g_array_index(run->prompts, PromptPlan, i);
        MeshMultiplier *loops[] = {plan->q, plan->kv, plan->out, plan->up, plan->down};
        for (guint j = 0; j < G_N_ELEMENTS(loops); j++)
            mesh_multiplier_free(loops[j]);
        mesh_reducer_free(plan->norm);
    }
    for (guint i = 0; i < N_SUMS; i++)
        mesh_reducer_free(run->sums[i]);
}

static gboolean run_enter_mesh(ModelRun *run, GError **error) {
    if (!add_sums(run, error) || !add_paths(run, error))
        return FALSE;
    for (guint i = 0; i < run->setup->n_requests; i++)
        if (!add_prompt(run, run->setup->requests[i].n_prompt, error))
            return FALSE;
    return TRUE;
}

/* What the slowest-filled core holds at once: FP16 weights, KV of the longest request, and the
 * buffers of the widest loop, A and B twice and sums of C. Loops follow one another, so that they
 * share their buffers, which is why the mesh does not count them. */
static double core_bytes(const ModelRun *run) {
    const ModelWidths *widths = &run->widths;
    const MeshModelSetup *setup = run->setup;
    guint side = widths->side;
    double hidden = (double)tile_largest(widths->hidden, side),
           ffn = (double)tile_largest(widths->ffn, side),
           vocab = (double)tile_largest(widths->vocab, side), q = (double)widths->q,
           kv = (double)widths->kv, wide = MAX(MAX(ffn, q), hidden), tokens = 0, context = 0;
    double layer = hidden * (q + 2 * kv) + 2 * hidden * q + 4 * hidden * ffn;

    for (guint i = 0; i < setup->n_requests; i++) {
        const MeshModelRequest *request = &setup->requests[i];
        tokens = MAX(tokens, (double)tile_largest(request->n_prompt, side));
        context = MAX(context, (double)tile_largest(request->n_prompt + request->n_output, side));
    }
    return 2 * ((double)setup->model->layers * (layer + 2 * context * kv) + hidden * vocab) +
           4 * (tokens * wide + hidden * wide) + 4 * tokens * wide;
}

static gboolean fits(const ModelRun *run, GError **error) {
    const MeshSpec *spec = mesh_setup(run->mesh)->spec;
    double bytes = core_bytes(run);
    guint most = 0;

    for (guint i = 0; i < mesh_n_cores(run->mesh); i++)
        most = MAX(most, mesh_nth_core(run->mesh, i)->paths);
    if (bytes <= spec->usable_bytes && most <= spec->routing_paths)
        return TRUE;
    g_autofree char *asked = units_format_brief(bytes, DIMENSION_BYTES);
    g_autofree char *usable = units_format_brief(spec->usable_bytes, DIMENSION_BYTES);
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "model '%s' on a %u x %u mesh needs %s and %u routing paths of a core, which has "
                "%s and %" G_GUINT64_FORMAT,
                run->setup->model->name, run->widths.side, run->widths.side, asked, most, usable,
                spec->routing_paths);
    return FALSE;
}

static gboolean prepare(Mesh *mesh, gpointer data, GError **error) {
    Whole *whole = data;
    ModelRun *run = &whole->run;

    run->mesh = mesh;
    if (!run_enter_mesh(run, error) || !fits(run, error)) {
        run_leave_mesh(run);
        return FALSE;
    }
    for (guint i = 0; i < mesh_n_cores(mesh); i++) {
        ModelCore *state = &whole->cores[i];
        *state = (ModelCore){.run = run, .core = mesh_nth_core(mesh, i)};
        state->core->data = state;
        model_tiles_load(state);
        mesh_core_start(state->core, core_main);
    }
    return TRUE;
}

static void whole_clear(Whole *whole) {
    ModelRun *run = &whole->run;
    MeshPath **lists[] = {run->kv_ring,   run->kv_up,       run->to_diagonal, run->row_left,
                          run->row_right, run->logits_home, run->token_down};

    for (guint i = 0; i < run->widths.side * run->widths.side; i++)
        model_tiles_clear(&whole->cores[i]);
    g_free(whole->cores);
    g_array_unref(run->prompts);
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++)
        g_free(lists[i]);
    g_free(run->logits);
}

gboolean mesh_model_run(const MeshSpec *spec, guint side, MeshModelSetup *setup, MeshTotals *totals,
                        GError **error) {
    MeshSetup mesh_setup = {
        .spec = spec, .columns = side, .rows = side, .unlimited = TRUE, .algorithm = "whole model"};

    if (!mesh_model_check(setup->model, side, error))
        return FALSE;
    Whole whole = {.run = {.setup = setup, .widths = widths_of(setup->model, side)}};
    whole.run.prompts = g_array_new(FALSE, FALSE, sizeof(PromptPlan));
    whole.run.logits = g_new(float, setup->model->vocab);
    whole.cores = g_new0(ModelCore, (gsize)side * side);
    g_autoptr(Mesh) mesh = mesh_alone_run(&mesh_setup, prepare, &whole, error);
    if (mesh != NULL) {
        if (totals != NULL)
            *totals = mesh_totals(mesh);
        run_leave_mesh(&whole.run);
    }
    whole_clear(&whole);
    return mesh != NULL;
}
