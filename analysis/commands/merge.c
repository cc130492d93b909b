#include "analysis/campaign/store.h"
#include "analysis/commands/catalogue.h"
#include "workloads/input_error.h"
#include <stdio.h>

typedef struct MergeOptions {
    char *into;
    char **from;
    gboolean quiet;
} MergeOptions;

static gboolean merge_all(const MergeOptions *options, Store *store, GError **error) {
    for (char **from = options->from; *from != NULL; from++)
        if (!store_merge(store, *from, error))
            return FALSE;
    return TRUE;
}

/* All are read before the first byte is written, so that a wrong one leaves nothing behind. */
static gboolean all_are_alike(const MergeOptions *options, const char *identity, GError **error) {
    for (char **from = options->from; *from != NULL; from++) {
        g_autofree char *other = store_identity(*from, error);
        if (other == NULL)
            return FALSE;
        if (g_str_equal(other, identity))
            continue;
        g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                    "%s: results of another experiment, or of another version of the program, than "
                    "those of '%s'",
                    *from, options->from[0]);
        return FALSE;
    }
    return TRUE;
}

static int merge_run(const void *target) {
    const MergeOptions *options = target;
    g_autoptr(GError) error = NULL;
    g_autofree char *identity = store_identity(options->from[0], &error);

    if (identity == NULL || !all_are_alike(options, identity, &error))
        return catalogue_fail(error);
    g_autoptr(Store) store = store_open(options->into, identity, &error);
    if (store == NULL || !merge_all(options, store, &error))
        return catalogue_fail(error);
    if (!options->quiet)
        fprintf(stderr, "%s: %u results\n", options->into, store_records(store));
    return EXIT_DONE;
}

#define OPTION_OFFSET(member) G_STRUCT_OFFSET(MergeOptions, member)

static const Argument merge_arguments[] = {
    {"INTO", OPTION_OFFSET(into), TRUE, NULL, "the store that is made or added to"},
    {"STORE", OPTION_OFFSET(from), TRUE, NULL, "stores of the parts; they stay as they are"},
};

static const Option merge_options[] = {
    {"quiet", 'q', OPTION_FLAG, OPTION_OFFSET(quiet), NULL, "off",
     "do not say how many results there are"},
};

const Command command_merge = {
    .name = "merge",
    .summary = "join the stores of several shards",
    .description =
        "Puts the results of several stores into one. They must be of the same experiment and the "
        "same version of the program, and where two have the same run its results must be equal. "
        "The command that made the parts, with the joined store and without --shard, then finds "
        "every result there and simulates only what is missing.",
    .arguments = merge_arguments,
    .n_arguments = G_N_ELEMENTS(merge_arguments),
    .many = TRUE,
    .options = merge_options,
    .n_options = G_N_ELEMENTS(merge_options),
    .target_size = sizeof(MergeOptions),
    .example = "  # three parts, perhaps on three machines, and then the whole\n"
               "  for i in 1 2 3; do\n"
               "      infergrid sweep demo.yaml --vary policy.decode.tp=1,2,4 \\\n"
               "          --shard $i/3 --store part-$i\n"
               "  done\n"
               "  infergrid merge all part-1 part-2 part-3\n"
               "  infergrid sweep demo.yaml --vary policy.decode.tp=1,2,4 --store all\n",
    .run = merge_run,
};
