/* A search's result for people and for programs: the ranked table, a row a candidate, JSON. */
#ifndef ANALYSIS_SEARCH_REPORT_H
#define ANALYSIS_SEARCH_REPORT_H

#include "analysis/search/search.h"
#include "analysis/search/search_rule.h"

typedef struct SearchReport {
    const char *experiment; /* as it was named */
    const SearchSetup *setup;
    const SearchResult *result;
    const SearchRule *rule; /* NULL: not judged */
} SearchReport;

/* Puts the plans of all candidates in words, as the reports below need them. */
void search_report_name(const SearchSetup *setup, SearchResult *result);

/* Callers free. */
char *search_report_table(const SearchReport *report);
char *search_report_csv(const SearchReport *report);
char *search_report_json(const SearchReport *report);
/* Why a candidate is not ranked; "" for one that is. */
char *search_report_reason(const SearchReport *report, const Candidate *candidate);
/* The value of a candidate's setting "policy.decode.tp"; NULL where it has none. Borrowed. */
const char *search_report_setting(const Candidate *candidate, const char *key);
/* The keys of all settings, in the order in which they are met; NULL-terminated, caller frees. */
char **search_report_keys(const SearchResult *result);

#endif
