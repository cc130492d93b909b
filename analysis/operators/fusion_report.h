/* What fusion and launches make of one layer: units, what they take on chip and save off chip, why
 * they end where they do, launches one by one and unified, and how busy the DSPs are. */
#ifndef ANALYSIS_FUSION_REPORT_H
#define ANALYSIS_FUSION_REPORT_H

#include "policies/fusion.h"

/* One request in one layer. Borrowed. */
typedef struct FusionQuestion {
    const Model *model;
    const Platform *platform;
    guint32 tokens, context; /* new ones; all of them */
    guint tp;
} FusionQuestion;

typedef struct FusionReport FusionReport;
/* Borrows what the question names. */
FusionReport *fusion_report_new(const FusionQuestion *question);
void fusion_report_free(FusionReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FusionReport, fusion_report_free)

char *fusion_report_text(const FusionReport *report); /* tables; caller frees */
char *fusion_report_json(const FusionReport *report); /* ends with a newline; caller frees */

#endif
