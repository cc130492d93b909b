#include "analysis/timeline/gantt_palette.h"

#include <math.h>
#include <string.h>

const char *const gantt_theme_names[] = {
    [GANTT_COLOUR] = "colour", [GANTT_GREY] = "grey",   [GANTT_HATCH] = "hatch",
    [GANTT_DARK] = "dark",     [N_GANTT_THEMES] = NULL,
};

static const GanttKind kinds[] = {
    /* steps of serving */
    {"prefill", "prefill", TONE_ORANGE, GANTT_PLAIN},
    {"decode", "decode", TONE_BLUE, GANTT_PLAIN},
    {"mixed", "prefill + decode", TONE_ROSE, GANTT_PLAIN},
    {"all-reduce", "all-reduce", TONE_INK, GANTT_PLAIN},
    {"transition", "transition", TONE_PLUM, GANTT_PLAIN},
    {"backpressure", "admission stopped", TONE_PALE, GANTT_PLAIN},
    {"kv_migration", "KV migration", TONE_GREEN, GANTT_TRAFFIC},
    {"kv_pull", "KV pull", TONE_TEAL, GANTT_TRAFFIC},
    {"pipeline", "pipeline hop", TONE_YELLOW, GANTT_TRAFFIC},
    /* a cluster's blocks */
    {"GEMM", "compute (GEMM)", TONE_BLUE, GANTT_PLAIN},
    {"QK", "compute (QK)", TONE_BLUE, GANTT_LABELLED},
    {"softmax", "softmax", TONE_ROSE, GANTT_LABELLED},
    {"WV", "compute (WV)", TONE_GREEN, GANTT_LABELLED},
    {"launch", "launch", TONE_INK, GANTT_PLAIN},
    {"Xg", "Xg: X to GSM", TONE_YELLOW, GANTT_LABELLED},
    {"X2", "X2: X to SM", TONE_ORANGE, GANTT_LABELLED},
    {"W2", "W2: W to AM", TONE_GREEN, GANTT_LABELLED},
    {"Y2 in", "Y2 in", TONE_TEAL, GANTT_LABELLED},
    {"Y2 out", "Y2 out", TONE_ROSE, GANTT_LABELLED},
    {"Q", "Q", TONE_YELLOW, GANTT_LABELLED},
    {"K", "K", TONE_ORANGE, GANTT_LABELLED},
    {"V", "V", TONE_TEAL, GANTT_LABELLED},
    {"O", "O", TONE_PLUM, GANTT_LABELLED},
    {"reduce", "reduce-scatter", TONE_ORANGE, GANTT_PLAIN},
    {"gather", "all-gather", TONE_TEAL, GANTT_PLAIN},
    /* a mesh's cores */
    {"communicate", "communicate", TONE_ORANGE, GANTT_PLAIN},
    {"wait", "wait", TONE_PALE, GANTT_PLAIN},
    {"waiting", "waiting", TONE_PALE, GANTT_PLAIN},
    /* everything else; the last two, in this order */
    {"compute", "compute", TONE_BLUE, GANTT_PLAIN},
    {"transfer", "transfer", TONE_TEAL, GANTT_LABELLED},
};
G_STATIC_ASSERT(G_N_ELEMENTS(kinds) <= GANTT_KINDS_MAX);

guint gantt_kinds(void) {
    return G_N_ELEMENTS(kinds);
}

const GanttKind *gantt_kind(guint kind) {
    return &kinds[kind];
}

guint gantt_kind_of(const char *name, gboolean moves_bytes) {
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return i;
    return G_N_ELEMENTS(kinds) - (moves_bytes ? 1 : 2);
}

static GanttRgb rgb(guint hex) {
    return (GanttRgb){(hex >> 16 & 255) / 255.0, (hex >> 8 & 255) / 255.0, (hex & 255) / 255.0};
}

/* IEC 61966-2-1, the sRGB transfer function and its inverse. */
static double linear(double encoded) {
    return encoded <= 0.04045 ? encoded / 12.92 : pow((encoded + 0.055) / 1.055, 2.4);
}

static double encoded(double light) {
    return light <= 0.0031308 ? 12.92 * light : 1.055 * pow(light, 1 / 2.4) - 0.055;
}

static double luminance(GanttRgb colour) {
    return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) +
           0.0722 * linear(colour.blue);
}

double gantt_lightness(GanttRgb colour) {
    double y = luminance(colour);

    return y > 216.0 / 24389 ? 116 * cbrt(y) - 16 : y * 24389 / 27;
}

/* Hues near those of Okabe and Ito, each as light as its place demands and, within that, as far
 * from the others in the eyes of the colour-blind as a search could bring them. */
GanttRgb gantt_tone_rgb(GanttTone tone, GanttTheme theme) {
    static const guint colours[N_TONES] = {
        [TONE_INK] = 0x282828,    [TONE_PLUM] = 0x55245d,   [TONE_GREEN] = 0x20542a,
        [TONE_BLUE] = 0x2177ae,   [TONE_ROSE] = 0xe06e66,   [TONE_TEAL] = 0x24b5ba,
        [TONE_ORANGE] = 0xfba81b, [TONE_YELLOW] = 0xf1d074, [TONE_PALE] = 0xe8e8e8,
    };
    GanttRgb colour = rgb(colours[tone]);

    if (theme == GANTT_DARK && tone == TONE_INK)
        return rgb(0xffffff);
    if (theme == GANTT_DARK && tone == TONE_GREEN)
        return rgb(0x2f8f6b);
    if (theme == GANTT_DARK && tone == TONE_PALE)
        return rgb(0x4a4a4a);
    if (theme != GANTT_GREY)
        return colour;
    double grey = encoded(luminance(colour));
    return (GanttRgb){grey, grey, grey};
}

GanttRgb gantt_paper(GanttTheme theme) {
    return rgb(theme == GANTT_DARK ? 0x16181d : 0xffffff);
}

GanttRgb gantt_ink(GanttTheme theme) {
    return rgb(theme == GANTT_DARK ? 0xf0f0f0 : 0x000000);
}
