#include "actors/cluster/alone.h"

#include "actors/engine.h"
#include "platforms/topology.h"

typedef struct Alone {
    void (*body)(gpointer data);
    gpointer data;
} Alone;

static void alone_main(int argc, char **argv) {
    (void)argc, (void)argv;
    const Alone *alone = engine_actor_data();

    alone->body(alone->data);
}

static void fail_on_deadlock(gpointer data) {
    (void)data;
    g_error("an operator waits for something that never comes");
}

double alone_run(const Platform *platform, DataType type, void (*body)(gpointer data),
                 gpointer data) {
    Alone alone = {.body = body, .data = data};

    engine_init();
    topology_build(platform, type);
    engine_actor_start("operator", topology_host(0), alone_main, &alone);
    engine_run(fail_on_deadlock, NULL);
    return engine_now();
}
