#include "analysis/timeline/paje_head.h"

#include "analysis/output/gnuplot.h"
#include <stdio.h>

/* Fields as "Name type", ended by NULL. */
static const struct {
    const char *name;
    const char *fields[8];
} definitions[N_PAJE_EVENTS] = {
    [PAJE_DEFINE_CONTAINER] = {"PajeDefineContainerType",
                               {"Alias string", "Type string", "Name string"}},
    [PAJE_DEFINE_STATE] = {"PajeDefineStateType", {"Alias string", "Type string", "Name string"}},
    [PAJE_DEFINE_VARIABLE] = {"PajeDefineVariableType",
                              {"Alias string", "Type string", "Name string", "Color color"}},
    [PAJE_DEFINE_LINK] = {"PajeDefineLinkType",
                          {"Alias string", "Type string", "StartContainerType string",
                           "EndContainerType string", "Name string"}},
    [PAJE_DEFINE_EVENT] = {"PajeDefineEventType", {"Alias string", "Type string", "Name string"}},
    [PAJE_DEFINE_VALUE] = {"PajeDefineEntityValue",
                           {"Alias string", "Type string", "Name string", "Color color"}},
    [PAJE_CREATE] = {"PajeCreateContainer",
                     {"Time date", "Alias string", "Type string", "Container string",
                      "Name string"}},
    [PAJE_DESTROY] = {"PajeDestroyContainer", {"Time date", "Type string", "Name string"}},
    [PAJE_PUSH] = {"PajePushState",
                   {"Time date", "Type string", "Container string", "Value string",
                    "Details string"}},
    [PAJE_POP] = {"PajePopState", {"Time date", "Type string", "Container string"}},
    [PAJE_SET] = {"PajeSetVariable",
                  {"Time date", "Type string", "Container string", "Value double"}},
    [PAJE_LINK_START] = {"PajeStartLink",
                         {"Time date", "Type string", "Container string", "StartContainer string",
                          "Value string", "Key string"}},
    [PAJE_LINK_END] = {"PajeEndLink",
                       {"Time date", "Type string", "Container string", "EndContainer string",
                        "Value string", "Key string"}},
    [PAJE_MARK] = {"PajeNewEvent",
                   {"Time date", "Type string", "Container string", "Value string",
                    "Details string"}},
};

static void put_line(TextFile *file, char *line) {
    text_file_write(file, line);
    g_free(line);
}

static void put_definitions(TextFile *file) {
    for (guint i = 0; i < N_PAJE_EVENTS; i++) {
        put_line(file, g_strdup_printf("%%EventDef %s %u\n", definitions[i].name, i));
        for (const char *const *field = definitions[i].fields; *field != NULL; field++)
            put_line(file, g_strdup_printf("%% %s\n", *field));
        text_file_write(file, "%EndEventDef\n");
    }
}

static void put_types(TextFile *file) {
    static const struct {
        PajeEvent event;
        const char *rest;
    } types[] = {
        {PAJE_DEFINE_CONTAINER, "System 0 \"system\""},
        {PAJE_DEFINE_CONTAINER, "Group System \"group\""},
        {PAJE_DEFINE_CONTAINER, "Lane Group \"lane\""},
        {PAJE_DEFINE_STATE, PAJE_STATE " Lane \"activity\""},
        {PAJE_DEFINE_EVENT, PAJE_MARKS " Lane \"mark\""},
        {PAJE_DEFINE_LINK, PAJE_FLOW " System Lane Lane \"flow\""},
        {PAJE_DEFINE_LINK, PAJE_PHASE " System Group Group \"phase\""},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
        put_line(file, g_strdup_printf("%d %s\n", types[i].event, types[i].rest));
}

/* "red green blue", each from 0 to 1. Caller frees. */
static char *colour(guint index) {
    guint rgb[3] = {0};
    char parts[3][G_ASCII_DTOSTR_BUF_SIZE];
    sscanf(gnuplot_colour(index), "#%2x%2x%2x", &rgb[0], &rgb[1], &rgb[2]);
    for (guint i = 0; i < 3; i++)
        g_ascii_formatd(parts[i], sizeof parts[i], "%.3f", rgb[i] / 255.0);
    return g_strdup_printf("%s %s %s", parts[0], parts[1], parts[2]);
}

void paje_head_write(TextFile *file, const GPtrArray *values, const GPtrArray *variables) {
    put_definitions(file);
    put_types(file);
    for (guint i = 0; i < values->len; i++) {
        g_autofree char *tint = colour(i);
        put_line(file, g_strdup_printf("%d v%u " PAJE_STATE " \"%s\" \"%s\"\n", PAJE_DEFINE_VALUE,
                                       i, (char *)values->pdata[i], tint));
    }
    for (guint i = 0; i < variables->len; i++) {
        g_autofree char *tint = colour(i);
        put_line(file, g_strdup_printf("%d c%u Group \"%s\" \"%s\"\n", PAJE_DEFINE_VARIABLE, i,
                                       (char *)variables->pdata[i], tint));
    }
}
