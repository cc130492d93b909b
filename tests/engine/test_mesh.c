/* Cores of a mesh, their paths and messages, against what the mesh's rules say by hand. */
#include "actors/engine.h"
#include "tests/engine/child.h"
#include "tests/engine/mesh_fixture.h"
#include <string.h>

static const double EPSILON = 1e-6;

typedef struct Place {
    guint x, y;
} Place;

/* What actors of a test do and find; in shared memory. */
typedef struct Scene {
    Place from, to;
    gboolean multicast;
    guint64 wavelets[4]; /* of up to four messages */
    double busy_cycles;  /* of the receiver before it asks */
    double asked_cycles[4][16], head_cycles[16], left_cycles;
    guint order[4];
} Scene;

static Scene *scene_new(void) {
    return child_shared(sizeof(Scene));
}

typedef struct Role {
    Scene *scene;
    MeshPath *path, *other;
} Role;

static double now_cycles(void) {
    return engine_now();
}

static guint n_messages(const Scene *scene) {
    guint n = 0;
    while (n < G_N_ELEMENTS(scene->wavelets) && scene->wavelets[n] > 0)
        n++;
    return n;
}

static void sender_main(MeshCore *core) {
    Role *role = core->data;

    for (guint i = 0; i < n_messages(role->scene); i++)
        mesh_send(role->path, role->scene->wavelets[i], &role->scene->wavelets[i]);
    mesh_send_wait(role->path);
    role->scene->left_cycles = now_cycles();
    g_free(role);
}

static void receiver_main(MeshCore *core) {
    g_autofree Role *role = core->data;
    Scene *scene = role->scene;
    guint place = core->x + core->y - scene->from.x - scene->from.y;

    mesh_compute(core, scene->busy_cycles);
    for (guint i = 0; i < n_messages(scene); i++) {
        mesh_receive_head(core, role->path);
        if (i == 0)
            scene->head_cycles[place] = now_cycles();
        const guint64 *payload = mesh_receive(core, role->path);
        scene->order[i] = (guint)(payload - scene->wavelets);
        scene->asked_cycles[i][place] = now_cycles();
    }
}

static void cast(MeshCore *core, void (*body)(MeshCore *), Role role) {
    core->data = g_memdup2(&role, sizeof role);
    mesh_core_start(core, body);
}

/* Messages from one core to another, or to all between them on a line going east. */
static gboolean prepare_scene(Mesh *mesh, gpointer data, GError **error) {
    Scene *scene = data;
    MeshCore *from = mesh_core(mesh, scene->from.x, scene->from.y);
    MeshCore *to = mesh_core(mesh, scene->to.x, scene->to.y);
    MeshPath *path = mesh_path(mesh, from, to, scene->multicast, error);

    g_assert_nonnull(path);
    cast(from, sender_main, (Role){scene, path, NULL});
    for (guint x = from->x + 1; scene->multicast && x < to->x; x++)
        cast(mesh_core(mesh, x, 0), receiver_main, (Role){scene, path, NULL});
    cast(to, receiver_main, (Role){scene, path, NULL});
    return TRUE;
}

static void test_latency(void) {
    static const struct {
        Place from, to;
        guint64 wavelets;
        double hop_cycles;
    } cases[] = {{{0, 0}, {1, 0}, 1, 1},    {{0, 0}, {5, 0}, 100, 1}, {{0, 1}, {0, 4}, 3, 1},
                 {{1, 1}, {4, 3}, 1000, 1}, {{0, 0}, {5, 4}, 2, 2.5}, {{0, 0}, {5, 4}, 7, 3}};

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        MeshSpec spec = mesh_fixture_spec();
        spec.hop_cycles = cases[i].hop_cycles;
        Scene *scene = scene_new();
        *scene = (Scene){.from = cases[i].from, .to = cases[i].to};
        scene->wavelets[0] = cases[i].wavelets;
        MeshSetup setup = {.spec = &spec, .columns = 6, .rows = 5, .algorithm = "latency"};
        MeshFound *found = mesh_child_run(&setup, prepare_scene, scene);
        guint hops = cases[i].to.x - cases[i].from.x + cases[i].to.y - cases[i].from.y;
        double cycles = hops * spec.hop_cycles + (double)cases[i].wavelets;
        g_assert_cmpfloat_with_epsilon(found->totals.cycles, cycles, EPSILON);
        g_assert_cmpfloat_with_epsilon(scene->head_cycles[hops], hops * spec.hop_cycles + 1,
                                       EPSILON);
        g_assert_cmpfloat_with_epsilon(scene->left_cycles, (double)cases[i].wavelets, EPSILON);
        g_assert_cmpuint(found->totals.hops, ==, hops);
        g_assert_cmpuint(found->link_wavelets, ==, hops * cases[i].wavelets);
        mesh_assert_accounted(found);
    }
}

/* What arrives while its receiver is busy does not wait for it. */
static void test_transfers_beside_work(void) {
    MeshSpec spec = mesh_fixture_spec();
    MeshSetup setup = {.spec = &spec, .columns = 4, .rows = 1, .algorithm = "overlap"};
    static const double busy[] = {0, 50, 103, 500};

    for (gsize i = 0; i < G_N_ELEMENTS(busy); i++) {
        Scene *scene = scene_new();
        *scene = (Scene){.to = {3, 0}, .wavelets = {100}, .busy_cycles = busy[i]};
        MeshFound *found = mesh_child_run(&setup, prepare_scene, scene);
        const MeshCore *receiver = &found->cores[3];
        g_assert_cmpfloat_with_epsilon(receiver->end_cycles, MAX(busy[i], 103), EPSILON);
        g_assert_cmpfloat_with_epsilon(receiver->communication_cycles, MAX(103 - busy[i], 0),
                                       EPSILON);
        g_assert_cmpuint(receiver->hops, ==, busy[i] <= 103 ? 3 : 0);
        mesh_assert_accounted(found);
    }
}

/* Messages along one path follow each other, short ones behind long ones too. */
static void test_order(void) {
    MeshSpec spec = mesh_fixture_spec();
    MeshSetup setup = {.spec = &spec, .columns = 10, .rows = 1, .algorithm = "order"};
    Scene *scene = scene_new();

    *scene = (Scene){.to = {9, 0}, .wavelets = {50, 2, 30, 1}};
    MeshFound *found = mesh_child_run(&setup, prepare_scene, scene);
    double arrival = 9;
    for (guint i = 0; i < 4; i++) {
        arrival += (double)scene->wavelets[i];
        g_assert_cmpuint(scene->order[i], ==, i);
        g_assert_cmpfloat_with_epsilon(scene->asked_cycles[i][9], arrival, EPSILON);
    }
    g_assert_cmpfloat_with_epsilon(scene->left_cycles, 83, EPSILON);
    g_assert_cmpuint(found->totals.messages, ==, 4);
    mesh_assert_accounted(found);
}

static void test_multicast(void) {
    MeshSpec spec = mesh_fixture_spec();
    MeshSetup setup = {.spec = &spec, .columns = 10, .rows = 2, .algorithm = "multicast"};
    Scene *scene = scene_new();

    *scene = (Scene){.from = {2, 0}, .to = {9, 0}, .multicast = TRUE, .wavelets = {20, 5, 1}};
    MeshFound *found = mesh_child_run(&setup, prepare_scene, scene);
    for (guint place = 1; place <= 7; place++) {
        g_assert_cmpfloat_with_epsilon(scene->head_cycles[place], place + 1, EPSILON);
        g_assert_cmpfloat_with_epsilon(scene->asked_cycles[0][place], place + 20, EPSILON);
        g_assert_cmpfloat_with_epsilon(scene->asked_cycles[1][place], place + 25, EPSILON);
        g_assert_cmpfloat_with_epsilon(scene->asked_cycles[2][place], place + 26, EPSILON);
        g_assert_cmpuint(found->cores[2 + place].hops, ==, place);
    }
    g_assert_cmpuint(found->link_wavelets, ==, 7 * 26); /* once for all members */
    mesh_assert_accounted(found);
}

/* Two messages over one link take turns: each is there when both would be. */
static gboolean prepare_crossing(Mesh *mesh, gpointer data, GError **error) {
    for (guint i = 0; i < 2; i++) {
        Scene *scene = (Scene *)data + i;
        MeshCore *from = mesh_core(mesh, i, 0), *to = mesh_core(mesh, i + 2, 0);
        MeshPath *path = mesh_path(mesh, from, to, FALSE, error);
        cast(from, sender_main, (Role){scene, path, NULL});
        cast(to, receiver_main, (Role){scene, path, NULL});
    }
    return TRUE;
}

static void test_contention(void) {
    MeshSpec spec = mesh_fixture_spec();
    MeshSetup setup = {.spec = &spec, .columns = 4, .rows = 1, .algorithm = "crossing"};
    Scene *scenes = child_shared(2 * sizeof *scenes);

    for (guint i = 0; i < 2; i++)
        scenes[i] = (Scene){.from = {i, 0}, .wavelets = {100}};
    MeshFound *found = mesh_child_run(&setup, prepare_crossing, scenes);
    for (guint i = 2; i < 4; i++)
        g_assert_cmpfloat_with_epsilon(found->cores[i].end_cycles, 202, EPSILON);
    for (guint i = 0; i < 2; i++) { /* and they leave late, to within what is on its two hops */
        g_assert_cmpfloat(scenes[i].left_cycles, >=, 198 - EPSILON);
        g_assert_cmpfloat(scenes[i].left_cycles, <=, 203);
    }
    g_assert_cmpuint(found->link_wavelets, ==, 400);
    mesh_assert_accounted(found);
}

/* What a core waits for before it was sent is waiting; from then on it is communication. */
static void late_sender_main(MeshCore *core) {
    g_autofree Role *role = core->data;

    mesh_compute(core, 40);
    mesh_relay(core);
    mesh_send(role->path, 10, NULL);
}

static void waiting_main(MeshCore *core) {
    g_autofree Role *role = core->data;

    g_assert_null(mesh_receive(core, role->path));
    mesh_relay(core);
}

static gboolean prepare_waiting(Mesh *mesh, gpointer data, GError **error) {
    (void)data;
    MeshCore *from = mesh_core(mesh, 0, 0), *to = mesh_core(mesh, 0, 3);
    MeshPath *path = mesh_path(mesh, from, to, FALSE, error);

    cast(from, late_sender_main, (Role){NULL, path, NULL});
    cast(to, waiting_main, (Role){NULL, path, NULL});
    return TRUE;
}

static void test_accounting(void) {
    MeshSpec spec = mesh_fixture_spec();
    MeshSetup setup = {.spec = &spec, .columns = 1, .rows = 4, .algorithm = "waiting"};
    MeshFound *found = mesh_child_run(&setup, prepare_waiting, NULL);

    g_assert_cmpfloat_with_epsilon(found->totals.cycles, 40 + 16.1 + 13 + 16.1, EPSILON);
    g_assert_cmpfloat_with_epsilon(found->totals.wait_cycles, 56.1, EPSILON);
    g_assert_cmpfloat_with_epsilon(found->totals.communication_cycles, 13, EPSILON);
    g_assert_cmpfloat_with_epsilon(found->totals.compute_cycles, 16.1, EPSILON);
    g_assert_cmpuint(found->totals.stages, ==, 2);
    g_assert_cmpuint(found->totals.hops, ==, 3);
    mesh_assert_accounted(found);
}

/* Paths and memory: a core of three rows and three columns is asked for more and more. */
typedef struct Demand {
    guint paths;   /* from (0, 0) along row 0, each to a core of its own */
    guint columns; /* and along column 0 */
    double bytes;  /* at (0, 2) */
} Demand;

static void idle_main(MeshCore *core) {
    mesh_compute(core, 1);
}

static gboolean prepare_demand(Mesh *mesh, gpointer data, GError **error) {
    const Demand *demand = data;
    MeshCore *corner = mesh_core(mesh, 0, 0), *holder = mesh_core(mesh, 0, 2);

    for (guint i = 1; i <= demand->paths; i++) {
        MeshPath *path = mesh_path(mesh, corner, mesh_core(mesh, i, 0), FALSE, error);
        if (!path)
            return FALSE;
        g_assert_true(mesh_path(mesh, corner, mesh_core(mesh, i, 0), FALSE, error) == path);
    }
    for (guint i = 1; i <= demand->columns; i++)
        if (!mesh_path(mesh, corner, mesh_core(mesh, 0, i), TRUE, error))
            return FALSE;
    if (!mesh_hold(holder, demand->bytes / 2, error) ||
        !mesh_hold(holder, demand->bytes / 2, error))
        return FALSE;
    mesh_release(holder, demand->bytes / 2);
    mesh_core_start(corner, idle_main);
    return TRUE;
}

static void test_limits(void) {
    static const struct {
        Demand demand;
        gboolean unlimited, folded;
        const char *error;
    } cases[] = {
        {{3, 0, 100}, FALSE, FALSE, ""},
        {{3, 2, 100},
         FALSE,
         FALSE,
         "core (0, 0): algorithm 'demand' needs at least 5 routing paths, more than the 4 of a "
         "core"},
        {{3, 2, 100},
         FALSE,
         TRUE,
         "core (0, 0): algorithm 'demand' needs at least 5 routing paths, more than the 4 of a "
         "core"},
        {{5, 5, 1e6}, TRUE, FALSE, ""},
        {{0, 4, 45e3}, FALSE, FALSE, ""},
        {{0, 0, 61200},
         FALSE,
         FALSE,
         "core (0, 2): algorithm 'demand' needs 61.2 kB, more than the 45 kB of a core"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        MeshSpec spec = mesh_fixture_spec();
        spec.routing_paths = 4;
        MeshSetup setup = {.spec = &spec,
                           .columns = 6,
                           .rows = 6,
                           .folded = cases[i].folded,
                           .unlimited = cases[i].unlimited,
                           .algorithm = "demand"};
        Demand demand = cases[i].demand;
        MeshFound *found = mesh_child_run(&setup, prepare_demand, &demand);
        g_assert_cmpstr(found->error, ==, cases[i].error);
        if (*found->error)
            continue;
        g_assert_cmpuint(found->totals.paths, ==, demand.paths + demand.columns);
        g_assert_cmpfloat(found->totals.peak_bytes, ==, demand.bytes);
        g_assert_cmpuint(found->totals.bytes_x, ==, 0);
        g_assert_cmpuint(found->totals.bytes_y, ==, 2);
    }
}

static void test_too_large(void) {
    MeshSpec spec = mesh_fixture_spec();
    MeshSetup setup = {.spec = &spec, .columns = 60000, .rows = 60000, .algorithm = "demand"};
    MeshFound *found = mesh_child_run(&setup, prepare_demand, NULL);

    g_assert_true(g_str_has_prefix(found->error, "a mesh of 60000 x 60000 cores takes about "));
    g_assert_nonnull(strstr(found->error, " of memory to simulate in full, more than the "));
}

/* A path counts at each core it touches, and at the bend once. */
static gboolean prepare_bend(Mesh *mesh, gpointer data, GError **error) {
    (void)data;
    mesh_core_start(mesh_core(mesh, 3, 3), idle_main);
    return mesh_path(mesh, mesh_core(mesh, 2, 0), mesh_core(mesh, 0, 2), FALSE, error) != NULL;
}

static void test_paths_pass(void) {
    MeshSpec spec = mesh_fixture_spec();
    MeshSetup setup = {.spec = &spec, .columns = 4, .rows = 4, .algorithm = "bend"};
    MeshFound *found = mesh_child_run(&setup, prepare_bend, NULL);

    for (guint y = 0; y < 4; y++)
        for (guint x = 0; x < 4; x++) {
            gboolean on_it = (y == 0 && x <= 2) || (x == 0 && y <= 2);
            g_assert_cmpuint(mesh_found_core(found, &setup, x, y)->paths, ==, on_it);
        }
}

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh/latency", test_latency);
    g_test_add_func("/mesh/transfers_beside_work", test_transfers_beside_work);
    g_test_add_func("/mesh/order", test_order);
    g_test_add_func("/mesh/multicast", test_multicast);
    g_test_add_func("/mesh/contention", test_contention);
    g_test_add_func("/mesh/accounting", test_accounting);
    g_test_add_func("/mesh/limits", test_limits);
    g_test_add_func("/mesh/too_large", test_too_large);
    g_test_add_func("/mesh/paths_pass", test_paths_pass);
    return g_test_run();
}
