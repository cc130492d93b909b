#include "analysis/timeline/gantt_names.h"

#include "analysis/timeline/gantt_palette.h"
#include <string.h>

/* The length of 'name' without a number behind a blank, or all of it. */
static gsize without_number(const char *name, gsize length) {
    gsize digits = 0;

    while (digits < length && g_ascii_isdigit(name[length - digits - 1]))
        digits++;
    gboolean numbered = digits > 0 && digits < length && name[length - digits - 1] == ' ';
    return numbered ? length - digits - 1 : length;
}

char *gantt_name_family(const char *process) {
    return g_strndup(process, without_number(process, strlen(process)));
}

const char *gantt_name_remark(const char *lane) {
    const char *remark = strrchr(lane, '(');

    return remark != NULL && remark > lane && g_str_has_suffix(lane, ")") ? remark
                                                                          : lane + strlen(lane);
}

/* The length of a lane's name without its remark. */
static gsize bare_length(const char *lane) {
    gsize length = (gsize)(gantt_name_remark(lane) - lane);

    while (length > 0 && lane[length - 1] == ' ')
        length--;
    return length;
}

char *gantt_name_kind(const char *lane) {
    gsize bare = bare_length(lane);

    for (gsize end = 1; end <= bare; end++) {
        gsize length = without_number(lane, end);
        if (length < end && (end == bare || lane[end] == ' '))
            return g_strndup(lane, length);
    }
    return g_strdup("");
}

gsize gantt_name_pool(const char *family) {
    gsize length = strlen("pool ");

    if (!g_str_has_prefix(family, "pool "))
        return 0;
    while (g_ascii_isdigit(family[length]))
        length++;
    return family[length] == ' ' ? length + 1 : 0;
}

/* The legend's word for it, where lanes are named after what runs on them; else NULL. */
static const char *legend_of(const char *kind) {
    for (guint i = 0; i < gantt_kinds(); i++)
        if (gantt_kind(i)->style == GANTT_TRAFFIC && strcmp(gantt_kind(i)->name, kind) == 0)
            return gantt_kind(i)->legend;
    return NULL;
}

gboolean gantt_name_is_traffic(const char *kind) {
    return legend_of(kind) != NULL;
}

char *gantt_name_heading(const char *family, const char *kind, const char *remark) {
    const char *legend = legend_of(kind);
    const char *name = legend != NULL ? legend : kind[0] == '\0' ? family : kind;
    gboolean coordinates = strchr(remark, ',') != NULL;

    return remark[0] == '\0' || coordinates ? g_strdup(name)
                                            : g_strdup_printf("%s %s", name, remark);
}

char *gantt_name_label(const char *process, const char *lane, guint n_processes, gboolean several) {
    g_autofree char *bare = g_strndup(lane, bare_length(lane));
    g_autofree char *kind = gantt_name_kind(lane);
    const char *remark = gantt_name_remark(lane);
    const char *pool = process + gantt_name_pool(process);

    if (strchr(remark, ',') != NULL) /* a place: "core (0, 1)" */
        return g_strdup(lane);
    if (n_processes <= 1 && gantt_name_is_traffic(kind))
        return g_strdup(bare + strlen(kind) + 1);
    if (n_processes <= 1)
        return g_strdup(bare);
    return several ? g_strdup_printf("%s, %s", pool, bare) : g_strdup(pool);
}
