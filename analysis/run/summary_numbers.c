#include "analysis/run/summary_rows.h"

#include <math.h>

static void add_count(SummarySection *section, const char *key, const char *label, guint64 count) {
    summary_value_add(section, label,
                      (SummaryCell){.key = key, .form = FORM_COUNT, .count = count});
}

/* What differs first; null where nothing does. */
static void add_difference(SummarySection *section, const TokenCheckResult *check) {
    if (check->equal < check->requests) {
        add_count(section, "first_different_id", "first request that differs", check->different_id);
        add_count(section, "first_different_token", "  from its token", check->different_token);
        return;
    }
    summary_value_add(section, NULL, (SummaryCell){.key = "first_different_id", .form = FORM_NONE});
    summary_value_add(section, NULL,
                      (SummaryCell){.key = "first_different_token", .form = FORM_NONE});
}

static void add_logit(SummarySection *section, const char *label, SummaryCell cell) {
    cell.form = isfinite(cell.number) ? FORM_REAL : FORM_NONE;
    summary_value_add(section, label, cell);
}

void summary_numbers_add(SummaryRows *rows, const TokenCheckResult *check) {
    if (check == NULL)
        return;
    SummarySection *section =
        summary_section_add(rows, "numbers", "Numbers (against a single process)");
    add_count(section, "tokens_checked", "tokens checked", check->tokens);
    add_count(section, "requests_checked", "requests checked", check->requests);
    add_count(section, "requests_equal", "requests equal", check->equal);
    add_difference(section, check);
    add_logit(section, "smallest gap of two logits",
              (SummaryCell){.key = "smallest_gap", .number = check->smallest_gap});
    add_logit(section, "largest logit",
              (SummaryCell){.key = "largest_logit", .number = check->largest_logit});
}
