#include "analysis/timeline/paje_trace.h"

#include "analysis/output/line_sorter.h"
#include "analysis/output/number_text.h"
#include "analysis/timeline/paje_head.h"

/* The order of what happens at one date: what ends makes room for what begins, an outer slice is
 * pushed before those inside it (the longest first), and a link begins before it ends. */
#define RANK_POP 0
#define RANK_INSTANT 1             /* a slice without length: pushed and popped */
#define RANK_PUSH (G_MAXINT64 - 8) /* less its length in ns */
#define RANK_OTHER (G_MAXINT64 - 2)
#define RANK_LINK_END (G_MAXINT64 - 1)

#define GROUP "g%u"
#define LANE "l%u.%u"

/* A process or one of its threads. */
typedef struct Container {
    guint process, thread;
    char *name;
} Container;

/* Names that get numbers as they are met. */
typedef struct NameTable {
    GPtrArray *names;    /* char *, owned */
    GHashTable *numbers; /* name → number + 1 */
} NameTable;

typedef struct PajeTrace {
    TraceSink sink;
    TextFile *file;
    LineSorter *lines;
    GArray *groups, *lanes; /* Container */
    NameTable values;       /* of states */
    NameTable variables;    /* "name (series)" */
    GHashTable *phases;     /* "name id" of those that are open → the number of their link */
    guint links;            /* so far */
    TraceEvent flow;        /* the latest event of the flow that is being told */
    gint64 end_ns;
} PajeTrace;

static NameTable name_table_new(void) {
    return (NameTable){g_ptr_array_new_with_free_func(g_free),
                       g_hash_table_new(g_str_hash, g_str_equal)};
}

static void name_table_clear(NameTable *table) {
    g_hash_table_unref(table->numbers);
    g_ptr_array_unref(table->names);
}

static guint name_number(NameTable *table, const char *name) {
    guint number = GPOINTER_TO_UINT(g_hash_table_lookup(table->numbers, name));
    if (number > 0)
        return number - 1;
    char *own = g_strdup(name);
    g_ptr_array_add(table->names, own);
    g_hash_table_insert(table->numbers, own, GUINT_TO_POINTER(table->names->len));
    return table->names->len - 1;
}

static void add_line(PajeTrace *trace, gint64 date_ns, gint64 rank, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
static void add_line(PajeTrace *trace, gint64 date_ns, gint64 rank, const char *format, ...) {
    char line[LINE_SORTER_LINE_MAX];
    va_list values;
    va_start(values, format);
    int length = g_vsnprintf(line, sizeof line, format, values);
    va_end(values);
    g_assert(length < (int)sizeof line);
    trace->end_ns = MAX(trace->end_ns, date_ns);
    line_sorter_add(trace->lines, (LineKey){date_ns, rank}, line);
}

#define DETAILS_MAX 1024 /* bytes: keys are short static texts */

/* "key=value key=value". */
static void put_details(char *out, const TraceEvent *event) {
    for (guint i = 0; i < TRACE_ARGUMENTS_MAX && event->arguments[i].key != NULL; i++) {
        out = text_put(out, i == 0 ? "" : " ");
        out = text_put(out, event->arguments[i].key);
        *out++ = '=';
        out = number_text_count(out, event->arguments[i].value);
    }
    *out = '\0';
}

static void put_slice(PajeTrace *trace, const TraceEvent *event) {
    char details[DETAILS_MAX];
    gint64 length_ns = event->end_ns - event->start_ns;
    guint value = name_number(&trace->values, event->name);
    put_details(details, event);
    add_line(trace, event->start_ns, length_ns == 0 ? RANK_INSTANT : RANK_PUSH - length_ns,
             "%d " PAJE_DATE " " PAJE_STATE " " LANE " v%u \"%s\"\n", PAJE_PUSH,
             PAJE_SECONDS(event->start_ns), event->process, event->thread, value, details);
    add_line(trace, event->end_ns, length_ns == 0 ? RANK_INSTANT : RANK_POP,
             "%d " PAJE_DATE " " PAJE_STATE " " LANE "\n", PAJE_POP, PAJE_SECONDS(event->end_ns),
             event->process, event->thread);
}

static void put_mark(PajeTrace *trace, const TraceEvent *event) {
    char details[DETAILS_MAX];
    put_details(details, event);
    add_line(trace, event->start_ns, RANK_OTHER,
             "%d " PAJE_DATE " " PAJE_MARKS " " LANE " \"%s\" \"%s\"\n", PAJE_MARK,
             PAJE_SECONDS(event->start_ns), event->process, event->thread, event->name, details);
}

static void put_counter(PajeTrace *trace, const TraceEvent *event) {
    for (guint i = 0; i < TRACE_ARGUMENTS_MAX && event->arguments[i].key != NULL; i++) {
        char name[DETAILS_MAX];
        g_snprintf(name, sizeof name, "%s (%s)", event->name, event->arguments[i].key);
        add_line(trace, event->start_ns, RANK_OTHER,
                 "%d " PAJE_DATE " c%u " GROUP " %" G_GUINT64_FORMAT "\n", PAJE_SET,
                 PAJE_SECONDS(event->start_ns), name_number(&trace->variables, name),
                 event->process, event->arguments[i].value);
    }
}

/* One end of a link; 'container' is an alias. */
static void put_link(PajeTrace *trace, PajeEvent end, const TraceEvent *event, const char *type,
                     const char *container, guint link) {
    add_line(trace, event->start_ns, end == PAJE_LINK_END ? RANK_LINK_END : RANK_OTHER,
             "%d " PAJE_DATE " %s " PAJE_SYSTEM " %s \"%s\" \"%u\"\n", end,
             PAJE_SECONDS(event->start_ns), type, container, event->name, link);
}

static void put_phase(PajeTrace *trace, const TraceEvent *event) {
    gboolean begins = event->phase == TRACE_ASYNC_BEGIN;
    g_autofree char *key = g_strdup_printf("%s %" G_GUINT64_FORMAT, event->name, event->id);
    char group[32];
    guint link =
        begins ? trace->links++ : GPOINTER_TO_UINT(g_hash_table_lookup(trace->phases, key));
    g_snprintf(group, sizeof group, GROUP, event->process);
    put_link(trace, begins ? PAJE_LINK_START : PAJE_LINK_END, event, PAJE_PHASE, group, link);
    if (begins)
        g_hash_table_insert(trace->phases, g_steal_pointer(&key), GUINT_TO_POINTER(link));
    else
        g_hash_table_remove(trace->phases, key);
}

/* A link from each slice of a flow to its next one. */
static void put_flow(PajeTrace *trace, const TraceEvent *event) {
    char from[32], to[32];
    if (event->phase != TRACE_FLOW_START) {
        guint link = trace->links++;
        g_snprintf(from, sizeof from, LANE, trace->flow.process, trace->flow.thread);
        g_snprintf(to, sizeof to, LANE, event->process, event->thread);
        put_link(trace, PAJE_LINK_START, &trace->flow, PAJE_FLOW, from, link);
        put_link(trace, PAJE_LINK_END, event, PAJE_FLOW, to, link);
    }
    trace->flow = *event;
}

static void paje_put(TraceSink *sink, const TraceEvent *event) {
    PajeTrace *trace = (PajeTrace *)sink;
    switch (event->phase) {
    case TRACE_SLICE:
        put_slice(trace, event);
        return;
    case TRACE_MARK:
        put_mark(trace, event);
        return;
    case TRACE_COUNTER:
        put_counter(trace, event);
        return;
    case TRACE_ASYNC_BEGIN:
    case TRACE_ASYNC_END:
        put_phase(trace, event);
        return;
    case TRACE_FLOW_START:
    case TRACE_FLOW_STEP:
    case TRACE_FLOW_END:
        put_flow(trace, event);
        return;
    }
}

/* Readers put names into tables with commas between them. */
static void add_container(GArray *containers, Container container) {
    g_strdelimit(container.name, ",", ';');
    g_strdelimit(container.name, "\"\n", '\'');
    g_array_append_val(containers, container);
}

static void paje_name_process(TraceSink *sink, guint process, const char *name) {
    add_container(((PajeTrace *)sink)->groups, (Container){process, 0, g_strdup(name)});
}

static const char *group_name(const PajeTrace *trace, guint process) {
    for (guint i = 0; i < trace->groups->len; i++)
        if (g_array_index(trace->groups, Container, i).process == process)
            return g_array_index(trace->groups, Container, i).name;
    return "";
}

static void paje_name_thread(TraceSink *sink, guint process, guint thread, const char *name) {
    PajeTrace *trace = (PajeTrace *)sink;
    char *full = g_strdup_printf("%s %s", group_name(trace, process), name);
    add_container(trace->lanes, (Container){process, thread, full});
}

static int compare_containers(gconstpointer a, gconstpointer b) {
    const Container *left = a, *right = b;
    if (left->process != right->process)
        return left->process < right->process ? -1 : 1;
    return (left->thread > right->thread) - (left->thread < right->thread);
}

static void write_line(PajeTrace *trace, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void write_line(PajeTrace *trace, const char *format, ...) {
    va_list values;
    va_start(values, format);
    g_autofree char *line = g_strdup_vprintf(format, values);
    va_end(values);
    text_file_write(trace->file, line);
}

static void create_containers(PajeTrace *trace) {
    write_line(trace, "%d 0 " PAJE_SYSTEM " System 0 \"timeline\"\n", PAJE_CREATE);
    for (guint i = 0; i < trace->groups->len; i++) {
        const Container *group = &g_array_index(trace->groups, Container, i);
        write_line(trace, "%d 0 " GROUP " Group " PAJE_SYSTEM " \"%s\"\n", PAJE_CREATE,
                   group->process, group->name);
    }
    for (guint i = 0; i < trace->lanes->len; i++) {
        const Container *lane = &g_array_index(trace->lanes, Container, i);
        write_line(trace, "%d 0 " LANE " Lane " GROUP " \"%s\"\n", PAJE_CREATE, lane->process,
                   lane->thread, lane->process, lane->name);
    }
}

static void destroy_containers(PajeTrace *trace) {
    for (guint i = 0; i < trace->lanes->len; i++) {
        const Container *lane = &g_array_index(trace->lanes, Container, i);
        write_line(trace, "%d " PAJE_DATE " Lane " LANE "\n", PAJE_DESTROY,
                   PAJE_SECONDS(trace->end_ns), lane->process, lane->thread);
    }
    for (guint i = 0; i < trace->groups->len; i++)
        write_line(trace, "%d " PAJE_DATE " Group " GROUP "\n", PAJE_DESTROY,
                   PAJE_SECONDS(trace->end_ns), g_array_index(trace->groups, Container, i).process);
    write_line(trace, "%d " PAJE_DATE " System " PAJE_SYSTEM "\n", PAJE_DESTROY,
               PAJE_SECONDS(trace->end_ns));
}

static gboolean paje_finish(TraceSink *sink, GError **error) {
    PajeTrace *trace = (PajeTrace *)sink;
    g_array_sort(trace->groups, compare_containers);
    g_array_sort(trace->lanes, compare_containers);
    paje_head_write(trace->file, trace->values.names, trace->variables.names);
    create_containers(trace);
    if (!line_sorter_write(trace->lines, trace->file, error))
        return FALSE;
    destroy_containers(trace);
    return text_file_finish(trace->file, error);
}

static void container_clear(gpointer data) {
    g_free(((Container *)data)->name);
}

static void paje_free(TraceSink *sink) {
    PajeTrace *trace = (PajeTrace *)sink;
    text_file_free(trace->file);
    line_sorter_free(trace->lines);
    g_array_unref(trace->groups);
    g_array_unref(trace->lanes);
    name_table_clear(&trace->values);
    name_table_clear(&trace->variables);
    g_hash_table_unref(trace->phases);
    g_free(trace);
}

TraceSink *paje_trace_new(const char *path, GError **error) {
    TextFile *file = text_file_new(path, error);
    if (file == NULL)
        return NULL;
    PajeTrace *trace = g_new0(PajeTrace, 1);
    *trace = (PajeTrace){.sink = {.put = paje_put,
                                  .name_process = paje_name_process,
                                  .name_thread = paje_name_thread,
                                  .finish = paje_finish,
                                  .free = paje_free},
                         .file = file,
                         .lines = line_sorter_new(path, LINE_SORTER_BUFFER),
                         .groups = g_array_new(FALSE, FALSE, sizeof(Container)),
                         .lanes = g_array_new(FALSE, FALSE, sizeof(Container)),
                         .values = name_table_new(),
                         .variables = name_table_new(),
                         .phases = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
    g_array_set_clear_func(trace->groups, container_clear);
    g_array_set_clear_func(trace->lanes, container_clear);
    return &trace->sink;
}
