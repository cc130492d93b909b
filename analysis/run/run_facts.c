#include "analysis/run/run_facts.h"

#include "analysis/output/json_text.h"
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

RunFacts run_facts_begin(void) {
    gint64 now_us = g_get_monotonic_time();
    return (RunFacts){.date_us = g_get_real_time(),
                      .started_us = now_us,
                      .simulation_us = now_us,
                      .finished_us = now_us};
}

void run_facts_simulation(RunFacts *facts) {
    facts->simulation_us = facts->finished_us = g_get_monotonic_time();
}

void run_facts_finish(RunFacts *facts) {
    facts->finished_us = g_get_monotonic_time();
}

static double simulation_seconds(const RunFacts *facts) {
    return (double)MAX(facts->finished_us - facts->simulation_us, 1) / 1e6;
}

guint64 run_facts_activities(const Ledger *ledger) {
    return ledger->execs + ledger->sleeps + ledger->comms + ledger->timers;
}

/* "model name" of the first processor in /proc/cpuinfo, or NULL where there is none. */
static char *processor_name(void) {
    g_autofree char *text = NULL;
    if (!g_file_get_contents("/proc/cpuinfo", &text, NULL, NULL))
        return NULL;
    const char *line = strstr(text, "model name");
    const char *colon = line != NULL ? strchr(line, ':') : NULL;
    if (colon == NULL)
        return NULL;
    return g_strstrip(g_strndup(colon + 1, strcspn(colon + 1, "\n")));
}

static void write_host(JsonText *json) {
    struct utsname system = {0};
    uname(&system);
    g_autofree char *processor = processor_name();
    json_text_open(json, "host", '{');
    json_text_string(json, "name", system.nodename);
    json_text_string(json, "system", system.sysname);
    json_text_string(json, "release", system.release);
    json_text_string(json, "machine", system.machine);
    if (processor != NULL)
        json_text_string(json, "processor", processor);
    json_text_count(json, "processors", g_get_num_processors());
    json_text_close(json, '}');
}

static void write_versions(JsonText *json) {
    g_autofree char *engine = simulation_engine_version();
    g_autofree char *glib =
        g_strdup_printf("%u.%u.%u", glib_major_version, glib_minor_version, glib_micro_version);
    json_text_open(json, "versions", '{');
    json_text_string(json, "infergrid", INFERGRID_VERSION);
    json_text_string(json, "simgrid", engine);
    json_text_string(json, "glib", glib);
    json_text_close(json, '}');
}

static void write_engine(JsonText *json, const Ledger *ledger, double seconds) {
    json_text_open(json, "engine", '{');
    json_text_count(json, "steps", ledger->steps);
    json_text_count(json, "execs", ledger->execs);
    json_text_count(json, "sleeps", ledger->sleeps);
    json_text_count(json, "comms", ledger->comms);
    json_text_count(json, "timers", ledger->timers);
    json_text_count(json, "wakes", ledger->wakes);
    json_text_number(json, "steps_per_s", (double)ledger->steps / seconds);
    json_text_number(json, "activities_per_s", (double)run_facts_activities(ledger) / seconds);
    json_text_number(json, "requests_per_s", (double)ledger->arrived / seconds);
    json_text_number(json, "simulated_s_per_s", ledger->end_s / seconds);
    json_text_close(json, '}');
}

static double timeval_seconds(struct timeval span) {
    return (double)((gint64)span.tv_sec * 1000000 + span.tv_usec) / 1e6;
}

static void write_use(JsonText *json) {
    struct rusage use = {0};
    getrusage(RUSAGE_SELF, &use);
    json_text_number(json, "cpu_user_s", timeval_seconds(use.ru_utime));
    json_text_number(json, "cpu_system_s", timeval_seconds(use.ru_stime));
    json_text_count(json, "peak_memory_bytes", (guint64)use.ru_maxrss * 1024); /* KiB on Linux */
}

char *run_facts_json(const RunFacts *facts, const Ledger *ledger) {
    g_autoptr(GDateTime) start = g_date_time_new_from_unix_utc(facts->date_us / 1000000);
    g_autofree char *started = g_date_time_format_iso8601(start);
    double wall_s = (double)(g_get_monotonic_time() - facts->started_us) / 1e6;
    JsonText json = json_text_new();
    json_text_open(&json, NULL, '{');
    json_text_string(&json, "started", started);
    json_text_number(&json, "wall_s", wall_s);
    json_text_number(&json, "simulation_wall_s", simulation_seconds(facts));
    write_use(&json);
    write_engine(&json, ledger, simulation_seconds(facts));
    write_versions(&json);
    write_host(&json);
    json_text_close(&json, '}');
    return json_text_end(&json);
}

char *run_facts_line(const RunFacts *facts, const Ledger *ledger) {
    double seconds = simulation_seconds(facts);
    struct rusage use = {0};
    getrusage(RUSAGE_SELF, &use);
    return g_strdup_printf(
        "simulated %.6g s in %.3g s: %.0f requests/s, %.0f steps/s, "
        "%.0f activities/s, peak memory %.0f MB",
        ledger->end_s, seconds, (double)ledger->arrived / seconds, (double)ledger->steps / seconds,
        (double)run_facts_activities(ledger) / seconds, (double)use.ru_maxrss * 1024 * 1e-6);
}
