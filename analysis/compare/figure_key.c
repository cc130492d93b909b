#include "analysis/compare/figure_key.h"

#include "analysis/run/outcome.h"
#include <string.h>

/* The first suffix that fits says what the unit is. */
static const struct {
    const char *suffix;
    CellForm form;
    const char *unit;
} forms[] = {
    {"token_throughput_per_s", FORM_REAL, "tokens/s"},
    {"tokens_per_s", FORM_REAL, "tokens/s"},
    {"throughput_per_s", FORM_REAL, "requests/s"},
    {"goodput_per_s", FORM_REAL, "requests/s"},
    {"tokens_per_joule", FORM_REAL, "tokens/J"},
    {"cluster_hours_per_million_tokens", FORM_REAL, NULL},
    {"_s_per_token", FORM_SECONDS, NULL},
    {"_per_s", FORM_REAL, "/s"},
    {"_s", FORM_SECONDS, NULL},
    {"bytes", FORM_BYTES, NULL},
    {"joules", FORM_JOULES, NULL},
    {"share", FORM_SHARE, NULL},
    {"utilisation", FORM_SHARE, NULL},
    {"hit_rate", FORM_SHARE, NULL},
};

/* The first pattern that fits decides. Of figures that objectives know, they say it; but a share of
 * time that was busy is no aim by itself: a faster run of the same load is less busy. */
#define UNKNOWN (-1)
static const struct {
    const char *pattern;
    int figure; /* of outcome.h, or UNKNOWN */
    FigureDirection direction;
} directions[] = {
    {"partial", UNKNOWN, DIRECTION_SMALLER},
    {"simulated.clusters", FIGURE_CLUSTERS, 0},
    {"requests.completed", FIGURE_COMPLETED, 0},
    {"requests.rejected*", FIGURE_REJECTED, 0},
    {"requests.dropped", UNKNOWN, DIRECTION_SMALLER},
    {"requests.preemptions", UNKNOWN, DIRECTION_SMALLER},
    {"requests.prefix_hit*", UNKNOWN, DIRECTION_LARGER},
    {"requests.cached_prompt_tokens", UNKNOWN, DIRECTION_LARGER},
    {"*.makespan_s", FIGURE_MAKESPAN, 0},
    {"whole.output_tokens", UNKNOWN, DIRECTION_LARGER},
    {"*.request_throughput_per_s", FIGURE_REQUEST_RATE, 0},
    {"*token_throughput_per_s", FIGURE_THROUGHPUT, 0},
    {"*tokens_per_s", FIGURE_THROUGHPUT, 0},
    {"*.goodput_per_s", FIGURE_GOODPUT_RATE, 0},
    {"*.good_share", FIGURE_GOODPUT, 0},
    {"*_limit.met*", FIGURE_GOODPUT, 0},
    {"*.ttft_limit.value_s", FIGURE_TTFT_P99, 0},
    {"*.tpot_limit.value_s", FIGURE_TPOT_P99, 0},
    {"*.e2e_limit.value_s", FIGURE_E2E_P99, 0},
    {"*.ttft.*_s", FIGURE_TTFT_MEAN, 0},
    {"*.tpot.*_s", FIGURE_TPOT_MEAN, 0},
    {"*.e2e.*_s", FIGURE_E2E_MEAN, 0},
    {"*.queueing.*_s", FIGURE_QUEUEING_MEAN, 0},
    {"*bubble_share", UNKNOWN, DIRECTION_SMALLER},
    {"roles.*.all_reduce_share", UNKNOWN, DIRECTION_SMALLER},
    {"buffer.*.backpressure_*", FIGURE_BUFFER_FULL, 0},
    {"energy.joules", FIGURE_ENERGY, 0},
    {"energy.tokens_per_joule", UNKNOWN, DIRECTION_LARGER},
    {"cost.*", FIGURE_COST, 0},
    {"wafers.transition_share", UNKNOWN, DIRECTION_SMALLER},
    {"wafers.turn_s_per_token", UNKNOWN, DIRECTION_SMALLER},
    {"wafers.kv_skew", UNKNOWN, DIRECTION_SMALLER},
    {"numbers.requests_equal", UNKNOWN, DIRECTION_LARGER},
};

static const char *const repeated[] = {"simulated.seed", "*_limit.limit_s", "*_limit.percentile",
                                       "energy.kwh"};

static const struct {
    const char *key, *shown;
} words[] = {{"ttft", "TTFT"}, {"tpot", "TPOT"}, {"e2e", "E2E"}, {"kv", "KV"}, {"tpr", "TPR"}};

static const struct {
    const char *section, *title;
} titles[] = {{"", "Run"},
              {"whole", "Whole run"},
              {"steady", "Steady state"},
              {"roles", "Replicas"},
              {"buffer", "Buffers"}};

static int form_at(const char *key) {
    for (guint i = 0; i < G_N_ELEMENTS(forms); i++)
        if (g_str_has_suffix(key, forms[i].suffix))
            return (int)i;
    return -1;
}

CellForm figure_key_form(const char *key) {
    int at = form_at(key);

    return at < 0 ? FORM_NONE : forms[at].form;
}

const char *figure_key_unit(const char *key) {
    int at = form_at(key);

    return at < 0 ? NULL : forms[at].unit;
}

FigureDirection figure_key_direction(const char *key) {
    for (guint i = 0; i < G_N_ELEMENTS(directions); i++) {
        if (!g_pattern_match_simple(directions[i].pattern, key))
            continue;
        if (directions[i].figure == UNKNOWN)
            return directions[i].direction;
        return figure_info((Figure)directions[i].figure)->larger_is_better ? DIRECTION_LARGER
                                                                           : DIRECTION_SMALLER;
    }
    return DIRECTION_NONE;
}

gboolean figure_key_is_repeated(const char *key) {
    for (guint i = 0; i < G_N_ELEMENTS(repeated); i++)
        if (g_pattern_match_simple(repeated[i], key))
            return TRUE;
    return FALSE;
}

/* The bytes that name its section; 0: it stands in none. */
static gsize section_length(const char *key) {
    const char *dot = strchr(key, '.');

    return dot == NULL ? 0 : (gsize)(dot - key);
}

gboolean figure_key_same_section(const char *key, const char *other) {
    gsize length = section_length(key);

    return length == section_length(other) && strncmp(key, other, length) == 0;
}

/* Words instead of underscores and dots, the field's abbreviations as they are written. */
static char *words_of(const char *key) {
    g_autoptr(GString) text = g_string_new(key);
    g_string_replace(text, "all_reduce", "all-reduce", 0);
    g_string_replace(text, "million_tokens", "Mtoken", 0);
    g_auto(GStrv) parts = g_strsplit_set(text->str, "_.", -1);

    for (char **part = parts; *part != NULL; part++)
        for (guint i = 0; i < G_N_ELEMENTS(words); i++)
            if (strcmp(*part, words[i].key) == 0) {
                g_free(*part);
                *part = g_strdup(words[i].shown);
                break;
            }
    return g_strjoinv(" ", parts);
}

/* Units that the value shows by itself are left out, and that buffers are all of them. */
char *figure_key_label(const char *key) {
    static const char *const shown_units[] = {"_per_s", "_s_per_token", "_s"};
    static const char all_buffers[] = "buffer.all.";
    gsize section =
        g_str_has_prefix(key, all_buffers) ? strlen(all_buffers) - 1 : section_length(key);
    g_autofree char *rest = g_strdup(section == 0 ? key : key + section + 1);

    for (guint i = 0; i < G_N_ELEMENTS(shown_units); i++)
        if (g_str_has_suffix(rest, shown_units[i])) {
            rest[strlen(rest) - strlen(shown_units[i])] = '\0';
            break;
        }
    return words_of(rest);
}

char *figure_key_title(const char *key) {
    g_autofree char *section = g_strndup(key, section_length(key));

    for (guint i = 0; i < G_N_ELEMENTS(titles); i++)
        if (strcmp(section, titles[i].section) == 0)
            return g_strdup(titles[i].title);
    char *title = words_of(section);
    *title = g_ascii_toupper(*title);
    return title;
}
