# slurm.sh - SLURM with one node on the loopback interface, for a test; sourced after lib.sh.
#
#   slurm_start    in the scratch folder; status 1, and the reason in $missing, if it does not start
#   slurm_stop
#
# munge, slurmctld and slurmd (Debian: munge, slurm-wlm) run as the current user, with their own key,
# sockets, ports, state and configuration; another SLURM on the machine is not affected. There is no
# accounting: slurmctld remembers jobs for MinJobAge.

slurm_cpus=2 slurm_mb=4000

slurm_start()
{
    for p in munged slurmctld slurmd sbatch squeue scancel; do
        PATH=$PATH:/usr/sbin command -v $p > /dev/null || { missing="no $p (Debian: munge, slurm-wlm)"; return 1; }
    done
    PATH=$PATH:/usr/sbin
    s=$tmp/slurm
    mkdir -p "$s/state" "$s/spool" "$s/bin" && chmod 700 "$s" || return 1
    SLURM_CONF=$s/slurm.conf
    export PATH SLURM_CONF
    # Snakemake unsets SLURM's variables for its jobs, which need this one.
    for p in srun sbatch squeue scancel scontrol sinfo; do
        printf '#!/bin/sh\nSLURM_CONF=%s exec %s "$@"\n' "$SLURM_CONF" "$(command -v $p)" > "$s/bin/$p" &&
            chmod +x "$s/bin/$p" || return 1
    done
    PATH=$s/bin:$PATH
    head -c 1024 /dev/urandom > "$s/key" && chmod 400 "$s/key"
    munged --key-file="$s/key" --socket="$s/munge" --pid-file="$s/munged.pid" --log-file="$s/munged.log" \
        --seed-file="$s/seed" --force > "$s/munged.out" 2>&1 || { missing='munged does not start'; return 1; }
    slurm_conf > "$SLURM_CONF"
    slurmctld -c -f "$SLURM_CONF" > "$s/slurmctld.out" 2>&1 &&
        slurmd -c -N "$slurm_node" -f "$SLURM_CONF" > "$s/slurmd.out" 2>&1 ||
        { missing='SLURM does not start'; return 1; }
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
        sinfo -h -o %t 2> /dev/null | grep -q idle && return 0
        sleep 2
    done
    missing='the SLURM node does not become idle'
    return 1
}

# Two ports, probably free. The node is this machine under another name.
slurm_conf()
{
    slurm_node=here
    slurm_port=$((20000 + $$ % 20000))
    host=$(hostname -s)
    cat << END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$slurm_port
SlurmdPort=$((slurm_port + 1))
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$s/munge
CryptoType=crypto/munge
StateSaveLocation=$s/state
SlurmdSpoolDir=$s/spool
SlurmctldPidFile=$s/slurmctld.pid
SlurmdPidFile=$s/slurmd.pid
SlurmctldLogFile=$s/slurmctld.log
SlurmdLogFile=$s/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
MinJobAge=3600
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
KillWait=5
NodeName=$slurm_node NodeHostname=$host NodeAddr=127.0.0.1 CPUs=$slurm_cpus RealMemory=$slurm_mb State=UNKNOWN
PartitionName=all Nodes=$slurm_node Default=YES MaxTime=INFINITE State=UP
END
}

slurm_stop()
{
    for d in slurmd slurmctld munged; do
        [ -s "$tmp/slurm/$d.pid" ] && kill "$(cat "$tmp/slurm/$d.pid")" 2> /dev/null
    done
    # Wait: it writes logs to the folder that is removed next.
    for i in 1 2 3 4 5 6 7 8 9 10; do
        kill -0 "$(cat "$tmp/slurm/slurmctld.pid" 2> /dev/null)" 2> /dev/null || break
        sleep 1
    done
}
