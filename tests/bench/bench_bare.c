/* The floor under our speed: a program that gives SimGrid the same number of sleeps and
 * communications, from the same number of actors, and does nothing else.
 *
 *   bench_bare ACTORS SLEEPS COMMS   prints the wall seconds without start-up */
#include "actors/engine_shim.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <stdio.h>
#include <stdlib.h>
#include <xbt/config.h>

typedef struct Share {
    guint64 sleeps, comms;
} Share;

static void body(int argc, char **argv) {
    (void)argc, (void)argv;
    Share share = *(Share *)sg_actor_self_get_data();
    sg_host_t here = sg_host_by_name("a");
    while (share.sleeps > 0 || share.comms > 0) {
        if (share.sleeps > 0) {
            sg_actor_sleep_for(0.001 * (double)(1 + share.sleeps % 7));
            share.sleeps--;
        }
        if (share.comms > 0) {
            sg_comm_wait(shim_send_begin(here, sg_host_by_name("b"), 1000000));
            share.comms--;
        }
    }
}

static const char platform[] =
    "<?xml version='1.0'?>\n"
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n"
    "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>\n"
    "<link id=\"l\" bandwidth=\"1GBps\" latency=\"0us\"/>\n"
    "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route></zone></platform>\n";

static void load_platform(void) {
    g_autofree char *path = NULL;
    g_autoptr(GError) error = NULL;
    int file = g_file_open_tmp("bare-XXXXXX.xml", &path, &error);
    g_assert_no_error(error);
    g_close(file, NULL);
    g_file_set_contents(path, platform, -1, &error);
    g_assert_no_error(error);
    simgrid_load_platform(path);
    g_unlink(path);
}

static guint64 part(guint64 total, guint64 actors, guint64 i) {
    return total * (i + 1) / actors - total * i / actors;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: bench_bare ACTORS SLEEPS COMMS\n");
        return 2;
    }
    guint64 actors = MAX(strtoull(argv[1], NULL, 10), 1);
    guint64 sleeps = strtoull(argv[2], NULL, 10), comms = strtoull(argv[3], NULL, 10);
    int n = 1;
    simgrid_init(&n, argv);
    sg_cfg_set_string("network/model", "CM02");
    sg_cfg_set_boolean("network/crosstraffic", "no");
    sg_cfg_set_int("contexts/stack-size", 64);
    load_platform();
    g_autofree Share *shares = g_new(Share, actors);
    for (guint64 i = 0; i < actors; i++) {
        shares[i] = (Share){part(sleeps, actors, i), part(comms, actors, i)};
        sg_actor_t actor = sg_actor_init("bare", sg_host_by_name("a"));
        sg_actor_set_data(actor, &shares[i]);
        sg_actor_start(actor, body, 0, NULL);
    }
    g_autoptr(GTimer) timer = g_timer_new();
    simgrid_run();
    printf("%.6f\n", g_timer_elapsed(timer, NULL));
    return 0;
}
