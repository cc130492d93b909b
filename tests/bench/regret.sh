#!/usr/bin/env bash
# How much better than the analytic rule's plan the best of a search is, over many workloads: a line
# each, and what the ratios are in the whole. Takes minutes.
set -euo pipefail
: "${INFERGRID:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# experiment MODEL PREFILL_PP DECODE_TP DECODE_PP PROMPT OUTPUT ARRIVALS: the rule's own dimensions,
# with pools and replicas free, and memory billed as the rule bills it.
experiment() {
    cat <<END
version: 1
seed: 1
platform: mt3000.yaml
model: $1.json
workload:
  synthetic:
    requests: 96
    arrivals: {$7}
    prompt: {distribution: lognormal, mean: $5, cv: 0.5}
    output: {distribution: lognormal, mean: $6, cv: 0.5}
  max_prompt_tokens: 1024
  max_output_tokens: 512
policy: {mode: pbd, kv_formula: paper, max_context: 1536, prefill: {pp: ${2%%,*}}, decode: {tp: 4, pp: ${4%%,*}}}
search:
  pools: [1, 2, 4]
  prefill: {pp: [$2], micro_batch: 1}
  buffer: {clusters: [1, 2]}
  decode: {tp: [$3], pp: [$4], slots: [8, 32]}
END
}

models=('llama-2-7b 1 2,4 1' 'llama-2-13b 2,4 4 1,2' 'llama-30b 4,6 4,8 2,4' 'llama-2-70b 8,10 4,8 4,5')
loads=('512 128 process: batch' '128 128 process: batch' '900 64 process: batch'
    '256 256 process: batch' '512 128 process: poisson, rate: 2 /s')
for model in "${models[@]}"; do
    read -r name prefill tp pp <<<"$model"
    for load in "${loads[@]}"; do
        read -r prompt output arrivals <<<"$load"
        experiment "$name" "$prefill" "$tp" "$pp" "$prompt" "$output" "$arrivals" >"$work/a.yaml"
        "$INFERGRID" search "$work/a.yaml" -q --json >"$work/a.json" || true
        regret=$(jq -r '.analytic_rule.regret // .analytic_rule.failure // "-"' "$work/a.json")
        printf '%-58s %12.60s ratio\n' "regret: $name, prompts $prompt, outputs $output, $arrivals" "$regret"
        echo "$regret" >>"$work/regrets"
    done
done
grep -E '^[0-9.]+$' "$work/regrets" | sort -n | awk '
    { regret[NR] = $1 }
    END {
        printf "%-58s %12d\n", "regret: workloads with figures", NR
        printf "%-58s %12.3f ratio\n", "regret: least", regret[1]
        printf "%-58s %12.3f ratio\n", "regret: median", regret[int((NR + 1) / 2)]
        printf "%-58s %12.3f ratio\n", "regret: most", regret[NR]
    }'
