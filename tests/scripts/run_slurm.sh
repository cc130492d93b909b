#!/usr/bin/env bash
# Runs the example of a Slurm job array on a Slurm of its own: munged, slurmctld and slurmd on this
# machine and loopback, with their files in a scratch folder. The joined table must be that of one
# process. Skips (status 77) where slurm or munge are not installed or this is not root.
#   run_slurm.sh INFERGRID SOURCE
set -euo pipefail
infergrid=$(readlink -f "$1") source=$(readlink -f "$2")
PATH=$(dirname "$infergrid"):$PATH:/usr/sbin
export PATH

for program in munged slurmctld slurmd sbatch; do
    command -v "$program" >/dev/null || {
        echo "skipped: $program is not here (.ci/setup --all installs it)"
        exit 77
    }
done
[ "$(id -u)" -eq 0 ] || {
    echo 'skipped: a Slurm of its own needs root'
    exit 77
}

work=$(mktemp -d /tmp/infergrid-slurm-XXXXXX)
daemons=()
finish() {
    status=$?
    [ "$status" -eq 0 ] || tail -n 20 "$work"/*.log >&2
    [ ${#daemons[@]} -eq 0 ] || kill "${daemons[@]}" 2>/dev/null || true
    wait
    rm -rf "$work"
    exit "$status"
}
trap finish EXIT
cd "$work"
chmod 755 .

dd if=/dev/urandom of=munge.key bs=1024 count=1 status=none
chmod 400 munge.key
munged --force --foreground --key-file="$work/munge.key" --seed-file="$work/munge.seed" \
    --socket="$work/munge.socket" --pid-file="$work/munge.pid" --log-file="$work/munge.log" \
    >munged.out.log 2>&1 &
daemons+=($!)

# Two ports that nobody listens on.
read -r controller node < <(python3 -c '
import socket
held = [socket.socket() for _ in range(2)]
for s in held:
    s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in held))')
name=$(hostname -s)
mkdir state spool
cat >slurm.conf <<EOF
ClusterName=infergrid
SlurmctldHost=$name(127.0.0.1)
SlurmctldPort=$controller
SlurmdPort=$node
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
NodeName=$name NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$name Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
EOF
export SLURM_CONF="$work/slurm.conf"

# Waits until a command succeeds, for half a minute.
until_ready() {
    for _ in {1..150}; do
        "$@" >/dev/null 2>&1 && return
        sleep 0.2
    done
    echo "not ready after 30 s: $*" >&2
    return 1
}
until_ready test -S munge.socket
slurmctld -D >slurmctld.out.log 2>&1 &
daemons+=($!)
slurmd -D >slurmd.out.log 2>&1 &
daemons+=($!)
until_ready sh -c 'sinfo -h -o %T | grep -q idle'

sed 's/requests: 40/requests: 8/' "$source/tests/scenarios/colocated/experiment.yaml" >small.yaml
vary=(--vary "policy.colocated.tp=1,2" --vary policy.colocated.slots=2:16:2)
"$infergrid" sweep small.yaml "${vary[@]}" -q >expected.csv

last=$("$source/workloads/experiments/cluster/slurm-array.sh" 3 store small.yaml "${vary[@]}")
for _ in {1..300}; do
    [ -n "$(squeue -h -j "$last" 2>/dev/null)" ] || break
    sleep 0.2
done
cmp expected.csv store.csv
for part in 1 2 3; do
    [ "$(wc -l <"store.$part")" -gt 1 ] || {
        echo "part $part made nothing" >&2
        exit 1
    }
done
echo "a job array of 3 parts: $(($(wc -l <store.csv) - 1)) runs, as one process makes them"
