#!/usr/bin/env bash
# A sweep in parts under GNU parallel, on this machine or (with its options --sshlogin and
# --workdir) on several that share this folder.
#   parallel.sh PARTS STORE EXPERIMENT --vary KEY=VALUES...
# Each part keeps its results in STORE.<part>; started again, it makes only what is missing. At the
# end STORE holds all of them, and the whole table is printed.
set -euo pipefail
if [ $# -lt 3 ]; then
    echo "usage: $0 PARTS STORE EXPERIMENT --vary KEY=VALUES..." >&2
    exit 2
fi
parts=$1 store=$2
shift 2

stores=()
for ((part = 1; part <= parts; part++)); do
    stores+=("$store.$part")
done

# One worker a part: it is parallel that fills the processors. A part with broken runs ends with 1;
# they are tried once more at the end.
seq "$parts" | parallel --quote --halt never infergrid sweep "$@" -q -j 1 --shard "{}/$parts" \
    --store "$store.{}" >/dev/null || echo "$0: parts that failed: $?" >&2

infergrid merge -q "$store" "${stores[@]}"
infergrid sweep "$@" -q --store "$store"
