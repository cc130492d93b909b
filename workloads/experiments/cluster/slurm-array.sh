#!/usr/bin/env bash
# A sweep as a Slurm job array, and a dependent job that joins its parts and prints the table.
#   slurm-array.sh PARTS STORE EXPERIMENT --vary KEY=VALUES...
# prints the number of the joining job; its output goes to STORE.csv. STORE and EXPERIMENT must lie
# on a file system that all nodes see. An array that was cut short (a time limit, a lost node) is
# taken up again by the same command: each part goes on from its store. Options for sbatch itself,
# such as a partition or a time limit, come from its environment (SBATCH_PARTITION, SBATCH_TIMELIMIT).
set -euo pipefail
if [ $# -lt 3 ]; then
    echo "usage: $0 PARTS STORE EXPERIMENT --vary KEY=VALUES..." >&2
    exit 2
fi
parts=$1 store=$2
shift 2
printf -v words ' %q' "$@"
printf -v quoted '%q' "$store"
stores=
for ((part = 1; part <= parts; part++)); do
    stores+=" $quoted.$part"
done

# As many workers as the job was given processors; raise --cpus-per-task for larger parts.
array=$(
    sbatch --parsable --job-name=infergrid --array="1-$parts" --cpus-per-task=1 \
        --output="$store.%a.log" <<EOF
#!/bin/bash
exec infergrid sweep$words -q -j "\$SLURM_CPUS_PER_TASK" \
    --shard "\$SLURM_ARRAY_TASK_ID/$parts" --store $quoted."\$SLURM_ARRAY_TASK_ID" >/dev/null
EOF
)

# afterany: broken runs of a part are tried once more here, and told.
sbatch --parsable --job-name=infergrid-merge --dependency="afterany:$array" \
    --output="$store.csv" --error="$store.log" <<EOF
#!/bin/bash
set -e
infergrid merge -q $quoted$stores
exec infergrid sweep$words -q --store $quoted
EOF
