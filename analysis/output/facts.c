#include "analysis/output/facts.h"

#include "analysis/output/csv_text.h"
#include "analysis/output/json_text.h"
#include <math.h>
#include <string.h>

#define LABEL_WIDTH 26

typedef enum { FACT_GROUP, FACT_TEXT, FACT_COUNT, FACT_NUMBER } FactKind;

typedef struct Fact {
    FactKind kind;
    char *key;   /* NULL: for the table alone */
    char *label; /* NULL: not for the table; of a group: its title */
    char *text;  /* as the table shows it */
    guint64 count;
    double number;
} Fact;

struct Facts {
    GPtrArray *all; /* Fact * */
};

static void fact_free(gpointer data) {
    Fact *fact = data;

    g_free(fact->key);
    g_free(fact->label);
    g_free(fact->text);
    g_free(fact);
}

Facts *facts_new(void) {
    Facts *facts = g_new(Facts, 1);

    facts->all = g_ptr_array_new_with_free_func(fact_free);
    return facts;
}

void facts_free(Facts *facts) {
    if (facts == NULL)
        return;
    g_ptr_array_unref(facts->all);
    g_free(facts);
}

/* 'text' is taken over. */
static Fact *add(Facts *facts, FactKind kind, const char *key, const char *label, char *text) {
    Fact *fact = g_new0(Fact, 1);

    *fact = (Fact){.kind = kind, .key = g_strdup(key), .label = g_strdup(label), .text = text};
    g_ptr_array_add(facts->all, fact);
    return fact;
}

void facts_group(Facts *facts, const char *key, const char *title) {
    add(facts, FACT_GROUP, key, title, NULL);
}

void facts_text(Facts *facts, const char *key, const char *label, const char *text) {
    add(facts, FACT_TEXT, key, label, g_strdup(text));
}

void facts_count(Facts *facts, const char *key, const char *label, guint64 count) {
    Fact *fact = add(facts, FACT_COUNT, key, label, g_strdup_printf("%" G_GUINT64_FORMAT, count));

    fact->count = count;
}

void facts_number(Facts *facts, const char *key, const char *label, double value,
                  const char *text) {
    add(facts, FACT_NUMBER, key, label, g_strdup(isfinite(value) ? text : "-"))->number = value;
}

void facts_quantity(Facts *facts, const char *key, const char *label, double value,
                    Dimension dimension) {
    g_autofree char *text = isfinite(value) ? units_format_brief(value, dimension) : NULL;

    facts_number(facts, key, label, value, text);
}

void facts_share(Facts *facts, const char *key, const char *label, double share) {
    char digits[G_ASCII_DTOSTR_BUF_SIZE];
    g_autofree char *text =
        g_strconcat(g_ascii_formatd(digits, sizeof digits, "%.1f", 100 * share), " %", NULL);

    facts_number(facts, key, label, share, text);
}

void facts_note(Facts *facts, const char *label, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    add(facts, FACT_TEXT, NULL, label, g_strdup_vprintf(format, arguments));
    va_end(arguments);
}

char *facts_table(const Facts *facts) {
    GString *out = g_string_new(NULL);

    for (guint i = 0; i < facts->all->len; i++) {
        const Fact *fact = g_ptr_array_index(facts->all, i);
        if (fact->label == NULL)
            continue;
        if (fact->kind == FACT_GROUP)
            g_string_append_printf(out, "\n%s\n", fact->label);
        else
            g_string_append_printf(out, "  %-*s%s\n", LABEL_WIDTH, fact->label, fact->text);
    }
    return g_string_free(out, FALSE);
}

static void put_json(JsonText *json, const Fact *fact) {
    if (fact->kind == FACT_TEXT)
        json_text_string(json, fact->key, fact->text);
    else if (fact->kind == FACT_COUNT)
        json_text_count(json, fact->key, fact->count);
    else
        json_text_number(json, fact->key, fact->number);
}

char *facts_json(const Facts *facts) {
    JsonText json = json_text_new();
    gboolean in_group = FALSE;

    json_text_open(&json, NULL, '{');
    for (guint i = 0; i < facts->all->len; i++) {
        const Fact *fact = g_ptr_array_index(facts->all, i);
        if (fact->kind == FACT_GROUP) {
            if (in_group)
                json_text_close(&json, '}');
            in_group = fact->key != NULL;
            if (in_group)
                json_text_open(&json, fact->key, '{');
        } else if (fact->key != NULL) {
            put_json(&json, fact);
        }
    }
    if (in_group)
        json_text_close(&json, '}');
    json_text_close(&json, '}');
    return json_text_end(&json);
}

static void put_value(GString *out, const Fact *fact) {
    if (fact->kind != FACT_NUMBER)
        csv_text_cell(out, fact->text);
    else
        csv_text_number(out, fact->number);
}

static char *csv_line(const Facts *facts, gboolean header) {
    GString *out = g_string_new(NULL);

    for (guint i = 0; i < facts->all->len; i++) {
        const Fact *fact = g_ptr_array_index(facts->all, i);
        if (fact->kind == FACT_GROUP || fact->key == NULL)
            continue;
        if (out->len > 0)
            g_string_append_c(out, ',');
        if (header)
            csv_text_cell(out, fact->key);
        else
            put_value(out, fact);
    }
    g_string_append_c(out, '\n');
    return g_string_free(out, FALSE);
}

char *facts_csv_header(const Facts *facts) {
    return csv_line(facts, TRUE);
}

char *facts_csv_row(const Facts *facts) {
    return csv_line(facts, FALSE);
}
