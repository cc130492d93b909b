/* SUMMA: in each step the cores that hold a part of k send their tiles of A along their rows and
 * their tiles of B along their columns; all multiply. The tiles of the next step are sent before
 * the kernel of this one, so that the way across the mesh is paid once. All-gather: the same
 * without kernels between, every core keeps all tiles and multiplies once. Tiles go to everybody on
 * the way at once, by a path of the sender's own, or (relayed) from neighbour to neighbour. */
#include "actors/mesh/mesh_gemm_run.h"

#include "actors/kernels/kernels.h"
#include "policies/mesh/tiles.h"

enum { AXIS_A, AXIS_B, N_AXES };
enum { UP, DOWN, N_WAYS }; /* to higher and to lower places on the line */

typedef struct PanelAxis {
    gboolean takes_part, along_y;
    guint at, tiles; /* the core's place on the line, and how many parts of k it begins with */
    GemmOut out[N_WAYS];
    float **panels; /* numbers: by part of k; NULL where it is not here */
} PanelAxis;

typedef struct PanelCore {
    PanelAxis axes[N_AXES];
} PanelCore;

static PanelAxis *axis_of(const GemmCore *core, guint a) {
    return &((PanelCore *)core->state)->axes[a];
}

static gboolean is_gathering(const GemmCore *core) {
    return core->run->gemm->kind == MESH_GEMM_ALLGATHER;
}

static guint64 panel_wavelets(const GemmCore *core, guint a, guint part) {
    guint64 across = a == AXIS_A ? core->m : core->n;

    return mesh_wavelets(core->run->setup->spec, core->run->gemm->type,
                         across * core->run->depths[part]);
}

/* Another core on the same line. */
static GemmCore *on_line(const GemmCore *core, guint a, guint at) {
    return a == AXIS_A ? gemm_run_core(core->run, at, core->core->y)
                       : gemm_run_core(core->run, core->core->x, at);
}

static void send_way(GemmCore *core, guint a, guint part, guint way) {
    PanelAxis *axis = axis_of(core, a);
    GemmOut *out = &axis->out[way];

    if (!out->path)
        return;
    for (guint i = 0; axis->panels && i < out->receivers; i++)
        gemm_tile_keep(axis->panels[part]);
    gemm_send_wait(core, out); /* a relay's own tiles come behind those it hands on */
    gemm_send(core, out, &(GemmMessage){.tag = part, .wavelets = panel_wavelets(core, a, part)},
              axis->panels ? axis->panels[part] : NULL);
}

/* A part that the core is the first to send, if it is on this line. */
static void send_own(GemmCore *core, guint a, guint part, guint way) {
    const PanelAxis *axis = axis_of(core, a);

    if (axis->takes_part && part / axis->tiles == axis->at && panel_wavelets(core, a, part) > 0)
        send_way(core, a, part, way);
}

/* On a folded mesh a core of the row relays what would pass along its column too, and so the other
 * way round: without a message, but in the same time. */
static void relay_unseen(GemmCore *core, guint a, guint part) {
    if (core->run->gemm->relayed && !axis_of(core, a)->takes_part &&
        panel_wavelets(core, a, part) > 0)
        gemm_relay(core);
}

/* A part that comes that way, if it does. */
static void receive(GemmCore *core, guint a, guint part, guint way) {
    PanelAxis *axis = axis_of(core, a);
    guint source = part / axis->tiles, from = source;
    gboolean relayed = core->run->gemm->relayed;

    if (!axis->takes_part || source == axis->at || (source < axis->at) != (way == UP) ||
        panel_wavelets(core, a, part) == 0)
        return;
    if (relayed)
        from = way == UP ? axis->at - 1 : axis->at + 1;
    const GemmOut *out = &axis_of(on_line(core, a, from), a)->out[way];
    gconstpointer panel = gemm_receive(core, out, part);
    if (axis->panels)
        axis->panels[part] = (float *)panel;
    if (relayed && axis->out[way].path) {
        gemm_relay(core);
        send_way(core, a, part, way);
    }
}

/* C += A · B over a part of k. */
static void multiply(GemmCore *core, guint part) {
    guint64 depth = core->run->depths[part];
    GemmSize size = {core->m, core->n, depth, depth, core->n, core->n};

    if (core->tiles.c && depth > 0)
        gemm_f32(&size, axis_of(core, AXIS_A)->panels[part], axis_of(core, AXIS_B)->panels[part],
                 core->tiles.c, TRUE);
}

static void drop_panel(PanelAxis *axis, guint part) {
    if (!axis->panels)
        return;
    gemm_tile_drop(axis->panels[part]);
    axis->panels[part] = NULL;
}

static void compute(GemmCore *core, guint first, guint parts) {
    const GemmRun *run = core->run;
    guint64 depth = 0;

    for (guint part = first; part < first + parts; part++) {
        multiply(core, part);
        drop_panel(axis_of(core, AXIS_A), part);
        drop_panel(axis_of(core, AXIS_B), part);
        depth += run->depths[part];
    }
    gemm_compute(core,
                 mesh_gemm_cycles(run->setup->spec, run->gemm->type, core->m, depth, core->n) +
                     run->setup->spec->step_cycles);
}

static void post(GemmCore *core, guint step) {
    (void)core, (void)step;
}

/* Step 0 only sends; step i has part i − 1 of k. */
static void pass_both(GemmCore *core, guint step) {
    for (guint a = 0; a < N_AXES && step > 0; a++) {
        relay_unseen(core, a, step - 1);
        for (guint way = 0; way < N_WAYS; way++)
            receive(core, a, step - 1, way);
    }
    for (guint a = 0; a < N_AXES && step < core->run->side; a++)
        for (guint way = 0; way < N_WAYS; way++)
            send_own(core, a, step, way);
}

/* All parts as soon as links are free, without meeting on any: upwards the lowest first and
 * downwards the highest, each behind the one that has just passed. Sent all at once they would
 * share links, and those that go farthest would be the slowest. */
static void pass_from_ends(GemmCore *core, guint step) {
    guint side = core->run->side;

    for (guint a = 0; a < N_AXES && step > 0; a++) {
        receive(core, a, step - 1, UP);
        receive(core, a, side - step, DOWN);
    }
    for (guint a = 0; a < N_AXES && step < side; a++) {
        send_own(core, a, step, UP);
        send_own(core, a, side - 1 - step, DOWN);
    }
}

/* All of A's, then all of B's: cores that relay one thing after the other have no use for both at
 * once. */
static void pass_in_turn(GemmCore *core, guint step) {
    guint side = core->run->side;

    if (step > 0) {
        relay_unseen(core, (step - 1) / side, (step - 1) % side);
        for (guint way = 0; way < N_WAYS; way++)
            receive(core, (step - 1) / side, (step - 1) % side, way);
    }
    for (guint way = 0; way < N_WAYS && step < N_AXES * side; way++)
        send_own(core, step / side, step % side, way);
}

static void finish(GemmCore *core, guint step) {
    const GemmRun *run = core->run;

    if (!is_gathering(core))
        pass_both(core, step);
    else
        (run->gemm->relayed ? pass_in_turn : pass_from_ends)(core, step);
    if (step > 0 && !is_gathering(core))
        compute(core, step - 1, 1);
    if (step + 1 == run->steps && is_gathering(core))
        compute(core, 0, run->side);
    for (guint a = 0; a < N_AXES; a++)
        for (guint way = 0; way < N_WAYS; way++)
            gemm_send_wait(core, &axis_of(core, a)->out[way]);
}

/* A relayed part comes from the neighbour in the same step: sources first, then by distance. */
static void order(const GemmRun *run, guint step, guint *cores) {
    guint n_distances = run->setup->columns + run->setup->rows;
    g_autofree guint *begin = g_new0(guint, n_distances + 1);
    g_autofree guint *distances = g_new(guint, run->n_cores);

    if (!run->gemm->relayed || step == 0)
        return;
    for (guint i = 0; i < run->n_cores; i++) {
        const MeshCore *core = run->cores[i].core;
        gint source_x = (gint)((step - 1) % run->side / run->tiles_x);
        gint source_y = (gint)((step - 1) % run->side / run->tiles_y);
        distances[i] = (guint)(ABS((gint)core->x - source_x) + ABS((gint)core->y - source_y));
        begin[distances[i] + 1]++;
    }
    for (guint distance = 0; distance < n_distances; distance++)
        begin[distance + 1] += begin[distance];
    for (guint i = 0; i < run->n_cores; i++)
        cores[begin[distances[i]]++] = i;
}

static void drop_panels(const GemmRun *run, PanelAxis *axis) {
    for (guint part = 0; axis->panels && part < run->side; part++)
        drop_panel(axis, part);
    g_clear_pointer(&axis->panels, g_free);
}

/* Copies of the core's own tiles: of A a part of k is columns, of B rows. */
static void take(GemmCore *core) {
    const GemmRun *run = core->run;
    PanelAxis *a = axis_of(core, AXIS_A), *b = axis_of(core, AXIS_B);
    guint64 column = 0, row = 0;

    drop_panels(run, a);
    drop_panels(run, b);
    if (!core->tiles.c)
        return;
    a->panels = g_new0(float *, run->side);
    b->panels = g_new0(float *, run->side);
    for (guint part = a->at * a->tiles; part < (a->at + 1) * a->tiles; part++) {
        a->panels[part] =
            gemm_tile_copy(core->tiles.a + column, core->k_x, core->m, run->depths[part]);
        column += run->depths[part];
    }
    for (guint part = b->at * b->tiles; part < (b->at + 1) * b->tiles; part++) {
        b->panels[part] =
            gemm_tile_copy(core->tiles.b + row * core->n, core->n, run->depths[part], core->n);
        row += run->depths[part];
    }
}

static gboolean open_ways(GemmCore *core, guint a, GError **error) {
    const MeshSetup *setup = core->run->setup;
    PanelAxis *axis = axis_of(core, a);
    guint last = (a == AXIS_A ? setup->columns : setup->rows) - 1;
    gboolean relayed = core->run->gemm->relayed;

    axis->takes_part = a == AXIS_A ? core->along_x : core->along_y;
    axis->at = a == AXIS_A ? core->core->x : core->core->y;
    axis->tiles = a == AXIS_A ? core->run->tiles_x : core->run->tiles_y;
    if (!axis->takes_part)
        return TRUE;
    GemmWay up = {core, NULL, !relayed, 2}, down = up;
    if (axis->at < last) {
        up.to = on_line(core, a, relayed ? axis->at + 1 : last);
        if (!gemm_out_open(&axis->out[UP], &up, error))
            return FALSE;
    }
    if (axis->at == 0)
        return TRUE;
    down.to = on_line(core, a, relayed ? axis->at - 1 : 0);
    return gemm_out_open(&axis->out[DOWN], &down, error);
}

/* SUMMA: its own tiles and two more of each, one being multiplied and one arriving. */
static gboolean hold(GemmCore *core, GError **error) {
    const GemmRun *run = core->run;
    guint64 depth = 2 * tile_largest(run->gemm->k, run->side);
    guint64 elements = core->m * (core->k_x + depth) + core->n * (core->k_y + depth);

    if (is_gathering(core))
        elements = (core->m + core->n) * run->gemm->k;
    return gemm_hold(core, elements, core->m * core->n, error);
}

static gboolean prepare(GemmRun *run, GError **error) {
    PanelCore *states = run->shared = g_new0(PanelCore, run->n_cores);

    for (guint i = 0; i < run->n_cores; i++)
        run->cores[i].state = &states[i];
    for (guint i = 0; i < run->n_cores; i++) {
        GemmCore *core = &run->cores[i];
        if (!hold(core, error) || !open_ways(core, AXIS_A, error) ||
            !open_ways(core, AXIS_B, error))
            return FALSE;
    }
    return TRUE;
}

static void settle(GemmRun *run) {
    for (guint i = 0; i < run->n_cores; i++)
        for (guint a = 0; a < N_AXES; a++)
            for (guint way = 0; way < N_WAYS; way++)
                gemm_out_settle(&axis_of(&run->cores[i], a)->out[way]);
}

static void clear(GemmRun *run) {
    PanelCore *states = run->shared;

    for (guint i = 0; states && i < run->n_cores; i++)
        for (guint a = 0; a < N_AXES; a++) {
            drop_panels(run, &states[i].axes[a]);
            gemm_out_clear(&states[i].axes[a].out[UP]);
            gemm_out_clear(&states[i].axes[a].out[DOWN]);
        }
    g_free(states);
}

const GemmRules gemm_panel_rules = {.prepare = prepare,
                                    .take = take,
                                    .post = post,
                                    .finish = finish,
                                    .order = order,
                                    .settle = settle,
                                    .clear = clear};
