#include "tests/engine/child.h"

#include "actors/engine.h"
#include "platforms/topology.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Child {
    ChildJob job;
    void (*body)(const ChildJob *job);
} Child;

Platform *child_platform(void) {
    g_autofree char *path =
        g_test_build_filename(G_TEST_DIST, "..", "platforms", "mt3000.yaml", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(YamlNode) section = yaml_load_file(path, &error);

    g_assert_no_error(error);
    yaml_remove(section, "version"); /* of the file, not of the section */
    Platform *platform = platform_read(section, &error);
    g_assert_no_error(error);
    return platform;
}

static void child_main(int argc, char **argv) {
    const Child *child = engine_actor_data();

    (void)argc, (void)argv;
    child->body(&child->job);
}

static void fail_on_deadlock(gpointer data) {
    (void)data;
    g_error("deadlock");
}

void child_run(void (*body)(const ChildJob *job), gpointer data) {
    pid_t pid = fork();

    if (pid == 0) {
        Platform *platform = child_platform();
        Child child = {.job = {.platform = platform, .data = data}, .body = body};
        engine_init();
        topology_build(platform, DATA_TYPE_FP16);
        engine_actor_start("job", topology_host(0), child_main, &child);
        engine_run(fail_on_deadlock, NULL);
        platform_free(platform);
        exit(EXIT_SUCCESS);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    g_assert_cmpint(status, ==, 0);
}

gpointer child_shared(gsize bytes) {
    gpointer memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    g_assert_true(memory != MAP_FAILED);
    return memory;
}
