#include "analysis/report/report_run.h"

#include "analysis/report/report_phases.h"
#include "analysis/report/report_run_private.h"
#include "analysis/report/report_slices.h"
#include "analysis/run/summary_rows.h"
#include "analysis/timeline/timeline.h"
#include <math.h>

/* Lets events through to the timeline until its slices are full. */
typedef struct Gate {
    Observer observer;
    Observer *timeline;
} Gate;

struct ReportRun {
    Gate gate;
    ReportSeries *series;
    ReportPhases *phases;
    TraceSink *slices; /* owned by the timeline */
    Timeline *timeline;
};

static void pass_through(Observer *observer, const Event *event) {
    const Gate *gate = (const Gate *)observer;
    if (observer->wants_steps)
        gate->timeline->notify(gate->timeline, event);
}

ReportRun *report_run_new(const Experiment *experiment, const Ledger *ledger) {
    ReportRun *run = g_new0(ReportRun, 1);
    TimelineOptions options = {.plan = experiment->plan, .window = trace_window(0, INFINITY)};
    run->series = report_series_new(experiment->plan, ledger);
    run->phases = report_phases_new();
    run->slices = report_slices_new(experiment->plan);
    run->timeline = timeline_new(run->slices, &options);
    run->gate = (Gate){{.notify = pass_through, .wants_steps = TRUE, .wants_transfers = TRUE},
                       timeline_observer(run->timeline)};
    report_slices_watch(run->slices, &run->gate.observer);
    return run;
}

void report_run_free(ReportRun *run) {
    if (run == NULL)
        return;
    timeline_free(run->timeline);
    report_phases_free(run->phases);
    report_series_free(run->series);
    g_free(run);
}

void report_run_observe(ReportRun *run, GPtrArray *observers) {
    g_ptr_array_add(observers, report_series_observer(run->series));
    g_ptr_array_add(observers, report_phases_observer(run->phases));
    g_ptr_array_add(observers, &run->gate.observer);
}

static void add_timeline(ReportPage *page, const ReportRun *run, double end_s) {
    g_autofree char *slices = report_slices_json(run->slices, run->series);
    g_autofree char *phases = report_phases_json(run->phases, end_s);
    report_page_section(
        page, "timelines", "Timeline",
        "Drag to move; the wheel with Ctrl, the buttons, or + and - on the keyboard "
        "zoom; arrow keys move; 0 shows everything.");
    report_page_item(page, slices);
    if (report_phases_count(run->phases) > 0)
        report_page_item(page, phases);
}

gboolean report_run_write(ReportRun *run, const SummaryInput *summary, const char *path,
                          GError **error) {
    const Experiment *experiment = summary->experiment;
    double end_s = summary->ledger->end_s;
    g_autofree char *title = summary_plan_line(experiment);
    g_autofree char *subtitle = summary_extent_line(experiment);
    g_autofree char *resolved = experiment_write(experiment);
    g_autoptr(ReportPage) page = report_page_new(title, subtitle);
    if (!timeline_finish(run->timeline, end_s, error))
        return FALSE;
    report_series_finish(run->series);
    report_run_overview(page, summary);
    report_run_latencies(page, summary);
    report_run_load(page, summary, run->series);
    report_run_machine(page, summary, run->series);
    add_timeline(page, run, end_s);
    report_run_tables(page, summary);
    report_page_section(page, "experiment", "Experiment",
                        summary->outcome == OUTCOME_FINISHED
                            ? "The same bytes come of it again: infergrid simulate takes this file."
                            : "What was to be simulated: infergrid simulate takes this file.");
    report_page_text(page, "experiment.yaml, resolved", resolved);
    return report_page_write(page, path, error);
}
