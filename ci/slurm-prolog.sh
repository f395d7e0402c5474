#!/usr/bin/env bash
# Prolog of slurmd (slurm.conf: Prolog=/etc/slurm/prolog.d/*). A status other than 0 drains the node and requeues the job.
#
# A node that is broken, or that cannot be asked, is drained. A policy that cannot be read is the fault of whoever wrote
# it: it would drain every node of the cluster, so it is logged and the job starts.
set -u

gpudoctor=${GPUDOCTOR:-/opt/gpudoctor/bin/gpudoctor}
policy=${GPUDOCTOR_POLICY:-/etc/gpudoctor.toml}
reports=${GPUDOCTOR_REPORTS:-/var/log/gpudoctor}

# Jobs without a GPU need no check.
if [ -z "${SLURM_JOB_GPUS:-}${SLURM_STEP_GPUS:-}${GPU_DEVICE_ORDINAL:-}" ]; then
    exit 0
fi

# With an environment that has TensorFlow all is checked; without one, driver and GPUs are, and what would be an error
# there is a warning, since nobody said what runs on them.
arguments=(check --quick --policy "$policy" -o "json=$reports/${SLURM_JOB_ID:-job}-%h.json")
if [ -n "${GPUDOCTOR_PYTHON:-}" ]; then
    arguments+=(--python "$GPUDOCTOR_PYTHON")
else
    arguments+=(--expect any --fail-on warning --select driver --select hardware --select gpu)
fi

mkdir -p "$reports"
"$gpudoctor" "${arguments[@]}" >"$reports/last.txt" 2>&1
status=$?

case $status in
    0) exit 0 ;;
    1 | 3)
        echo "gpudoctor: this node is not ready (status $status), see $reports" >&2
        exit 1
        ;;
    *)
        echo "gpudoctor: could not be run (status $status): $(tail -n 1 "$reports/last.txt")" >&2
        exit 0
        ;;
esac
