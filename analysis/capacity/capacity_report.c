#include "analysis/capacity/capacity_report.h"

#include "workloads/units.h"
#include <math.h>
#include <string.h>

#define COLUMN 13
#define FIGURES_SHOWN_MAX 8

/* The figures of a table: the targets' first, then those that every plan is asked for. */
typedef struct Shown {
    Figure figures[FIGURES_SHOWN_MAX];
    guint n;
} Shown;

static void show(Shown *shown, Figure figure) {
    for (guint i = 0; i < shown->n; i++)
        if (shown->figures[i] == figure)
            return;
    if (shown->n < FIGURES_SHOWN_MAX)
        shown->figures[shown->n++] = figure;
}

static Shown shown_of(const CapacityReport *report) {
    static const Figure always[] = {FIGURE_THROUGHPUT, FIGURE_TTFT_P99, FIGURE_TPOT_P99};
    const GArray *limits = report->setup->targets->limits;
    Shown shown = {.n = 0};

    for (guint i = 0; i < limits->len; i++)
        show(&shown, g_array_index(limits, FigureLimit, i).figure);
    show(&shown, report->capacity->curve);
    for (guint i = 0; i < G_N_ELEMENTS(always); i++)
        show(&shown, always[i]);
    return shown;
}

/* A figure without the words of its unit that the table's head has. Caller frees. */
static char *cell(Figure figure, double value) {
    g_autofree char *text = objective_text(figure, value);
    char *space = strchr(text, ' ');
    gboolean counted = space != NULL && strchr(space, '/') != NULL;

    return g_strndup(text, counted ? (gsize)(space - text) : strlen(text));
}

static void add_head(GString *out, const Shown *shown, const char *first) {
    g_string_append_printf(out, "  %-15s", first);
    for (guint i = 0; i < shown->n; i++)
        g_string_append_printf(out, "%*s", COLUMN, figure_info(shown->figures[i])->name);
    g_string_append(out, "  holds\n");
}

static void add_row(GString *out, const Shown *shown, const CapacityPoint *point,
                    const char *first) {
    g_string_append_printf(out, "  %-15s", first);
    for (guint i = 0; i < shown->n; i++) {
        g_autofree char *text = cell(shown->figures[i], point->figures[shown->figures[i]]);
        g_string_append_printf(out, "%*s", COLUMN, text);
    }
    g_string_append_printf(out, "  %s", point->holds ? "yes" : "no");
}

/* --- the sections of the text */

static void add_title(GString *out, const CapacityReport *report) {
    const GArray *limits = report->setup->targets->limits;

    g_string_append_printf(out, "%s: ", report->experiment);
    for (guint i = 0; i < limits->len; i++)
        g_string_append_printf(out, "%s%s", i == 0 ? "" : ", ",
                               g_array_index(limits, FigureLimit, i).text);
    g_string_append_c(out, '\n');
}

static const Platform *platform_of(const CapacityReport *report) {
    return campaign_base(report->setup->campaign)->platform;
}

static void add_answer(GString *out, const CapacityReport *report) {
    const Capacity *capacity = report->capacity;
    const CapacityPoint *chosen = capacity->chosen;

    if (chosen == NULL) {
        g_autofree char *to = capacity_size_text(report->setup->units, report->setup->to);
        if (capacity->sizes->len > 0)
            g_string_append_printf(out, "no size up to %s meets every target\n", to);
        else
            g_string_append(out, "no load is light enough for this machine\n");
        return;
    }
    if (chosen->size > 0) {
        g_autofree char *size = capacity_size_text(report->setup->units, chosen->size);
        g_string_append_printf(out, "smallest machine   %s of %s\n", size,
                               platform_of(report)->name);
    } else {
        g_string_append_printf(out, "highest load       %.4g requests/s, %.3g times its own\n",
                               capacity->rate_per_s * chosen->load, chosen->load);
    }
    double elements = chosen->figures[FIGURE_CLUSTERS];
    g_string_append_printf(out, "plan               %s (%.0f %s)\n", chosen->plan, elements,
                           platform_elements_name(platform_of(report)->kind, (guint64)elements));
}

static void add_causes(GString *out, const CapacityReport *report) {
    const GPtrArray *causes = report->capacity->causes;

    for (guint i = 0; i < causes->len; i++) {
        const CapacityCause *cause = causes->pdata[i];
        g_string_append_printf(out, "%s '%s': %s\n", cause->never ? "never to be met" : "not met",
                               cause->target->text, cause->text);
    }
}

static void add_figures(GString *out, const CapacityReport *report) {
    static const Figure listed[] = {
        FIGURE_GOODPUT,          FIGURE_THROUGHPUT,   FIGURE_REQUEST_RATE, FIGURE_TTFT_P50,
        FIGURE_TTFT_P99,         FIGURE_TPOT_P50,     FIGURE_TPOT_P99,     FIGURE_COST,
        FIGURE_ENERGY_PER_TOKEN, FIGURE_PREFILL_BUSY, FIGURE_DECODE_BUSY,  FIGURE_BUFFER_FULL};
    const CapacityPoint *chosen = report->capacity->chosen;

    g_string_append(out, "\nWith that plan\n");
    for (guint i = 0; i < G_N_ELEMENTS(listed); i++) {
        double value = chosen->figures[listed[i]];
        g_autofree char *text = objective_text(listed[i], value);
        if (!isnan(value))
            g_string_append_printf(out, "  %-17s%s\n", figure_info(listed[i])->name, text);
    }
}

/* What the checks of the bisection found. */
static void add_size_check(GString *out, const CapacityReport *report) {
    const BisectionResult *search = &report->capacity->size_search;
    const CapacitySetup *setup = report->setup;

    if (report->capacity->chosen == NULL)
        return;
    if (search->scanned)
        g_string_append(
            out, "  not monotone: a smaller size held than halving had found, and the gap was "
                 "scanned\n");
    else
        g_string_append(out, "  checked: the sizes just below fail, and the larger ones looked at "
                             "hold\n");
    if (search->exception == NO_PLACE)
        return;
    g_autofree char *size =
        capacity_size_text(setup->units, setup->from + search->exception * setup->step);
    g_string_append_printf(out, "  mind that %s, though larger, fails\n", size);
}

static void add_knee(GString *out, const CapacityReport *report) {
    const Capacity *capacity = report->capacity;

    if (capacity->knee == NO_PLACE)
        return;
    const CapacityPoint *knee = capacity->sizes->pdata[capacity->knee];
    g_autofree char *size = capacity_size_text(report->setup->units, knee->size);
    g_string_append_printf(out, "  knee at %s: behind it %s gains less than %.3g %%\n", size,
                           figure_info(capacity->curve)->name, 100 * report->setup->knee_gain);
}

static void add_sizes(GString *out, const CapacityReport *report, const Shown *shown) {
    const GPtrArray *sizes = report->capacity->sizes;
    guint bounded = 0;

    if (sizes->len == 0)
        return;
    g_string_append_c(out, '\n');
    add_head(out, shown, capacity_unit_names[report->setup->units]);
    for (guint i = 0; i < sizes->len; i++) {
        const CapacityPoint *point = sizes->pdata[i];
        g_autofree char *size = g_strdup_printf("%" G_GUINT64_FORMAT, point->size);
        add_row(out, shown, point, size);
        g_autofree char *words = capacity_point_words(point);
        g_string_append_printf(out, "%s  %s\n", point->holds ? "" : " ", words);
        bounded += point->bounded ? 1 : 0;
    }
    if (bounded > 0)
        g_string_append_printf(
            out,
            "  of %u of them bounds prove that no plan will do; the best is shown all the same\n",
            bounded);
    add_size_check(out, report);
    add_knee(out, report);
}

#define RATIO_SHOWN 1.2

/* Loads that were asked for, the answer, and of the others as many as leave room between them. */
static gboolean load_is_shown(const CapacityReport *report, double load, double last) {
    const GArray *asked = report->setup->loads;
    const Capacity *capacity = report->capacity;

    for (guint i = 0; capacity->sizes->len > 0 && i < asked->len; i++)
        if (g_array_index(asked, double, i) <= load && load <= g_array_index(asked, double, i))
            return TRUE;
    return (load >= capacity->highest_load && load <= capacity->highest_load) ||
           (load >= capacity->lowest_broken && load <= capacity->lowest_broken) ||
           (capacity->sizes->len == 0 && load >= RATIO_SHOWN * last);
}

static void add_loads(GString *out, const CapacityReport *report, const Shown *shown) {
    const Capacity *capacity = report->capacity;
    double last = 0;

    if (capacity->loads->len == 0) {
        if (isnan(capacity->rate_per_s) && capacity->chosen != NULL)
            g_string_append(out, "\nNo headroom: the workload's requests do not come at a rate\n");
        return;
    }
    g_string_append_c(out, '\n');
    add_head(out, shown, "requests/s");
    for (guint i = 0; i < capacity->loads->len; i++) {
        const CapacityPoint *point = capacity->loads->pdata[i];
        if (!load_is_shown(report, point->load, last))
            continue;
        last = point->load;
        g_autofree char *load =
            g_strdup_printf("%.4g (%.3gx)", capacity->rate_per_s * point->load, point->load);
        add_row(out, shown, point, load);
        g_string_append_printf(out, "%s%s\n", point->reason == NULL ? "" : "   ",
                               point->reason == NULL ? "" : point->reason);
    }
    if (!isnan(capacity->highest_load))
        g_string_append_printf(out, "  sustains %.4g requests/s, %.3g times its load\n",
                               capacity->rate_per_s * capacity->highest_load,
                               capacity->highest_load);
    if (capacity->loads_uneven)
        g_string_append_printf(out,
                               "  not monotone: %.3g times its load fails, though a higher "
                               "one holds\n",
                               capacity->lowest_broken);
}

static double mean_of(const CapacityRelief *relief, Figure figure) {
    double sum = 0;

    for (guint i = 0; i < PRESSED_LOADS; i++)
        sum += relief->points[i]->figures[figure];
    return sum / PRESSED_LOADS;
}

static void add_bottleneck(GString *out, const CapacityReport *report) {
    const Capacity *capacity = report->capacity;

    if (capacity->pressed == NULL)
        return;
    const CapacityRelief *none = capacity->reliefs->pdata[0];
    const char *name = "none of them alone";
    if (capacity->bottleneck >= 0)
        name = ((const CapacityRelief *)capacity->reliefs->pdata[capacity->bottleneck])->resource;
    g_string_append_printf(out, "\nBottleneck: %s\n  with %.3g to %.3g times the load, in the mean",
                           name, none->points[0]->load, none->points[PRESSED_LOADS - 1]->load);
    g_string_append_printf(out, "%*s  of the way to '%s'\n", COLUMN,
                           figure_info(capacity->pressed->figure)->name, capacity->pressed->text);
    for (guint i = 0; i < capacity->reliefs->len; i++) {
        const CapacityRelief *relief = capacity->reliefs->pdata[i];
        g_autofree char *words = relief->resource == NULL
                                     ? g_strdup("as it is")
                                     : g_strdup_printf("%s (%s)", relief->resource, relief->change);
        g_autofree char *figure =
            objective_text(capacity->pressed->figure, mean_of(relief, capacity->pressed->figure));
        g_string_append_printf(out, "  %-43s%*s", words, COLUMN, figure);
        if (!isnan(relief->closed))
            g_string_append_printf(out, "%8.0f %%", 100 * relief->closed);
        g_string_append_c(out, '\n');
    }
}

static void add_seeds(GString *out, const CapacityReport *report) {
    const Capacity *capacity = report->capacity;
    const FigureLimit *first = &g_array_index(report->setup->targets->limits, FigureLimit, 0);
    double least = INFINITY, most = -INFINITY;
    guint held = 0;

    if (capacity->seeds->len == 0)
        return;
    for (guint i = 0; i < capacity->seeds->len; i++) {
        const CapacityPoint *point = capacity->seeds->pdata[i];
        held += point->holds ? 1 : 0;
        least = MIN(least, point->figures[first->figure]);
        most = MAX(most, point->figures[first->figure]);
    }
    g_autofree char *from = objective_text(first->figure, least);
    g_autofree char *to = objective_text(first->figure, most);
    g_string_append_printf(out, "\nOther seeds: %u of %u hold the targets (%s %s to %s)\n", held,
                           capacity->seeds->len, figure_info(first->figure)->name, from, to);
}

char *capacity_report_text(const CapacityReport *report) {
    GString *out = g_string_new(NULL);
    Shown shown = shown_of(report);

    add_title(out, report);
    add_answer(out, report);
    add_causes(out, report);
    if (report->capacity->chosen != NULL)
        add_figures(out, report);
    add_sizes(out, report, &shown);
    add_seeds(out, report);
    add_loads(out, report, &shown);
    add_bottleneck(out, report);
    return g_string_free(out, FALSE);
}
