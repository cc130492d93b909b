#include "analysis/commands/operator_options.h"

#include "workloads/input_error.h"

const Option operator_options[] = {
    {"platform", 'p', OPTION_TEXT, OPTION_OFFSET(platform), "PLATFORM", "mt3000",
     "the machine, a YAML file or the name of a shipped one"},
    {"rows", 'M', OPTION_TEXT, OPTION_OFFSET(m), "M", "products of matrices need it",
     "rows of X and Y; like every size, a list such as 1024,2048 is swept"},
    {"inputs", 'K', OPTION_TEXT, OPTION_OFFSET(k), "K", "gemm needs it; on a mesh M",
     "columns of X and rows of W"},
    {"outputs", 'N', OPTION_TEXT, OPTION_OFFSET(n), "N", "gemm needs it; on a mesh K",
     "columns of W and Y"},
    {"blocks", 'b', OPTION_TEXT, OPTION_OFFSET(blocks), "CHOICE", "paper",
     "gemm: blocks as in the paper, or the best of a search"},
    {"untiled", 0, OPTION_FLAG, OPTION_OFFSET(untiled), NULL, "off",
     "gemm: move Y2 whole at the end of a pass instead of in tiles along it"},
    {"heads", 0, OPTION_TEXT, OPTION_OFFSET(heads), "HEADS", "32", "attention: heads of Q"},
    {"kv-heads", 0, OPTION_TEXT, OPTION_OFFSET(kv_heads), "HEADS", "as many as heads",
     "attention: heads of K and V, which must divide those of Q"},
    {"head-dim", 0, OPTION_TEXT, OPTION_OFFSET(head_dim), "SIZE", "128",
     "attention: elements of a head"},
    {"new", 0, OPTION_TEXT, OPTION_OFFSET(new_tokens), "TOKENS", "attention needs it",
     "attention: rows of Q of each head; 1 in decode"},
    {"past", 0, OPTION_TEXT, OPTION_OFFSET(past_tokens), "TOKENS", "0",
     "attention: tokens of K and V before the new ones"},
    {"batch", 0, OPTION_TEXT, OPTION_OFFSET(batch), "REQUESTS", "1",
     "attention: requests of this shape"},
    {"variant", 0, OPTION_TEXT, OPTION_OFFSET(variant), "VARIANT", "mt",
     "attention: mt, flash or unfused"},
    {"causal", 0, OPTION_FLAG, OPTION_OFFSET(causal), NULL, "off",
     "attention: a token sees itself and those before it"},
    {"ranks", 0, OPTION_TEXT, OPTION_OFFSET(ranks), "RANKS", "allreduce needs it",
     "allreduce: clusters in the ring, from cluster 0 on"},
    {"bytes", 0, OPTION_TEXT, OPTION_OFFSET(bytes), "BYTES", "allreduce needs it",
     "allreduce: the vector of each rank, such as '64 kB'"},
    {"grid", 'g', OPTION_TEXT, OPTION_OFFSET(grid), "GRID", "operators on a mesh need it",
     "mesh: cores used, such as 720 for a square or 750x994 for columns and rows; a list is swept"},
    {"elements", 0, OPTION_TEXT, OPTION_OFFSET(elements), "COUNT", "allreduce on a mesh needs it",
     "allreduce on a mesh: of every core's vector, summed over each row of cores"},
    {"algorithm", 0, OPTION_TEXT, OPTION_OFFSET(algorithm), "NAME", "tree",
     "allreduce on a mesh: chain, pipeline, fabric, ring or tree; a list is swept"},
    {"k", 0, OPTION_TEXT, OPTION_OFFSET(k_tree), "K", "2; of dist-gemm-t 1",
     "mesh: levels of a K-tree (tree, meshgemv, the sums of dist-gemm-t); a list is swept"},
    {"no-broadcast", 0, OPTION_FLAG, OPTION_OFFSET(no_broadcast), NULL, "off",
     "allreduce on a mesh, products with a vector: leave the sum at the root"},
    {"routing", 0, OPTION_TEXT, OPTION_OFFSET(routing), "HOW", "auto",
     "summa, allgather-gemm: direct paths from core to core, relay in software from neighbour to "
     "neighbour, or auto: direct while the routing paths of a core suffice"},
    {"folded", 0, OPTION_FLAG, OPTION_OFFSET(folded), NULL, "unless --full or --verify",
     "mesh: simulate one row and one column of cores, which stand for all"},
    {"full", 0, OPTION_FLAG, OPTION_OFFSET(full), NULL, "with --verify",
     "mesh: simulate every core"},
    {"every-step", 0, OPTION_FLAG, OPTION_OFFSET(every_step), NULL, "off",
     "products of matrices on a mesh: do not fast-forward through the steady loop; the result is "
     "the same"},
    {"dtype", 0, OPTION_TEXT, OPTION_OFFSET(dtype), "TYPE", "fp16",
     "all but allreduce on clusters: fp16, bf16 or fp32"},
    {"verify", 'v', OPTION_FLAG, OPTION_OFFSET(verify), NULL, "off",
     "compute real numbers along the way and hold them against a double-precision reference; the "
     "exit status is 1 when they are further off than their bound"},
    {"seed", 0, OPTION_TEXT, OPTION_OFFSET(seed), "SEED", "1", "of the numbers"},
    {"output", 'o', OPTION_DIRECTORY, OPTION_OFFSET(output), "DIR", "print only",
     "write result.json, result.csv and, for a single operator, timeline.json (blocks and "
     "transfers, for Perfetto; of a mesh if it is small) and, of a mesh, heatmap.svg into a new "
     "folder"},
    TIMELINE_OPTIONS(OperatorOptions, timeline),
    {"plot", 0, OPTION_TEXT, OPTION_OFFSET(plot), "FILE", "none",
     "mesh: draw a sweep's cycles, split into computing and the rest, over the grid; .svg or .pdf"},
    {"force", 'f', OPTION_FLAG, OPTION_OFFSET(force), NULL, "off",
     "replace the folder of --output, the picture, or timelines' files, if they are there"},
    {"json", 'j', OPTION_FLAG, OPTION_OFFSET(json), NULL, "off",
     "print JSON instead of a table or, for a sweep, CSV"},
};

gboolean operator_files_are_right(const OperatorOptions *options, GError **error) {
    gboolean files =
        options->output != NULL || options->plot != NULL || options->timeline.files != NULL;

    if (files || !options->force)
        return timeline_settings_check(&options->timeline, "infergrid operator", "output",
                                       options->output != NULL, options->output, error);
    g_set_error_literal(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                        "infergrid operator: option '--force' needs '--output', '--timeline' or "
                        "'--plot'");
    return FALSE;
}

gboolean operator_timeline_fits(const OperatorOptions *options, guint runs, GError **error) {
    const TimelineSettings *timeline = &options->timeline;
    const char *option = timeline->files != NULL     ? "timeline"
                         : timeline->lanes != NULL   ? "lanes"
                         : timeline->window.to_s > 0 ? "window"
                                                     : NULL;

    if (runs == 1 || option == NULL)
        return TRUE;
    g_set_error(error, INPUT_ERROR, INPUT_ERROR_CONFLICT,
                "infergrid operator: option '--%s' is about a single operator, not a sweep of %u",
                option, runs);
    return FALSE;
}

gboolean operator_wants_events(const OperatorOptions *options) {
    return options->output != NULL || options->timeline.files != NULL;
}

gboolean operator_folder_open(const OperatorOptions *options, const OperatorAnswer *answer,
                              OutputFolder **folder, GError **error) {
    if (options->output == NULL)
        return TRUE;
    *folder = output_folder_open(options->output, options->force, error);
    return *folder != NULL && output_folder_write(*folder, "result.json", answer->json, error) &&
           output_folder_write(*folder, "result.csv", answer->csv, error);
}

TraceSink *operator_timeline_open(const OperatorOptions *options, const OperatorAnswer *answer,
                                  const OutputFolder *folder, double end_s, GError **error) {
    const TimelineSettings *settings = &options->timeline;
    g_autofree char *within = folder == NULL ? NULL : output_folder_file(folder, "timeline.json");
    g_auto(GStrv) caption = timeline_caption_of_table(answer->table);

    return timeline_settings_cover(settings, end_s, error)
               ? timeline_settings_open(settings, options->force, within,
                                        (const char *const *)caption, error)
               : NULL;
}
