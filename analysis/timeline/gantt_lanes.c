#include "analysis/timeline/gantt_lanes.h"

#include "analysis/timeline/gantt_names.h"
#include <string.h>

#define TRAFFIC_LANES_MAX 3 /* which lane a transfer stands in says nothing */
#define THIN_LANES 5        /* take the room of one */

typedef struct GanttProcess {
    char *name;
    GanttGroup *latest; /* of its lanes; borrowed */
} GanttProcess;

struct GanttGroup {
    char *family;  /* of its processes */
    char *kind;    /* of its lanes' names; "": any */
    char *heading; /* made with the rows; so are the next two */
    GPtrArray *labels;
    guint first_row;
    GPtrArray *lanes; /* GanttLane, borrowed */
    guint n_processes;
    guint last_process;
    GanttTrack *band; /* of lanes without a track of their own, and of all once collapsed */
    gboolean collapsed, thin;
    gboolean joined; /* of the lanes of several pools */
};

struct GanttLanes {
    GanttGrid grid;
    GHashTable *processes; /* id → GanttProcess; looked up only */
    GHashTable *by_id;     /* gint64 process, thread → GanttLane; looked up only */
    GPtrArray *lanes;      /* GanttLane, owned */
    GPtrArray *groups;     /* GanttGroup, owned, in order of appearance */
    GanttLane *latest;     /* found last */
};

static void group_free(gpointer data) {
    GanttGroup *group = data;

    g_free(group->family);
    g_free(group->kind);
    g_free(group->heading);
    g_clear_pointer(&group->labels, g_ptr_array_unref);
    g_ptr_array_unref(group->lanes);
    gantt_track_free(group->band);
    g_free(group);
}

static void lane_free(gpointer data) {
    GanttLane *lane = data;

    g_free(lane->name);
    gantt_track_free(lane->track);
    g_free(lane);
}

static void process_free(gpointer data) {
    g_free(((GanttProcess *)data)->name);
    g_free(data);
}

GanttLanes *gantt_lanes_new(gint64 from_ns) {
    GanttLanes *lanes = g_new0(GanttLanes, 1);

    lanes->grid = (GanttGrid){.from_ns = from_ns, .bin_ns = 1};
    lanes->processes = g_hash_table_new_full(NULL, NULL, NULL, process_free);
    lanes->by_id = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    lanes->lanes = g_ptr_array_new_with_free_func(lane_free);
    lanes->groups = g_ptr_array_new_with_free_func(group_free);
    return lanes;
}

void gantt_lanes_free(GanttLanes *lanes) {
    if (lanes == NULL)
        return;
    g_hash_table_unref(lanes->by_id);
    g_hash_table_unref(lanes->processes);
    g_ptr_array_unref(lanes->lanes);
    g_ptr_array_unref(lanes->groups);
    g_free(lanes);
}

const GanttGrid *gantt_lanes_grid(const GanttLanes *lanes) {
    return &lanes->grid;
}

static GanttProcess *process_of(GanttLanes *lanes, guint id) {
    GanttProcess *process = g_hash_table_lookup(lanes->processes, GUINT_TO_POINTER(id));

    if (process == NULL) {
        process = g_new0(GanttProcess, 1);
        process->name = g_strdup("");
        g_hash_table_insert(lanes->processes, GUINT_TO_POINTER(id), process);
    }
    return process;
}

void gantt_lanes_name_process(GanttLanes *lanes, guint id, const char *name) {
    GanttProcess *process = process_of(lanes, id);

    g_free(process->name);
    process->name = g_strdup(name);
}

/* A few dozen groups: the latest ones are the likely ones. */
static GanttGroup *group_of(GanttLanes *lanes, const char *process, const char *name) {
    g_autofree char *family = gantt_name_family(process);
    g_autofree char *kind = gantt_name_kind(name);

    for (guint i = lanes->groups->len; i-- > 0;) {
        GanttGroup *group = lanes->groups->pdata[i];
        if (strcmp(group->family, family) == 0 && strcmp(group->kind, kind) == 0)
            return group;
    }
    GanttGroup *group = g_new0(GanttGroup, 1);
    group->family = g_steal_pointer(&family);
    group->kind = g_steal_pointer(&kind);
    group->lanes = g_ptr_array_new();
    g_ptr_array_add(lanes->groups, group);
    return group;
}

static GanttLane *lane_new(GanttLanes *lanes, guint process, guint thread, const char *name) {
    GanttLane *lane = g_new0(GanttLane, 1);
    gint64 *key = g_new(gint64, 1);

    *key = (gint64)process << 32 | thread;
    lane->process = process;
    lane->thread = thread;
    lane->name = g_strdup(name);
    lane->last_end_ns = G_MININT64;
    lane->group = group_of(lanes, process_of(lanes, process)->name, name);
    if (lane->group->lanes->len == 0 || lane->group->last_process != process)
        lane->group->n_processes++;
    lane->group->last_process = process;
    if (lane->group->lanes->len < GANTT_GROUP_LANES_MAX)
        lane->track = gantt_track_new();
    else if (lane->group->band == NULL)
        lane->group->band = gantt_track_new();
    g_ptr_array_add(lane->group->lanes, lane);
    g_ptr_array_add(lanes->lanes, lane);
    g_hash_table_insert(lanes->by_id, key, lane);
    return lane;
}

static GanttLane *look_up(GanttLanes *lanes, guint process, guint thread) {
    gint64 key = (gint64)process << 32 | thread;

    return g_hash_table_lookup(lanes->by_id, &key);
}

void gantt_lanes_name(GanttLanes *lanes, guint process, guint thread, const char *name) {
    if (look_up(lanes, process, thread) == NULL)
        lane_new(lanes, process, thread, name);
}

GanttLane *gantt_lanes_find(GanttLanes *lanes, guint process, guint thread) {
    GanttLane *lane = lanes->latest;

    if (lane != NULL && lane->process == process && lane->thread == thread)
        return lane;
    lane = look_up(lanes, process, thread);
    if (lane == NULL)
        lane = lane_new(lanes, process, thread, "");
    lanes->latest = lane;
    return lane;
}

void gantt_lanes_coarsen(GanttLanes *lanes, guint doublings) {
    if (doublings == 0)
        return;
    for (guint i = 0; i < lanes->lanes->len; i++) {
        GanttLane *lane = lanes->lanes->pdata[i];
        if (lane->track != NULL)
            gantt_track_coarsen(lane->track, &lanes->grid, doublings);
    }
    for (guint i = 0; i < lanes->groups->len; i++) {
        GanttGroup *group = lanes->groups->pdata[i];
        if (group->band != NULL)
            gantt_track_coarsen(group->band, &lanes->grid, doublings);
    }
    lanes->grid.bin_ns <<= doublings;
}

void gantt_lanes_put(GanttLanes *lanes, GanttLane *lane, GanttSlice *slice) {
    gantt_lanes_coarsen(lanes, gantt_grid_doublings(&lanes->grid, slice->end_ns));
    slice->parent = GANTT_NO_PARENT;
    if (slice->start_ns >= lane->last_start_ns && slice->end_ns <= lane->last_end_ns)
        slice->parent = lane->last_kind;
    else {
        lane->last_start_ns = slice->start_ns;
        lane->last_end_ns = slice->end_ns;
        lane->last_kind = slice->kind;
    }
    if (lane->track != NULL)
        gantt_track_put(lane->track, &lanes->grid, slice);
    else
        gantt_track_bin(lane->group->band, &lanes->grid, slice);
}

void gantt_lanes_mark(GanttLanes *lanes, GanttLane *lane, gint64 moment_ns) {
    gantt_lanes_coarsen(lanes, gantt_grid_doublings(&lanes->grid, moment_ns + 1));
    gantt_track_mark(lane->track != NULL ? lane->track : lane->group->band, &lanes->grid,
                     moment_ns);
}

static gboolean group_is_idle(const GanttGroup *group) {
    gboolean busy = group->band != NULL && group->band->n_slices > 0;

    for (guint i = 0; i < group->lanes->len && !busy; i++) {
        const GanttLane *lane = group->lanes->pdata[i];
        busy = lane->track != NULL && lane->track->n_slices > 0;
    }
    return !busy;
}

/* The room that it takes, in rows. */
static double group_room(const GanttGroup *group) {
    return group->collapsed ? 1 : group->lanes->len / (group->thin ? THIN_LANES : 1.0);
}

static gboolean slices_are_wide(const GanttGroup *group, gint64 width_ns) {
    gint64 busy_ns = 0;
    guint64 n = 0;

    for (guint i = 0; i < group->lanes->len; i++) {
        const GanttTrack *track = ((const GanttLane *)group->lanes->pdata[i])->track;
        n += track->n_slices;
        for (guint kind = 0; kind < gantt_kinds(); kind++)
            busy_ns += gantt_track_busy(track, kind);
    }
    return n > 0 && busy_ns / (gint64)n >= width_ns;
}

/* Some groups collapse however much room there is. */
static void collapse_traffic(GPtrArray *groups) {
    for (guint i = 0; i < groups->len; i++) {
        GanttGroup *group = groups->pdata[i];
        gboolean traffic = gantt_name_is_traffic(group->kind);
        group->collapsed = group->band != NULL || group->joined ||
                           (traffic && group->lanes->len > TRAFFIC_LANES_MAX);
    }
}

static const char *role_of(const GanttGroup *group) {
    return group->family + gantt_name_pool(group->family);
}

/* The same of different pools. */
static gboolean are_alike(const GanttGroup *a, const GanttGroup *b) {
    return strcmp(role_of(a), role_of(b)) == 0 && strcmp(a->kind, b->kind) == 0;
}

/* What is done to a group is done to the same of all pools that are as large. */
static void lower_alike(GPtrArray *groups, const GanttGroup *model, gboolean thin) {
    guint lanes = model->lanes->len;

    for (guint i = 0; i < groups->len; i++) {
        GanttGroup *group = groups->pdata[i];
        if (group->lanes->len != lanes || !are_alike(group, model))
            continue;
        group->thin |= thin;
        group->collapsed |= !thin;
    }
}

/* Thins or collapses the largest groups until there is room. */
static void make_room(GPtrArray *groups, guint rows_max, gint64 thin_ns) {
    for (;;) {
        GanttGroup *largest = NULL;
        double room = 0;
        for (guint i = 0; i < groups->len; i++) {
            GanttGroup *group = groups->pdata[i];
            room += group_room(group);
            if (largest == NULL || group_room(group) > group_room(largest))
                largest = group;
        }
        if (largest == NULL || room <= rows_max || group_room(largest) <= 1)
            return;
        lower_alike(groups, largest,
                    !largest->thin && largest->lanes->len > THIN_LANES &&
                        slices_are_wide(largest, thin_ns));
    }
}

/* Gives the lanes of 'other' to 'group'. */
static void join(GanttGroup *group, GanttGroup *other, const GanttGrid *grid) {
    for (guint i = 0; i < other->lanes->len; i++)
        ((GanttLane *)other->lanes->pdata[i])->group = group;
    g_ptr_array_extend(group->lanes, other->lanes, NULL, NULL);
    g_ptr_array_set_size(other->lanes, 0);
    group->n_processes += other->n_processes;
    if (other->band != NULL && group->band == NULL)
        group->band = g_steal_pointer(&other->band);
    else if (other->band != NULL)
        gantt_track_merge(group->band, grid, other->band);
    if (!group->joined)
        memmove(group->family, role_of(group), strlen(role_of(group)) + 1);
    group->joined = TRUE;
}

/* More groups than rows: the same of all pools become one. */
static void join_pools(GPtrArray *groups, const GanttGrid *grid) {
    guint kept = 0;

    for (guint i = 0; i < groups->len; i++) {
        GanttGroup *group = groups->pdata[i], *first = NULL;
        for (guint j = 0; j < kept && first == NULL && gantt_name_pool(group->family) > 0; j++)
            if (are_alike(groups->pdata[j], group))
                first = groups->pdata[j];
        if (first != NULL)
            join(first, group, grid);
        else
            groups->pdata[kept++] = group;
    }
    g_ptr_array_set_size(groups, (gint)kept);
}

static void merge(GanttGroup *group, const GanttGrid *grid) {
    if (group->band == NULL)
        group->band = gantt_track_new();
    for (guint i = 0; i < group->lanes->len; i++) {
        GanttLane *lane = group->lanes->pdata[i];
        if (lane->track != NULL)
            gantt_track_merge(group->band, grid, lane->track);
        g_clear_pointer(&lane->track, gantt_track_free);
    }
}

static gint compare_lanes(gconstpointer a, gconstpointer b) {
    const GanttLane *left = *(GanttLane *const *)a, *right = *(GanttLane *const *)b;
    guint x = left->process != right->process ? left->process : left->thread;
    guint y = left->process != right->process ? right->process : right->thread;

    return (x > y) - (x < y);
}

static char *lane_label(GanttLanes *lanes, const GanttGroup *group, const GanttLane *lane) {
    const char *process = process_of(lanes, lane->process)->name;

    return gantt_name_label(process, lane->name, group->n_processes,
                            group->lanes->len > group->n_processes);
}

static void name_group(GanttLanes *lanes, GanttGroup *group, gboolean one_pool) {
    const GanttLane *first = group->lanes->pdata[0];
    gboolean alone = !gantt_name_is_traffic(group->kind), alike = TRUE;

    for (guint i = 0; i < lanes->groups->len; i++) {
        const GanttGroup *other = lanes->groups->pdata[i];
        alone &= other == group || strcmp(other->family, group->family) != 0;
    }
    for (guint i = 0; i < group->lanes->len; i++) {
        const GanttLane *lane = group->lanes->pdata[i];
        alike &= strcmp(gantt_name_remark(lane->name), gantt_name_remark(first->name)) == 0;
    }
    const char *family = group->family + (one_pool ? gantt_name_pool(group->family) : 0);
    group->heading = gantt_name_heading(family, alone ? "" : group->kind,
                                        alike ? gantt_name_remark(first->name) : "");
}

static gboolean has_one_pool(const GanttLanes *lanes) {
    gsize length = 0;
    const char *pool = NULL;

    for (guint i = 0; i < lanes->groups->len; i++) {
        const GanttGroup *group = lanes->groups->pdata[i];
        gsize other = gantt_name_pool(group->family);
        if (other > 0 && pool != NULL &&
            (other != length || strncmp(pool, group->family, length) != 0))
            return FALSE;
        if (other > 0) {
            pool = group->family;
            length = other;
        }
    }
    return TRUE;
}

static void add_rows(GanttLanes *lanes, GanttGroup *group, GArray *rows) {
    group->first_row = rows->len;
    group->labels = g_ptr_array_new_with_free_func(g_free);
    if (group->collapsed) {
        merge(group, &lanes->grid);
        GanttRow row = {.label = group->heading,
                        .track = group->band,
                        .alone = TRUE,
                        .lanes = group->lanes->len};
        g_array_append_val(rows, row);
        return;
    }
    for (guint i = 0; i < group->lanes->len; i++) {
        GanttLane *lane = group->lanes->pdata[i];
        char *label = lane_label(lanes, group, lane);
        g_ptr_array_add(group->labels, label);
        GanttRow row = {.heading = i == 0 ? group->heading : NULL,
                        .label = label,
                        .track = lane->track,
                        .thin = group->thin,
                        .lanes = 1};
        if (group->lanes->len == 1 && group->kind[0] != '\0') {
            row.heading = NULL;
            row.label = group->heading;
            row.alone = TRUE;
        }
        g_array_append_val(rows, row);
    }
}

/* By process and, of traffic, in the order of the legend: which kind came first depends on the
 * window. */
static gint compare_groups(gconstpointer a, gconstpointer b) {
    const GanttGroup *left = *(GanttGroup *const *)a, *right = *(GanttGroup *const *)b;
    guint x = ((const GanttLane *)left->lanes->pdata[0])->process;
    guint y = ((const GanttLane *)right->lanes->pdata[0])->process;

    if (x == y) {
        x = gantt_kind_of(left->kind, FALSE);
        y = gantt_kind_of(right->kind, FALSE);
    }
    return (x > y) - (x < y);
}

GArray *gantt_lanes_rows(GanttLanes *lanes, guint rows_max, gint64 thin_ns) {
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(GanttRow));
    g_autoptr(GPtrArray) busy = g_ptr_array_new();
    gboolean one_pool = has_one_pool(lanes);

    for (guint i = 0; i < lanes->groups->len; i++) {
        GanttGroup *group = lanes->groups->pdata[i];
        group->first_row = G_MAXUINT;
        g_ptr_array_sort(group->lanes, compare_lanes);
        if (!group_is_idle(group))
            g_ptr_array_add(busy, group);
    }
    g_ptr_array_sort(busy, compare_groups);
    if (busy->len > rows_max)
        join_pools(busy, &lanes->grid);
    collapse_traffic(busy);
    make_room(busy, rows_max, thin_ns);
    for (guint i = 0; i < busy->len; i++) {
        name_group(lanes, busy->pdata[i], one_pool);
        add_rows(lanes, busy->pdata[i], rows);
    }
    return rows;
}

gint gantt_lanes_row(GanttLanes *lanes, guint process, guint thread) {
    GanttLane *lane = look_up(lanes, process, thread);
    guint index = 0;

    if (lane == NULL || lane->group->first_row == G_MAXUINT)
        return -1;
    if (!lane->group->collapsed)
        g_ptr_array_find(lane->group->lanes, lane, &index);
    return (gint)(lane->group->first_row + index);
}
