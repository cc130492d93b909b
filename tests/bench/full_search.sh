#!/usr/bin/env bash
# The best plan for the closed batch and the plan of the paper's rule, for the models of THInfer's
# tables on 32, 40, 64 and 72 clusters: a line of CSV each, with the published throughput where there
# is one (table V: 32 and 72 clusters). Arguments pick models (7B 13B 30B 70B), PROMPTS and CLUSTERS,
# lists in the environment, some of the rest.
#
# Every request waits at time 0, 64 for each cluster: several times what the machine holds at once.
# The space: prefill, buffer and decode apart or colocated; continuous batching; TP to 4 (70B: 8);
# stages that the weights ask for and up to the double; 1, 2 or 4 buffers; four sizes of micro-batch;
# all replicas of prefill and decode that fit. Plans with room for one more replica are left out.
set -euo pipefail
: "${INFERGRID:?}"
here=$(cd "$(dirname "$0")" && pwd)
published=$here/../../analysis/reference/table5_end_to_end.csv
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# space MODEL: its file, prefill's stages, TP and PP of decode, micro-batches
space() {
    case $1 in
    7B) echo llama-2-7b 1,2 1,2,4 1,2 16,32,64,128 ;;
    13B) echo llama-2-13b 2,4 1,2,4 1,2,4 16,32,64,128 ;;
    30B) echo llama-30b 4,6 1,2,4 1,2,4,6 4,8,16,32 ;;
    70B) echo llama-2-70b 8,10 2,4,8 1,2,4,5 8,16,32,64 ;;
    *)
        echo "unknown model '$1'; expected 7B, 13B, 30B or 70B" >&2
        exit 2
        ;;
    esac
}

# experiment CLUSTERS PROMPT MODEL PREFILL_PP TP PP SLOTS
experiment() {
    cat <<END
version: 1
seed: 1
platform: {base: mt3000.yaml, nodes: $(($1 / 4))}
model: $3.json
workload:
  synthetic:
    requests: $((64 * $1))
    arrivals: {process: batch}
    prompt: {distribution: fixed, tokens: $2}
    output: {distribution: fixed, tokens: 128}
policy:
  mode: pbd
  max_context: $(($2 + 128))
  kv_formula: paper_kv_heads
  prefill: {pp: ${4##*,}}
  decode: {tp: 4, pp: ${6##*,}, slots: ${7%%,*}}
search:
  modes: [pbd, colocated]
  prefill: {pp: [$4], micro_batch: 1}
  buffer: {clusters: [1, 2, 4]}
  decode: {tp: [$5], pp: [$6], slots: [$7]}
  colocated: {tp: [$5], pp: [$6], slots: [$7]}
  analytic: {kv_width: kv_heads, micro_batch: rule, pools: whole}
END
}

# of_table5 MODEL PROMPT CLUSTERS: the published throughput, or nothing
of_table5() {
    awk -F, -v model="$1" -v prompt="$2" -v column="THInfer $(($3 / 4))" \
        '!/^#/ && $1 == column && $2 == model && $3 == prompt { print $4 }' "$published"
}

echo model,prompt,clusters,best,tokens_per_s,published,ratio,rule_tokens_per_s,regret,simulated,candidates
for model in "${@:-7B}"; do
    read -r name prefill tp pp slots <<<"$(space "$model")"
    for prompt in ${PROMPTS:-512 1024}; do
        for clusters in ${CLUSTERS:-32 40 64 72}; do
            experiment "$clusters" "$prompt" "$name" "$prefill" "$tp" "$pp" "$slots" >"$work/a.yaml"
            "$INFERGRID" search "$work/a.yaml" -q --json >"$work/a.json"
            jq -r --arg row "$model,$prompt,$clusters" \
                --arg published "$(of_table5 "$model" "$prompt" "$clusters")" '
                .best as $b | $b.figures.throughput_tokens_per_s as $best |
                [$row, "\"" + $b.plan + "\"", ($best * 10 | round / 10), $published,
                 (if $published == "" then "" else ($best / ($published | tonumber) * 100 | round / 100) end),
                 ((.analytic_rule.figures.throughput_tokens_per_s // 0) * 10 | round / 10),
                 ((.analytic_rule.regret // 0) * 1000 | round / 1000),
                 .space.simulated, .space.candidates] | map(tostring) | join(",")' "$work/a.json"
        done
    done
done
