#include "actors/mesh/mesh_gemm_edges.h"

static guint tiles_of(const GemmRing *ring, const GemmRun *run) {
    return ring->along_y ? run->tiles_y : run->tiles_x;
}

/* Whose tile of 'part' is on the line of 'core'. */
static GemmCore *owner(const GemmRing *ring, const GemmCore *core, guint part) {
    guint at = part / tiles_of(ring, core->run);

    return ring->along_y ? gemm_run_core(core->run, core->core->x, at)
                         : gemm_run_core(core->run, at, core->core->y);
}

GemmEdges *gemm_ring_edges(const GemmRing *ring, const GemmCore *core) {
    return &ring->cores[core - core->run->cores];
}

static gboolean takes_part(const GemmRing *ring, const GemmCore *core) {
    return ring->along_y ? core->along_y : core->along_x;
}

static gboolean open_out(GemmRing *ring, GemmCore *core, GError **error) {
    GemmEdges *edges = gemm_ring_edges(ring, core);
    guint tiles = tiles_of(ring, core->run);

    edges->first = (ring->along_y ? core->core->y : core->core->x) * tiles;
    if (!takes_part(ring, core))
        return TRUE;
    for (guint part = edges->first; part < edges->first + tiles; part++) {
        guint next = ring->rule(part, ring->n).send;
        GemmCore *to = owner(ring, core, next);
        if (to == core)
            continue;
        g_assert(edges->n_out < GEMM_EDGES);
        GemmEdge *edge = &edges->out[edges->n_out++];
        if (!gemm_out_open(&edge->out, &(GemmWay){core, to, FALSE, 2}, error))
            return FALSE;
        edge->from = part;
        edge->to = next;
    }
    return TRUE;
}

static const GemmEdge *edge_from(const GemmEdges *edges, guint part) {
    for (guint i = 0; i < edges->n_out; i++)
        if (edges->out[i].from == part)
            return &edges->out[i];
    g_assert_not_reached();
}

static void find_in(GemmRing *ring, GemmCore *core) {
    GemmEdges *edges = gemm_ring_edges(ring, core);
    guint tiles = tiles_of(ring, core->run);

    if (!takes_part(ring, core))
        return;
    for (guint part = edges->first; part < edges->first + tiles; part++) {
        guint before = ring->rule(part, ring->n).receive;
        GemmCore *from = owner(ring, core, before);
        if (from == core)
            continue;
        g_assert(edges->n_in < GEMM_EDGES);
        edges->in[edges->n_in++] = edge_from(gemm_ring_edges(ring, from), before);
    }
}

GemmRing *gemm_ring_new(GemmRun *run, RingRule rule, gboolean along_y, GError **error) {
    GemmRing *ring = g_new0(GemmRing, 1);

    *ring = (GemmRing){.rule = rule, .along_y = along_y, .n = run->side, .n_cores = run->n_cores};
    ring->places = g_new(guint, ring->n);
    ring->parts = g_new(guint, ring->n);
    ring->cores = g_new0(GemmEdges, run->n_cores);
    ring_positions(rule, ring->n, ring->places);
    for (guint part = 0; part < ring->n; part++)
        ring->parts[ring->places[part]] = part;
    for (guint i = 0; i < run->n_cores; i++)
        if (!open_out(ring, &run->cores[i], error)) {
            gemm_ring_free(ring);
            return NULL;
        }
    for (guint i = 0; i < run->n_cores; i++)
        find_in(ring, &run->cores[i]);
    return ring;
}

void gemm_ring_free(GemmRing *ring) {
    if (!ring)
        return;
    for (guint i = 0; i < ring->n_cores; i++)
        for (guint j = 0; j < ring->cores[i].n_out; j++)
            gemm_out_clear(&ring->cores[i].out[j].out);
    g_free(ring->places);
    g_free(ring->parts);
    g_free(ring->cores);
    g_free(ring);
}

void gemm_ring_settle(GemmRing *ring) {
    for (guint i = 0; i < ring->n_cores; i++)
        for (guint j = 0; j < ring->cores[i].n_out; j++)
            gemm_out_settle(&ring->cores[i].out[j].out);
}

guint gemm_ring_part(const GemmRing *ring, guint part, guint moves) {
    return ring->parts[(ring->places[part] + ring->n - moves % ring->n) % ring->n];
}
