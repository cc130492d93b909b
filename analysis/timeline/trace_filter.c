#include "analysis/timeline/trace_filter.h"

#include "workloads/input_error.h"
#include <string.h>

#define GROUPS_LISTED 8 /* in an error */

typedef struct LanePattern {
    char *text;
    GPatternSpec *spec;
    gboolean matched; /* some process or lane so far */
} LanePattern;

/* A process. */
typedef struct Group {
    char *name;
    gboolean chosen; /* with all its lanes */
    gboolean named;  /* to the next sink */
} Group;

typedef enum { TRACK_UNKNOWN, TRACK_HIDDEN, TRACK_SHOWN, TRACK_NAMED } TrackChoice;

typedef struct TraceFilter {
    TraceSink sink;
    TraceSink *next;
    GArray *patterns;   /* LanePattern */
    GHashTable *groups; /* process + 1 → Group, owned */
    GHashTable *lanes;  /* process and thread → whether it is chosen, as pointers */
    GHashTable *tracks; /* "process name" of counters and phases → TrackChoice */
    GPtrArray *names;   /* of groups, in the order in which they were named; borrowed from them */
    GPtrArray *words;   /* of all names, each once, for near misses; borrowed from 'known' */
    GHashTable *known;  /* set of words, owned */
    GArray *flow;       /* TraceEvent: of the flow that is being told, those on chosen lanes */
    gboolean passed;    /* some event; a counter only if it was chosen by its own name */
} TraceFilter;

static gpointer lane_key(guint process, guint thread) {
    return (gpointer)(((gsize)process << 32) | thread);
}

static gboolean pattern_matches(const LanePattern *pattern, const char *name) {
    for (const char *word = name; word != NULL; word = strchr(word, ' ')) {
        word += word == name ? 0 : 1;
        if (g_pattern_spec_match_string(pattern->spec, word))
            return TRUE;
    }
    return FALSE;
}

/* Every pattern is asked, so that each knows whether it matched. */
static gboolean any_matches(TraceFilter *filter, const char *name) {
    gboolean any = FALSE;
    for (guint i = 0; i < filter->patterns->len; i++) {
        LanePattern *pattern = &g_array_index(filter->patterns, LanePattern, i);
        gboolean matches = pattern_matches(pattern, name);
        pattern->matched |= matches;
        any |= matches;
    }
    return any;
}

static void learn_word(TraceFilter *filter, const char *word) {
    if (g_hash_table_contains(filter->known, word))
        return;
    char *own = g_strdup(word);
    g_hash_table_add(filter->known, own);
    g_ptr_array_add(filter->words, own);
}

/* What a pattern may have meant: the name from each word on, and its words. */
static void learn_words(TraceFilter *filter, const char *name) {
    g_auto(GStrv) words = g_strsplit(name, " ", -1);
    for (char **word = words; *word != NULL; word++) {
        g_autofree char *rest = g_strjoinv(" ", word);
        learn_word(filter, *word);
        learn_word(filter, rest);
    }
}

static Group *group_of(TraceFilter *filter, guint process) {
    return g_hash_table_lookup(filter->groups, GUINT_TO_POINTER(process + 1));
}

/* A process is shown when it is chosen or something of it is. */
static void show_group(TraceFilter *filter, guint process) {
    Group *group = group_of(filter, process);
    if (group->named)
        return;
    group->named = TRUE;
    trace_sink_name_process(filter->next, process, group->name);
}

static void filter_name_process(TraceSink *sink, guint process, const char *name) {
    TraceFilter *filter = (TraceFilter *)sink;
    Group *group = g_new0(Group, 1);
    group->name = g_strdup(name);
    group->chosen = any_matches(filter, name);
    g_hash_table_insert(filter->groups, GUINT_TO_POINTER(process + 1), group);
    g_ptr_array_add(filter->names, group->name);
    learn_words(filter, name);
    if (group->chosen)
        show_group(filter, process);
}

static gboolean choose(TraceFilter *filter, guint process, const char *name) {
    const Group *group = group_of(filter, process);
    g_autofree char *full = g_strdup_printf("%s %s", group->name, name);
    learn_words(filter, name);
    gboolean chosen = any_matches(filter, full) || group->chosen;
    if (chosen)
        show_group(filter, process);
    return chosen;
}

static void filter_name_thread(TraceSink *sink, guint process, guint thread, const char *name) {
    TraceFilter *filter = (TraceFilter *)sink;
    gboolean chosen = choose(filter, process, name);
    g_hash_table_insert(filter->lanes, lane_key(process, thread), GINT_TO_POINTER(chosen));
    if (chosen)
        trace_sink_name_thread(filter->next, process, thread, name);
}

static gboolean lane_is_chosen(const TraceFilter *filter, const TraceEvent *event) {
    return GPOINTER_TO_INT(
        g_hash_table_lookup(filter->lanes, lane_key(event->process, event->thread)));
}

static TrackChoice track_choice(TraceFilter *filter, const TraceEvent *event) {
    char key[64];
    g_snprintf(key, sizeof key, "%u %s", event->process, event->name);
    gpointer known = g_hash_table_lookup(filter->tracks, key);
    if (known == NULL) {
        TrackChoice choice = !choose(filter, event->process, event->name) ? TRACK_HIDDEN
                             : any_matches(filter, event->name)           ? TRACK_NAMED
                                                                          : TRACK_SHOWN;
        known = GINT_TO_POINTER(choice);
        g_hash_table_insert(filter->tracks, g_strdup(key), known);
    }
    return (TrackChoice)GPOINTER_TO_INT(known);
}

static void pass(TraceFilter *filter, const TraceEvent *event) {
    filter->passed = TRUE;
    trace_sink_put(filter->next, event);
}

/* A counter is shown at the start of a window even if it never changes. */
static void take_counter(TraceFilter *filter, const TraceEvent *event) {
    TrackChoice choice = track_choice(filter, event);
    if (choice == TRACK_NAMED)
        pass(filter, event);
    else if (choice == TRACK_SHOWN)
        trace_sink_put(filter->next, event);
}

static void pass_flow(TraceFilter *filter) {
    GArray *flow = filter->flow;
    for (guint i = 0; i < flow->len && flow->len >= 2; i++) {
        TraceEvent *event = &g_array_index(flow, TraceEvent, i);
        event->phase = i == 0               ? TRACE_FLOW_START
                       : i + 1 == flow->len ? TRACE_FLOW_END
                                            : TRACE_FLOW_STEP;
        pass(filter, event);
    }
    g_array_set_size(flow, 0);
}

static void take_flow(TraceFilter *filter, const TraceEvent *event) {
    if (event->phase == TRACE_FLOW_START)
        g_array_set_size(filter->flow, 0);
    if (lane_is_chosen(filter, event))
        g_array_append_vals(filter->flow, event, 1);
    if (event->phase == TRACE_FLOW_END)
        pass_flow(filter);
}

static void filter_put(TraceSink *sink, const TraceEvent *event) {
    TraceFilter *filter = (TraceFilter *)sink;
    switch (event->phase) {
    case TRACE_FLOW_START:
    case TRACE_FLOW_STEP:
    case TRACE_FLOW_END:
        take_flow(filter, event);
        return;
    case TRACE_COUNTER:
        take_counter(filter, event);
        return;
    case TRACE_ASYNC_BEGIN:
    case TRACE_ASYNC_END:
        if (track_choice(filter, event) != TRACK_HIDDEN)
            pass(filter, event);
        return;
    case TRACE_SLICE:
    case TRACE_MARK:
        if (lane_is_chosen(filter, event))
            pass(filter, event);
        return;
    }
}

/* " (did you mean 'decode*'?)", or what there is. Caller frees. */
static char *hint(const TraceFilter *filter, const char *pattern) {
    gboolean open = g_str_has_suffix(pattern, "*");
    g_autofree char *stem = g_strndup(pattern, strlen(pattern) - (open ? 1 : 0));
    const char *near =
        near_miss(stem, (const char *const *)filter->words->pdata, filter->words->len);
    if (near != NULL)
        return g_strdup_printf(" (did you mean '%s%s'?)", near, open ? "*" : "");
    GString *all = g_string_new("; there are ");
    for (guint i = 0; i < filter->names->len; i++) {
        if (i >= GROUPS_LISTED && i + 3 < filter->names->len) /* the last ones differ from others */
            continue;
        g_string_append_printf(all, "%s%s", i == 0 ? "" : ", ", (char *)filter->names->pdata[i]);
        if (i + 1 == GROUPS_LISTED && i + 4 < filter->names->len)
            g_string_append(all, " …");
    }
    return g_string_free(all, FALSE);
}

static gboolean all_matched(const TraceFilter *filter, GError **error) {
    for (guint i = 0; i < filter->patterns->len; i++) {
        const LanePattern *pattern = &g_array_index(filter->patterns, LanePattern, i);
        if (pattern->matched)
            continue;
        g_autofree char *meant = hint(filter, pattern->text);
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_UNKNOWN, "--lanes: no lane matches '%s'%s",
                    pattern->text, meant);
        return FALSE;
    }
    return TRUE;
}

static gboolean filter_finish(TraceSink *sink, GError **error) {
    TraceFilter *filter = (TraceFilter *)sink;
    if (!all_matched(filter, error))
        return FALSE;
    if (filter->passed)
        return trace_sink_finish(filter->next, error);
    g_set_error_literal(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                        "--lanes: nothing happens on the lanes chosen");
    return FALSE;
}

static void pattern_clear(gpointer data) {
    LanePattern *pattern = data;
    g_free(pattern->text);
    g_pattern_spec_free(pattern->spec);
}

static void group_free(gpointer data) {
    Group *group = data;
    g_free(group->name);
    g_free(group);
}

static void filter_free(TraceSink *sink) {
    TraceFilter *filter = (TraceFilter *)sink;
    trace_sink_free(filter->next);
    g_array_unref(filter->patterns);
    g_hash_table_unref(filter->groups);
    g_hash_table_unref(filter->lanes);
    g_hash_table_unref(filter->tracks);
    g_ptr_array_unref(filter->names);
    g_ptr_array_unref(filter->words);
    g_hash_table_unref(filter->known);
    g_array_unref(filter->flow);
    g_free(filter);
}

TraceSink *trace_filter_new(TraceSink *next, const char *const *patterns) {
    TraceFilter *filter = g_new0(TraceFilter, 1);
    *filter = (TraceFilter){
        .sink = {.put = filter_put,
                 .name_process = filter_name_process,
                 .name_thread = filter_name_thread,
                 .finish = filter_finish,
                 .free = filter_free},
        .next = next,
        .patterns = g_array_new(FALSE, FALSE, sizeof(LanePattern)),
        .groups = g_hash_table_new_full(NULL, NULL, NULL, group_free),
        .lanes = g_hash_table_new(NULL, NULL),
        .tracks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .names = g_ptr_array_new(),
        .words = g_ptr_array_new(),
        .known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .flow = g_array_new(FALSE, FALSE, sizeof(TraceEvent)),
    };
    g_array_set_clear_func(filter->patterns, pattern_clear);
    for (; *patterns != NULL; patterns++) {
        LanePattern pattern = {g_strdup(*patterns), g_pattern_spec_new(*patterns), FALSE};
        g_array_append_val(filter->patterns, pattern);
    }
    return &filter->sink;
}
